package overlay

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree"
)

// Share is a job's claim on a host of its allocation, beside other golaunch.
type Share struct {
	Has   int  `cbor:"1,keyasint"`           // slots that the allocation has there
	Slots int  `cbor:"2,keyasint"`           // that the job is to have for itself
	GPUs  int  `cbor:"3,keyasint,omitempty"` // for each of these
	CPUs  bool `cbor:"4,keyasint,omitempty"` // CPUs that StartOptions.BindTo binds to, for each of these
}

// Shared is the part of a host that a job has.
type Shared struct {
	Slots int `cbor:"1,keyasint"` // all that it was to have, or none
	Free  int `cbor:"2,keyasint"` // slots that nobody else uses, with CPUs and GPUs for a rank each
	// Unknown is the reason for which nobody knows the shares of others there: the job
	// has all that it wants.
	Unknown string `cbor:"3,keyasint,omitempty"`
}

// Claim has each host's agent try to have a share for the job, in place of the one that it
// has; hosts that it does not name give theirs back. Each agent answers with Claimed.
type Claim struct {
	Round uint32      `cbor:"1,keyasint"`
	Of    []HostShare `cbor:"2,keyasint"` // by ascending host
}

// HostShare is the share of one host.
type HostShare struct {
	Host  job.HostIndex `cbor:"1,keyasint"`
	Share Share         `cbor:"2,keyasint"`
}

// Claimed is the answer to a claim on one host.
type Claimed struct {
	Round  uint32        `cbor:"1,keyasint"`
	Host   job.HostIndex `cbor:"2,keyasint"`
	Shared Shared        `cbor:"3,keyasint"`
}

// check refuses impossible values.
func (s *Shared) check() error {
	if s == nil {
		return nil
	}
	if s.Slots < 0 || s.Free < 0 {
		return fmt.Errorf("%d slots of a host, and %d are free", s.Slots, s.Free)
	}
	return line(maxCause/2, s.Unknown)
}

// claimed: of a host that was given to the child.
func (o *Origin) claimed(_ tree.Header, c Claimed) error {
	if err := c.Shared.check(); err != nil {
		return err
	}
	return o.host(c.Host)
}
