package servetree_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/board"
	"github.com/golaunch/golaunch/internal/agent/serve/servetest"
	"github.com/golaunch/golaunch/internal/agent/serve/servetree"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// watcher counts fences.
type watcher struct{ entered, released int }

func (w *watcher) Entered()  { w.entered++ }
func (w *watcher) Released() { w.released++ }

// atDoor has a door watched by a node.
type atDoor struct{ *servetest.Node }

type opener func()

func (o opener) Ready(unix.Ready, []byte) { o() }

func (d atDoor) Watch(fd int, ready func()) error { return d.Node.Watch(fd, opener(ready)) }

// world is one over some nodes, each with a board, the tree's service and a door.
type world struct {
	*servetest.Net
	t     *testing.T
	id    int
	trees []*servetree.Server
	doors []*os.File
	ranks map[int]*rank
	gates []*servetree.Door

	ownerOf func(pid int) (r job.RankID, known, notYet bool)
	jobs    map[int]int // how many have a world of that number
}

// rank is a process that uses the service.
type rank struct {
	fd      int
	session *member.Session
	welcome *member.Request
	out     []byte // what the socket has not taken
}

// prepare makes the nodes of a world that nobody serves yet.
func prepare(t *testing.T, id int, perNode ...int) *world {
	return &world{
		Net: servetest.New(t, id, nil, perNode...), t: t, id: id, ranks: map[int]*rank{},
		jobs:    map[int]int{id: 1},
		ownerOf: func(int) (r job.RankID, known, notYet bool) { return r, false, false },
	}
}

func newWorld(t *testing.T, id int, perNode ...int) *world {
	return prepare(t, id, perNode...).serve()
}

// serve has the nodes serve their ranks.
func (w *world) serve() *world {
	t := w.t
	for _, x := range w.Nodes {
		b, err := board.New(x.World, &watcher{})
		require.NoError(t, err)
		door := &servetree.Door{Note: x.Note, Owner: func(pid int) (o servetree.Owner, known, notYet bool) {
			o.Rank, known, notYet = w.ownerOf(pid)
			return o, known, notYet
		}}
		ranks, err := door.Open(atDoor{x})
		require.NoError(t, err)
		t.Cleanup(func() { door.Close(); ranks.Close() })
		s, err := servetree.New(x.World, b, door)
		require.NoError(t, err)
		door.Find = func(_ job.Number, id int) []*servetree.Server {
			return slices.Repeat([]*servetree.Server{s}, w.jobs[id])
		}
		x.Servers = []serve.Server{b, s}
		w.trees, w.doors, w.gates = append(w.trees, s), append(w.doors, ranks), append(w.gates, door)
	}
	w.Start()
	return w
}

// call has a rank call at the door of a node.
func (w *world) call(node, world, number int) *rank {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { syscall.Close(pair[0]) })
	r := &rank{fd: pair[0]}
	r.session, r.welcome = member.Open(world, number)
	require.NoError(w.t, unix.SendRights(int(w.doors[node].Fd()), r.session.Take(), pair[1:]))
	require.NoError(w.t, syscall.Close(pair[1]))
	w.ranks[len(w.ranks)] = r
	return r
}

// all has every rank of the world call.
func (w *world) all() (ranks []*rank) {
	for node, x := range w.Nodes {
		for _, r := range x.Ranks {
			ranks = append(ranks, w.call(node, w.id, int(r.Number)))
		}
	}
	var welcomes []*member.Request
	for _, r := range ranks {
		welcomes = append(welcomes, r.welcome)
	}
	for i, err := range w.wait(welcomes...) {
		require.NoError(w.t, err)
		require.Equal(w.t, i, ranks[i].session.Rank())
	}
	return ranks
}

// wait runs until all requests are done.
func (w *world) wait(requests ...*member.Request) (outcome []error) {
	w.t.Helper()
	w.Run(func() bool {
		for _, r := range w.ranks {
			w.pump(r)
		}
		for _, q := range requests {
			if done, _ := q.Done(); !done {
				return false
			}
		}
		return true
	})
	for _, q := range requests {
		_, err := q.Done()
		outcome = append(outcome, err)
	}
	return outcome
}

