package overlay

import (
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
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
	// Step is what it is at: that of its start which began last.
	Step bootstrap.Phase `cbor:"5,keyasint,omitempty"`
}

// Merge folds another subtree's part in.
func (p *Progress) Merge(part Progress) {
	p.Nodes += part.Nodes
	p.Ranks += part.Ranks
	p.Wait(part.Host, part.Age, part.Step)
}

// Wait names a host that is waited for, and what it is at.
func (p *Progress) Wait(h job.HostIndex, age time.Duration, step bootstrap.Phase) {
	if h != job.NoHost && (p.Host == job.NoHost || age > p.Age) {
		p.Host, p.Age, p.Step = h, age, step
	}
}
