package overlay

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/tree"
)

// PMIxCall is a request of a node's PMIx helper to the root: a frame of package pmix.
type PMIxCall struct {
	Host   job.HostIndex `cbor:"1,keyasint"` // of the helper
	Number uint32        `cbor:"2,keyasint"` // that Host chose; the answer has it
	Count  int           `cbor:"3,keyasint"` // processes for which the call speaks, where several nodes make it
	Frame  []byte        `cbor:"4,keyasint"`
}

// PMIxAnswer is the root's message to nodes.
type PMIxAnswer struct {
	To    []PMIxCaller `cbor:"1,keyasint,omitempty"` // none for all nodes
	Frame []byte       `cbor:"2,keyasint"`
	// Worlds has the worlds that the answer speaks of, where some of the nodes may not
	// know them.
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

// PMIxModex asks for the puts of a rank on another node, or answers that.
type PMIxModex struct {
	Number    uint32   `cbor:"1,keyasint"` // that the asker chose; the answer has it
	Answer    bool     `cbor:"2,keyasint"`
	Namespace string   `cbor:"3,keyasint"`
	Rank      job.Rank `cbor:"4,keyasint"`
	Status    int32    `cbor:"5,keyasint"` // of an answer
	Blob      []byte   `cbor:"6,keyasint"` // of an answer
}

// pmixCall: its writer speaks for itself. The root knows the ranks of each node.
func (o *Origin) pmixCall(h tree.Header, q PMIxCall) error {
	if q.Host != h.From {
		return fmt.Errorf("%s speaks for %s", o.called(h.From), o.called(q.Host))
	}
	if _, err := q.Parse(); err != nil {
		return err
	}
	return o.host(q.Host)
}

// Parse returns the frame of a call, which is one that nodes make.
func (q *PMIxCall) Parse() (pmix.Frame, error) {
	f, n, err := pmix.Next(q.Frame)
	if err == nil && (n == 0 || n != len(q.Frame)) {
		err = fmt.Errorf("a frame of %d bytes in %d", n, len(q.Frame))
	}
	if err != nil {
		return f, err
	}
	switch f.Body.(type) {
	case pmix.Fence, pmix.Connect, pmix.Disconnect, pmix.Group, pmix.Publish, pmix.Lookup, pmix.Unpublish, pmix.Event, pmix.Gone:
		return f, nil
	}
	return f, fmt.Errorf("a call of kind %d", f.Kind)
}

// pmixModex: the root knows the receiver, among all hosts of the job, and the receiver
// the puts and questions.
func (o *Origin) pmixModex(_ tree.Header, m PMIxModex) error {
	if o.parent {
		return nil
	}
	if !m.Answer && (m.Namespace == "" || m.Rank < 0 || m.Status != 0 || len(m.Blob) > 0) {
		return errors.New("a question that is none")
	}
	return long(maxWord, m.Namespace)
}
