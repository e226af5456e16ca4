package overlay

import (
	"fmt"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/tree"
)

// PMIxCall is what a node's PMIx helper wants of the root: a frame of package pmix.
type PMIxCall struct {
	Host   job.HostIndex `cbor:"1,keyasint"` // of the helper
	Number uint32        `cbor:"2,keyasint"` // that Host chose; the answer has it
	Count  int           `cbor:"3,keyasint"` // processes for which the call speaks, where several nodes make it
	Frame  []byte        `cbor:"4,keyasint"`
}

// PMIxAnswer is what the root says to nodes.
type PMIxAnswer struct {
	To    []PMIxCaller `cbor:"1,keyasint,omitempty"` // none for all nodes
	Frame []byte       `cbor:"2,keyasint"`
	// Worlds are those that the answer speaks of, where some of the nodes may not know
	// them.
	Worlds []World `cbor:"3,keyasint,omitempty"`
	// By is the host of the process that has told of an event, which its helper knows;
	// NoHost where golaunch tells.
	By job.HostIndex `cbor:"4,keyasint"`
}

// PMIxCaller is a node that has made a call.
type PMIxCaller struct {
	Host   job.HostIndex `cbor:"1,keyasint"`
	Number uint32        `cbor:"2,keyasint"` // the call's; 0 for what answers none
}

// PMIxModex asks for what a rank on another node has put, or answers that.
type PMIxModex struct {
	Number    uint32   `cbor:"1,keyasint"` // that the asker chose; the answer has it
	Answer    bool     `cbor:"2,keyasint"`
	Namespace string   `cbor:"3,keyasint"`
	Rank      job.Rank `cbor:"4,keyasint"`
	Status    int32    `cbor:"5,keyasint"` // of an answer
	Blob      []byte   `cbor:"6,keyasint"` // of an answer
}

// pmixCall: who wrote it speaks for itself. The root knows who has which ranks.
func (o *Origin) pmixCall(h tree.Header, q PMIxCall) error {
	if q.Host != h.From {
		return fmt.Errorf("host %d speaks for host %d", h.From, q.Host)
	}
	return o.host(q.Host)
}

func (o *Origin) pmixModex(_ tree.Header, m PMIxModex) error { return long(maxWord, m.Namespace) }
