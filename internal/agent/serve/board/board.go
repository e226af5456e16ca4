// Package board is the bulletin board of a world at one node of an agent's tree: it
// carries what package cache decides to other nodes, and gives the servers of the
// world's ranks, its members, one key-value space and one fence.
package board

import (
	"errors"
	"slices"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// Member is a server whose ranks use the board.
type Member interface {
	// Got answers the Get of that token.
	Got(token uint64, value string, found bool)
	// Fenced says that the fence which local ranks have entered is complete.
	Fenced()
	// Settle carries out what has come of answers and fences, after each batch.
	Settle()
	// Enters tells whether a rank may enter fences through this member; Retired that
	// it does not any more through another one.
	Enters(r *serve.Rank) bool
	Retired(r *serve.Rank)
}

// Watcher is told of fences.
type Watcher interface {
	// Entered says that a local rank has entered one; Released that it is complete.
	Entered()
	Released()
}

// Board is a world's bulletin board, a serve.Server without ranks of its own.
type Board struct {
	serve.Idle
	w       *serve.World
	watch   Watcher
	board   cache.Board
	out     cache.Effects
	members []Member
	fenced  uint64 // fences that are complete
	images  images

	// NoImages is why there are no files of the board's state; nil if there are.
	NoImages error
	// Over, if not nil, tells why the fence under way, or to come, will not be
	// complete for those who wait over the tree; "" if it may be. OverByPMI is for those
	// who wait by PMI: where it has a reason, Over has one.
	Over, OverByPMI func() string
}

// memberShift is where a token has the number of the member that asks.
const memberShift = 56

// New makes the board of w at this node.
func New(w *serve.World, watch Watcher) (*Board, error) {
	node := w.Self
	if node < 0 {
		node = cache.NoNode
	}
	below := make([]int, w.Children) // both count children from 0
	for _, x := range w.Blocks {
		if n, _ := slices.BinarySearch(w.Hosts, x.Host); w.Toward[n] >= 0 {
			below[w.Toward[n]] += x.Count
		}
	}
	b, err := cache.New(cache.Config{
		Below: below, Lacking: slices.Contains(w.Toward, serve.Gone),
		Policy: w.Launch.Cache, Root: w.Root, Children: w.Children, LocalRanks: len(w.Ranks), Size: w.Size,
		World: w.KVSName, Nodes: len(w.Hosts), Node: node, Budget: w.Launch.CacheBytes,
		MaxMessage: tree.MaxMessage,
	})
	if err != nil {
		return nil, err
	}
	return &Board{w: w, watch: watch, board: b}, nil
}

// Seat is a member's place at the board.
type Seat struct {
	*Board
	number int
}

// Join adds a member.
func (b *Board) Join(m Member) Seat {
	b.members = append(b.members, m)
	return Seat{b, len(b.members) - 1}
}

// Files are those of the board's state.
func (b *Board) Files() (perRank, more int) { return 0, len(b.images.file) }

// Start begins the first epoch.
func (b *Board) Start() error {
	if err := b.board.Start(&b.out); err != nil {
		return err
	}
	b.carry()
	return nil
}

// Kinds are those of the board's messages.
func (b *Board) Kinds() []tree.Kind { return []tree.Kind{overlay.KindBoard, overlay.KindHome} }

// Message hands a neighbor's message, or one of another node of the world, to the
// board.
func (b *Board) Message(m serve.Message) error {
	from := cache.Peer(m.Neighbor) // both count children from 0, and call the parent -1
	if m.Header.Kind == overlay.KindHome {
		from = cache.Node(m.Node)
	}
	if err := b.board.Receive(from, m.Body, &b.out); err != nil {
		return err
	}
	b.carry()
	return nil
}

// Close lets go of the files.
func (b *Board) Close() { b.images.close() }

// Stats is what the board has done and holds.
func (b *Board) Stats() cache.Stats { return b.board.Stats() }

// Completed is how many fences are complete.
func (b *Board) Completed() uint64 { return b.fenced }

// Put puts a value on the board; both are copied.
func (b *Board) Put(key, value []byte) error {
	err := b.board.Put(key, value, &b.out)
	b.carry()
	return err
}

// Get asks for a value. Its answer comes with the member's Got, before Get returns
// maybe. Tokens are below 1<<56.
func (s Seat) Get(token uint64, key []byte) {
	s.board.Get(uint64(s.number)<<memberShift|token, key, &s.out)
	s.carry()
}

// ErrFencing is why a rank may not enter a fence.
var ErrFencing = errors.New("it enters a fence while another that it has entered, by PMI or over the tree, is not complete")

// Enter has a rank enter its world's fence, and reports whether it may: once in
// each, through whichever member.
func (b *Board) Enter(r *serve.Rank) (ok bool) {
	if r.Fencing { // one that was told to fail is entered for good
		return b.FencesOver() != ""
	}
	r.Fencing = true
	b.watch.Entered()
	if err := b.board.Enter(&b.out); err != nil {
		b.Broken(err)
	}
	b.carry()
	return true
}

// FencesOver is why the fence under way, or to come, will not be complete for those
// who wait over the tree; "" if it may be.
func (b *Board) FencesOver() string { return reasonOf(b.Over) }

// FencesOverByPMI is the same for those who wait by PMI. A nil board has none.
func (b *Board) FencesOverByPMI() string {
	if b == nil {
		return ""
	}
	return reasonOf(b.OverByPMI)
}

func reasonOf(f func() string) string {
	if f == nil {
		return ""
	}
	return f()
}

// MayEnter tells whether a rank may enter fences through another member than s.
func (s Seat) MayEnter(r *serve.Rank) bool {
	for i, m := range s.members {
		if i != s.number && m.Enters(r) {
			return true
		}
	}
	return false
}

// Retire says that a rank enters no more fences through s.
func (s Seat) Retire(r *serve.Rank) {
	for i, m := range s.members {
		if i != s.number {
			m.Retired(r)
		}
	}
}

// Broken ends the job: the world's key-value space can no longer be trusted.
func (b *Board) Broken(err error) { b.w.FailNode("PMI", err) }

// carry carries out what the board wants done.
func (b *Board) carry() {
	out := &b.out
	for _, s := range out.Sends {
		if n, ok := s.To.Node(); ok {
			b.w.SendTo(n, overlay.KindHome, s.Msg)
		} else {
			b.w.Send(serve.Neighbor(s.To), link.KVS, overlay.KindBoard, s.Msg)
		}
	}
	for _, x := range out.Answers {
		b.members[x.Token>>memberShift].Got(x.Token&(1<<memberShift-1), x.Value, x.Found)
	}
	released := len(out.Released) > 0
	for _, x := range out.Released {
		b.fenced = uint64(x.Epoch)
	}
	some := released || len(out.Answers) > 0
	out.Reset()
	if released && len(b.w.Ranks) > 0 {
		b.watch.Released()
		for _, r := range b.w.Ranks {
			r.Fencing = false
		}
		for _, m := range b.members {
			m.Fenced()
		}
	}
	if some {
		for _, m := range b.members {
			m.Settle()
		}
	}
}
