package overlay

import (
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
)

// ProgressEvery is the interval at which an agent whose subtree is still starting tells
// its parent its progress. Faster ones send nothing.
const ProgressEvery = 500 * time.Millisecond

// Progress is the progress of a subtree.
type Progress struct {
	Nodes int           `cbor:"1,keyasint"` // that are up
	Ranks int           `cbor:"2,keyasint"` // that were started
	Host  job.HostIndex `cbor:"3,keyasint"` // that has been waited for longest, or job.NoHost
	Age   time.Duration `cbor:"4,keyasint"` // of Step
	// Step is the step of its start that began last.
	Step bootstrap.Phase `cbor:"5,keyasint,omitempty"`
}

// Merge folds another subtree's part in.
func (p *Progress) Merge(part Progress) {
	p.Nodes += part.Nodes
	p.Ranks += part.Ranks
	p.Wait(part.Host, part.Age, part.Step)
}

// Wait names a host that is waited for, and its step.
func (p *Progress) Wait(h job.HostIndex, age time.Duration, step bootstrap.Phase) {
	if h != job.NoHost && (p.Host == job.NoHost || age > p.Age) {
		p.Host, p.Age, p.Step = h, age, step
	}
}
