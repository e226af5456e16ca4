package overlay

import (
	"cmp"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
)

// WaitID names an operation that ranks of a world wait in: an operation of a
// communicator, a fence of the world, or MPI_Init.
type WaitID struct {
	Fence bool   `cbor:"1,keyasint,omitempty"`
	Comm  uint64 `cbor:"2,keyasint"`
	Seq   uint64 `cbor:"3,keyasint"`
	World int    `cbor:"4,keyasint,omitempty"`
	Init  bool   `cbor:"5,keyasint,omitempty"`
	PMIx  bool   `cbor:"6,keyasint,omitempty"` // of a Fence: one of PMIx, which have numbers of their own
}

// InitOf names MPI_Init of a world.
func InitOf(world int) WaitID { return WaitID{Init: true, World: world} }

// WaitQuestion asks for the operations that ranks wait in, or, where Of names some, for
// the ranks that have not entered them. Now also wants recent waits, and the states of
// all ranks.
type WaitQuestion struct {
	Number int      `cbor:"1,keyasint"`
	Now    bool     `cbor:"2,keyasint,omitempty"`
	Of     []WaitID `cbor:"3,keyasint,omitempty"`
}

// Wait is an operation that ranks wait in.
type Wait struct {
	ID      WaitID    `cbor:"1,keyasint"`
	Text    string    `cbor:"2,keyasint,omitempty"`
	Missing []WaitRun `cbor:"3,keyasint,omitempty"` // have not entered it
	Begun   []WaitRun `cbor:"4,keyasint,omitempty"` // of MPI_Init: have entered it, but have not come as far as others
	Ended   []WaitRun `cbor:"5,keyasint,omitempty"` // process has ended without it
	Left    []WaitRun `cbor:"6,keyasint,omitempty"` // have finalized without it, and, of MPI_Init, have begun it and ended
}

// WaitRun is Count ranks from First on.
type WaitRun struct {
	_     struct{} `cbor:",toarray"`
	First int
	Count int
}

// Waits is a subtree's answer to the WaitQuestion of that number.
type Waits struct {
	Number   int      `cbor:"1,keyasint"`
	Waits    []Wait   `cbor:"2,keyasint,omitempty"`
	Living   int      `cbor:"3,keyasint,omitempty"` // ranks, of all worlds
	Messages int      `cbor:"4,keyasint,omitempty"` // of these, those that wait for messages
	Examples []string `cbor:"5,keyasint,omitempty"` // of what these wait for

	Attempts   int      `cbor:"9,keyasint,omitempty"`  // connections that ranks have begun and nobody answers
	Unanswered []string `cbor:"10,keyasint,omitempty"` // examples of these

	States []State         `cbor:"6,keyasint,omitempty"` // of ranks, where Now asks for them
	Untold int             `cbor:"7,keyasint,omitempty"` // ranks of further states
	Silent []job.HostIndex `cbor:"8,keyasint,omitempty"` // their agents have not told their ranks' in time
}

// MostWaits bounds the waits of an answer, MostExamples its examples, and MostAttempts
// the connections that count of a rank, on average.
const (
	MostWaits    = 8
	MostExamples = 3
	MostAttempts = 64

	lists = MostWaits + 1 // times that a rank may be told of: in each wait, and in one state
)

// Merge adds the answer of another part of the tree to w.
func (w *Waits) Merge(part Waits) {
	w.Living += part.Living
	w.Messages += part.Messages
	w.Examples = append(w.Examples, part.Examples...)
	w.Examples = w.Examples[:min(len(w.Examples), MostExamples)]
	w.Attempts += part.Attempts
	w.Unanswered = append(w.Unanswered, part.Unanswered...)
	w.Unanswered = w.Unanswered[:min(len(w.Unanswered), MostExamples)]
	w.MergeStates(part.States...)
	w.Untold += part.Untold
	w.Silent = append(w.Silent, part.Silent...)
	for _, x := range part.Waits {
		i := slices.IndexFunc(w.Waits, func(y Wait) bool { return y.ID == x.ID })
		switch {
		case i >= 0:
			w.Waits[i].Text = cmp.Or(w.Waits[i].Text, x.Text)
			w.Waits[i].Missing = append(w.Waits[i].Missing, x.Missing...)
			w.Waits[i].Begun = append(w.Waits[i].Begun, x.Begun...)
			w.Waits[i].Ended = append(w.Waits[i].Ended, x.Ended...)
			w.Waits[i].Left = append(w.Waits[i].Left, x.Left...)
		case len(w.Waits) < MostWaits:
			w.Waits = append(w.Waits, x)
		}
	}
}

// AppendWaitRuns adds ranks, in ascending order, to a list.
func AppendWaitRuns(list []WaitRun, ranks []int) []WaitRun {
	for len(ranks) > 0 {
		n := 1
		for n < len(ranks) && ranks[n] == ranks[0]+n {
			n++
		}
		list = append(list, WaitRun{First: ranks[0], Count: n})
		ranks = ranks[n:]
	}
	return list
}
