package profile

import "fmt"

// Counts are those of a pair, or of a collective operation.
type Counts struct {
	Messages    int64 // or calls
	Bytes       int64
	Nanoseconds int64 // in the calls; 0 unless time is recorded
}

// Add adds d, up to a bound that no program reaches.
func (c *Counts) Add(d Counts) {
	c.Messages = min(c.Messages+d.Messages, most)
	c.Bytes = min(c.Bytes+d.Bytes, most)
	c.Nanoseconds = min(c.Nanoseconds+d.Nanoseconds, most)
}

// Entry holds a rank's counts of one peer.
type Entry struct {
	Peer int32
	Counts
}

// Member is a rank's place in a communicator. Two ranks that name the same
// Communicator mean the same ranks in the same order.
type Member struct {
	Communicator uint64
	Rank         int32 // in it
	Size         int32 // of it
	Inter        bool  // it is an intercommunicator, or has ranks of other worlds
}

// Call is a collective operation as one rank counted it: those of a communicator,
// a root and a class of sizes.
type Call struct {
	Communicator uint64
	Operation    Operation
	Root         int32 // in the communicator, plus 1; 0 for none
	Class        int32 // of the bytes that the rank gave
	Counts
}

// Rank holds the counts of one rank.
type Rank struct {
	Rank      int32
	State     State
	MPI       string // the library, as it calls itself
	Outside   Counts // sent to processes of other worlds
	Dropped   int64  // calls without a record
	Sent, Got []Entry
	Members   []Member
	Calls     []Call
}

// Part is a piece of a Rank, on its way to the launcher.
type Part struct {
	Rank    int32    `cbor:"1,keyasint"`
	State   State    `cbor:"2,keyasint"`
	MPI     string   `cbor:"3,keyasint,omitempty"`
	Dropped int64    `cbor:"4,keyasint,omitempty"`
	Outside []int64  `cbor:"5,keyasint,omitempty"`
	Sent    []int64  `cbor:"6,keyasint,omitempty"` // peer, messages, bytes, nanoseconds, peer, ...
	Got     []int64  `cbor:"7,keyasint,omitempty"`
	Of      []uint64 `cbor:"8,keyasint,omitempty"` // the communicators of Members and Calls
	Members []int64  `cbor:"9,keyasint,omitempty"` // index into Of, rank, size, 1 for an intercommunicator
	Calls   []int64  `cbor:"10,keyasint,omitempty"`
}

// Lengths of flat parts of a Part.
const (
	entryLength  = 4
	memberLength = 4
	callLength   = 7 // index into Of, operation, root, class, calls, bytes, nanoseconds
)

// Bounds of a Part, so that it is no long message: of entries, members and calls
// each, and of the text of MPI in bytes.
const (
	MaxPart = 1 << 13
	maxMPI  = 64
)

// maxClass is the largest class of sizes.
const maxClass = 64

// Parts returns the pieces of r, at least one.
func (r *Rank) Parts() []Part {
	first := Part{Rank: r.Rank, State: r.State, MPI: r.MPI, Dropped: r.Dropped}
	if r.Outside != (Counts{}) {
		first.Outside = []int64{r.Outside.Messages, r.Outside.Bytes, r.Outside.Nanoseconds}
	}
	parts := []Part{first}
	room := 0 // of the last part
	take := func() *Part {
		if room++; room > MaxPart {
			parts, room = append(parts, Part{Rank: r.Rank, State: r.State}), 1
		}
		return &parts[len(parts)-1]
	}
	for _, e := range r.Sent {
		p := take()
		p.Sent = append(p.Sent, int64(e.Peer), e.Messages, e.Bytes, e.Nanoseconds)
	}
	for _, e := range r.Got {
		p := take()
		p.Got = append(p.Got, int64(e.Peer), e.Messages, e.Bytes, e.Nanoseconds)
	}
	var index map[uint64]int64 // of the last part's Of
	named := -1
	of := func(p *Part, c uint64) int64 {
		if named != len(parts) {
			index, named = map[uint64]int64{}, len(parts)
		}
		i, ok := index[c]
		if !ok {
			i = int64(len(p.Of))
			index[c], p.Of = i, append(p.Of, c)
		}
		return i
	}
	for _, m := range r.Members {
		p, inter := take(), int64(0)
		if m.Inter {
			inter = 1
		}
		p.Members = append(p.Members, of(p, m.Communicator), int64(m.Rank), int64(m.Size), inter)
	}
	for _, c := range r.Calls {
		p := take()
		p.Calls = append(p.Calls, of(p, c.Communicator), int64(c.Operation), int64(c.Root), int64(c.Class), c.Messages, c.Bytes, c.Nanoseconds)
	}
	return parts
}

// Check reports impossible values in a part of a world of so many ranks.
func (p *Part) Check(size int) error {
	switch {
	case p.Rank < 0 || int(p.Rank) >= size:
		return fmt.Errorf("counters of rank %d of %d", p.Rank, size)
	case p.State != Absent && p.State != Counting && p.State != Finished:
		return fmt.Errorf("counters in state %d", p.State)
	case len(p.MPI) > maxMPI:
		return fmt.Errorf("an MPI library with a name of %d bytes", len(p.MPI))
	case len(p.Outside) != 0 && len(p.Outside) != 3, len(p.Sent)%entryLength != 0, len(p.Got)%entryLength != 0,
		len(p.Members)%memberLength != 0, len(p.Calls)%callLength != 0:
		return fmt.Errorf("counters of rank %d are cut off", p.Rank)
	case len(p.Sent)/entryLength+len(p.Got)/entryLength+len(p.Members)/memberLength+len(p.Calls)/callLength > MaxPart, len(p.Of) > MaxPart:
		return fmt.Errorf("more than %d counters of rank %d in one part", MaxPart, p.Rank)
	}
	for _, list := range [][]int64{{p.Dropped}, p.Outside, p.Sent, p.Got, p.Members, p.Calls} {
		for _, n := range list {
			if n < 0 || n > most {
				return fmt.Errorf("a counter of rank %d is %d", p.Rank, n)
			}
		}
	}
	for _, list := range [][]int64{p.Sent, p.Got} {
		for i := 0; i < len(list); i += entryLength {
			if list[i] >= int64(size) {
				return fmt.Errorf("counters of rank %d name rank %d of %d", p.Rank, list[i], size)
			}
		}
	}
	for i := 0; i < len(p.Members); i += memberLength {
		if m := p.Members[i:]; m[0] >= int64(len(p.Of)) || m[1] >= m[2] || m[2] > MaxRanks || m[2] > int64(size) && m[3] == 0 || m[3] > 1 {
			return fmt.Errorf("rank %d is number %d of %d in a communicator", p.Rank, m[1], m[2])
		}
	}
	for i := 0; i < len(p.Calls); i += callLength {
		c := p.Calls[i:]
		if c[0] >= int64(len(p.Of)) || c[1] >= int64(len(operations)) || !Operation(c[1]).known() || c[2] > MaxRanks || c[3] > maxClass {
			return fmt.Errorf("rank %d has called operation %d", p.Rank, c[1])
		}
	}
	return nil
}