func (w *world) pump(r *rank) {
	if r.out = append(r.out, r.session.Take()...); len(r.out) > 0 {
		if n, err := syscall.Write(r.fd, r.out[:min(len(r.out), 100_001)]); err == nil { // in odd pieces
			r.out = r.out[n:]
		}
	}
	buf := make([]byte, 64<<10)
	if n, err := syscall.Read(r.fd, buf); err == nil && n > 0 {
		_ = r.session.Receive(buf[:n]) // requests end with an error
	}
}

func each(ranks []*rank, f func(i int, s *member.Session) *member.Request) (requests []*member.Request) {
	for i, r := range ranks {
		requests = append(requests, f(i, r.session))
	}
	return requests
}

// Records of any length come through, in whatever pieces the socket takes them.
func TestLongAndShortRecords(t *testing.T) {
	w := newWorld(t, 0, 2, 1)
	all := w.all()
	sizes := []int{1 << 20, 8, 64 << 10, 200_000, 1, 70_000, 0, 64<<10 + 1}
	var requests []*member.Request
	got := map[[2]int][]byte{}
	for i, r := range all {
		for k, size := range sizes {
			data := bytes.Repeat([]byte{byte(16*i + k)}, size)
			requests = append(requests, r.session.World().Send((i+1)%len(all), int64(k), data))
			to := make([]byte, size)
			got[[2]int{i, k}] = to
			requests = append(requests, r.session.World().Recv((i+len(all)-1)%len(all), int64(k), to))
		}
	}
	for _, err := range w.wait(requests...) {
		require.NoError(t, err)
	}
	for at, b := range got {
		from := (at[0] + len(all) - 1) % len(all)
		require.True(t, bytes.Equal(bytes.Repeat([]byte{byte(16*from + at[1])}, sizes[at[1]]), b), "message %d of rank %d", at[1], from)
	}
}

// Ranks of a world, whatever its number, on some of the nodes that its messages
// pass, do what ranks do: operations, the board, splits.
func TestAWorldUsesTheTree(t *testing.T) {
	w := newWorld(t, 7, 2, 0, 3, 1)
	ranks := w.all()
	for _, r := range ranks {
		require.Equal(t, []int{6, 3}, []int{r.session.Size(), r.session.Nodes()}, "nodes are those with ranks of the world")
	}
	sums := make([][]byte, len(ranks))
	for _, err := range w.wait(each(ranks, func(i int, s *member.Session) *member.Request {
		sums[i] = make([]byte, 8)
		mine := binary.LittleEndian.AppendUint64(nil, uint64(1<<i))
		return s.World().AllReduce(record.Int64|record.Sum, mine, sums[i])
	})...) {
		require.NoError(t, err)
	}
	for _, sum := range sums {
		require.Equal(t, uint64(63), binary.LittleEndian.Uint64(sum))
	}
	for _, err := range w.wait(each(ranks, func(i int, s *member.Session) *member.Request {
		return s.Put("key"+string(rune('0'+i)), []byte{byte(i)})
	})...) {
		require.NoError(t, err)
	}
	w.wait(each(ranks, func(_ int, s *member.Session) *member.Request { return s.Fence() })...)
	gets := each(ranks, func(i int, s *member.Session) *member.Request {
		return s.Get("key" + string(rune('0'+(i+1)%len(ranks))))
	})
	w.wait(gets...)
	for i, q := range gets {
		value, found := q.Value()
		require.True(t, found)
		require.Equal(t, []byte{byte((i + 1) % len(ranks))}, value)
	}
	splits := each(ranks, func(i int, s *member.Session) *member.Request { return s.World().Split(i%2, -i) })
	for i, err := range w.wait(splits...) {
		require.NoError(t, err)
		require.Equal(t, []int{3, 2 - i/2}, []int{splits[i].Made().Size(), splits[i].Made().Rank()})
	}
	for _, x := range w.Nodes {
		require.Empty(t, x.Failures)
		require.Empty(t, x.Broke)
		require.Empty(t, x.Notes)
	}
}

