package overlay

import (
	"time"

	"github.com/golaunch/golaunch/job"
)

// ProgressEvery is how often an agent whose subtree is still starting tells its
// parent how far it is. What is faster sends nothing.
const ProgressEvery = 500 * time.Millisecond

// Progress is how far a subtree is.
type Progress struct {
	Nodes int           `cbor:"1,keyasint"` // that are up
	Ranks int           `cbor:"2,keyasint"` // that were started
	Host  job.HostIndex `cbor:"3,keyasint"` // that has been waited for longest, or job.NoHost
	Age   time.Duration `cbor:"4,keyasint"` // how long
}

// Merge folds another subtree's part in.
func (p *Progress) Merge(part Progress) {
	p.Nodes += part.Nodes
	p.Ranks += part.Ranks
	p.Wait(part.Host, part.Age)
}

// Wait names a host that is waited for.
func (p *Progress) Wait(h job.HostIndex, age time.Duration) {
	if h != job.NoHost && (p.Host == job.NoHost || age > p.Age) {
		p.Host, p.Age = h, age
	}
}
