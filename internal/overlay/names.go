package overlay

import (
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
)

// NameRequest is a rank's request about a published service.
type NameRequest struct {
	Host    job.HostIndex `cbor:"1,keyasint"` // of the rank; each link checks that it lies in its child's subtree
	Rank    job.Rank      `cbor:"2,keyasint"`
	World   int           `cbor:"6,keyasint"` // of the rank
	Op      pmi.Op        `cbor:"3,keyasint"` // Publish, Unpublish or Lookup
	Service []byte        `cbor:"4,keyasint"`
	Port    []byte        `cbor:"5,keyasint"` // Publish only
}

// NameAnswer is the root's answer to a NameRequest.
type NameAnswer struct {
	Host    job.HostIndex `cbor:"1,keyasint"`
	Rank    job.Rank      `cbor:"2,keyasint"`
	World   int           `cbor:"5,keyasint"`
	Port    []byte        `cbor:"3,keyasint"` // Lookup only
	Failure string        `cbor:"4,keyasint"` // why not; "" if all is well
}