// Of each rank that uses the service it is told what it waits for.
func TestWhatRanksWaitFor(t *testing.T) {
	w := newWorld(t, 7, 4)
	ranks := w.all()
	ranks[0].session.World().Barrier()
	ranks[1].session.World().Recv(3, 7, nil)
	ranks[2].session.Fence()
	for _, r := range ranks {
		w.pump(r)
	}
	server := w.trees[0]
	calls := func() (waits int) {
		for _, c := range server.Calls() {
			require.False(t, c.Since.IsZero())
			if c.Waits {
				waits++
			}
		}
		return waits
	}
	w.Run(func() bool { return calls() == 3 })
	got := server.Calls()
	require.Equal(t, "in barrier, operation 0 of the world", got[0].Text)
	require.Equal(t, "waiting for a message of rank 3 with tag 7 over the world", got[1].Text)
	require.Equal(t, "in fence, number 0 of the world", got[2].Text)
	require.Equal(t, "in no call of the tree's service", got[3].Text)
	require.False(t, got[3].Waits)
}

// A call is for a world that is here, and a rank of it that is, once.
func TestCallsAreForAWorld(t *testing.T) {
	w := newWorld(t, 2, 1, 1)
	first := w.call(0, 2, 0)
	w.wait(first.welcome)
	for says, r := range map[string]*rank{
		"rank 0 is not on this node": w.call(0, 0, 0),
		"rank 1 is not on this node": w.call(0, 2, 1),
		"rank 0 has called already":  w.call(0, 2, 0),
	} {
		require.ErrorContains(t, w.wait(r.welcome)[0], says)
	}
	w.jobs[2] = 2
	require.ErrorContains(t, w.wait(w.call(0, 2, 0).welcome)[0], "rank 0 of 2 jobs is on this node, and the job of its process cannot be told")
	require.Len(t, w.Nodes[0].Notes, 4)
	require.Empty(t, w.Nodes[0].Failures)
}

// A process calls as the rank that it belongs to, and as no other; as any where nobody
// can tell whose it is.
func TestCallsAreOfTheRanksOwn(t *testing.T) {
	w := newWorld(t, 2, 3)
	belongs := 1
	w.ownerOf = func(pid int) (r job.RankID, known, notYet bool) {
		require.Equal(t, os.Getpid(), pid)
		return job.RankID{World: 2, Rank: job.Rank(belongs)}, belongs >= 0, false
	}
	lies := w.call(0, 2, 0)
	says := fmt.Sprintf("pid %d calls as rank 2.0, and is a process of rank 2.1: has it changed PMI_RANK?", os.Getpid())
	require.ErrorContains(t, w.wait(lies.welcome)[0], says)
	require.Len(t, w.Nodes[0].Notes, 1)
	require.Contains(t, w.Nodes[0].Notes[0], "a call for the tree's service was refused: "+says)
	require.NoError(t, w.wait(w.call(0, 2, 1).welcome)[0])
	belongs = 0
	require.NoError(t, w.wait(w.call(0, 2, 0).welcome)[0], "whom another has called as")
	belongs = -1
	require.NoError(t, w.wait(w.call(0, 2, 2).welcome)[0])
}

// A process that is faster than the word of its start waits for that.
func TestCallsBeforeTheRankIsKnown(t *testing.T) {
	w := newWorld(t, 1, 2)
	born, asked := false, 0
	w.ownerOf = func(int) (r job.RankID, known, notYet bool) {
		asked++
		return job.RankID{World: 1, Rank: 1}, born, !born
	}
	lies, honest := w.call(0, 1, 0), w.call(0, 1, 1)
	w.Run(func() bool { return asked == 2 })
	for _, r := range []*rank{lies, honest} {
		w.pump(r)
		done, _ := r.welcome.Done()
		require.False(t, done)
	}
	w.gates[0].Born(-1)
	require.Equal(t, 2, asked, "it is another's birth")
	w.gates[0].AllBorn()
	require.Equal(t, 4, asked)
	born = true
	w.gates[0].AllBorn()
	outcome := w.wait(lies.welcome, honest.welcome)
	require.ErrorContains(t, outcome[0], "is a process of rank 1.1")
	require.NoError(t, outcome[1])
}

// Who waits for a rank that has ended learns it, and a fence that it will not enter
// ends; a rank that PMI still knows may enter.
func TestARankEnds(t *testing.T) {
	w := newWorld(t, 1, 1, 1)
	ranks := w.all()
	barrier := ranks[0].session.World().Barrier()
	fence := ranks[0].session.Fence()
	w.Nodes[1].Ranks[0].Exited = true
	for _, s := range w.Nodes[1].Servers {
		s.Ended(w.Nodes[1].Ranks[0])
	}
	outcome := w.wait(barrier, fence)
	require.ErrorContains(t, outcome[0], "rank 1 on n1 has left")
	require.ErrorContains(t, outcome[1], "rank 1 on n1 has left")
}

// A rank that breaks the protocol is named; a node whose ranks were told to end has
// nobody leave.
func TestARankBreaksTheProtocol(t *testing.T) {
	w := newWorld(t, 1, 2)
	ranks := w.all()
	_, err := syscall.Write(ranks[1].fd, record.AppendFrame(nil, &record.Record{Kind: record.Welcome}))
	require.NoError(t, err)
	w.Run(func() bool { return len(w.Nodes[0].Failures) > 0 })
	f := w.Nodes[0].Failures[0]
	require.Equal(t, job.Failure{Class: job.CauseProtocol, Rank: 1, PID: 1001, Phase: job.PhaseTree, Text: f.Text}, f)
	require.True(t, w.Nodes[0].Ranks[1].Aborted)
	w.Nodes[0].Killed = true
	for _, s := range w.Nodes[0].Servers {
		s.Ended(w.Nodes[0].Ranks[0])
	}
	require.False(t, w.trees[0].Fencing())
	require.True(t, w.trees[0].InUse())
}

// Ranks are told of the switch clusters of all, wherever they are, by their own node:
// nothing crosses a link. A node of other worlds alone does not count.
func TestSwitchClusters(t *testing.T) {
	w := prepare(t, 0, 2, 0, 1, 1)
	for _, x := range w.Nodes {
		x.World.Depth, x.World.Clusters = 2, []int{0, 0, 0, 3, 0, 300}
	}
	w.serve()
	ranks := w.all()
	for _, r := range ranks {
		require.Equal(t, []int{2, 1, 3}, []int{r.session.NetworkDepth(), r.session.SwitchClusters(1), r.session.SwitchClusters(2)})
		for rank, want := range []int{0, 0, 3, 300} {
			q := r.session.SwitchCluster(rank, 2)
			for _, err := range w.wait(q) {
				require.NoError(t, err)
			}
			require.Equal(t, want, q.Cluster(), "rank %d", rank)
		}
	}
	for _, x := range w.Nodes {
		require.Empty(t, x.Failures)
	}
}

// A rank that asks for one that does not exist breaks the protocol.
func TestSwitchClusterOfNobody(t *testing.T) {
	w := newWorld(t, 0, 1)
	r := w.all()[0]
	frame := record.AppendFrame(nil, &record.Record{Kind: record.Cluster, Seq: 9, Dst: 1})
	_, err := syscall.Write(r.fd, frame)
	require.NoError(t, err)
	w.Run(func() bool { return len(w.Nodes[0].Failures) > 0 })
	require.Contains(t, w.Nodes[0].Failures[0].Text, "it asks for the switch clusters of rank 1 of 1")
}
