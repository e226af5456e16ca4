package pmi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/pmi"
)

// world is a whole world as agents would run it: on each node a Server and a
// Board, all nodes but the first below node 0, messages delivered at once.
type world struct {
	t     testing.TB
	ppn   int
	nodes []*node
	// replies is what each rank was sent and has not read.
	replies    map[job.Rank]string
	aborts     []pmi.Abort
	violations []pmi.Violation
	hangups    []pmi.Hangup
	notes      []pmi.Note
}

type node struct {
	server *pmi.Server
	board  cache.Board
	peer   cache.Peer // of this node at node 0
	out    pmi.Effects
	bout   cache.Effects
}

const kvsname = "kvs_test_0"

func newWorld(t testing.TB, nodes, ppn int, change func(*pmi.World)) *world {
	w := &world{t: t, ppn: ppn, replies: map[job.Rank]string{}}
	pw := pmi.World{
		Size: nodes * ppn, KVSName: kvsname, UniverseSize: -1,
		ProcessMapping: fmt.Sprintf("(vector,(0,%d,%d))", nodes, ppn),
		AppNum:         func(job.Rank) int { return 0 },
	}
	if change != nil {
		change(&pw)
	}
	for i := range nodes {
		var local []job.Rank
		for j := range ppn {
			local = append(local, job.Rank(i*ppn+j))
		}
		c := cache.Config{
			Policy: cache.HCMAB, Root: i == 0, LocalRanks: ppn, Size: nodes * ppn,
			MaxKey: pmi.MaxKey - 1, MaxValue: pmi.MaxValue - 1,
		}
		if i == 0 {
			c.Children = nodes - 1
		}
		n := &node{peer: cache.Peer(i - 1)}
		var err error
		n.server, err = pmi.NewServer(pw, local)
		require.NoError(t, err)
		n.board, err = cache.New(c)
		require.NoError(t, err)
		require.NoError(t, n.board.Start(&n.bout))
		w.nodes = append(w.nodes, n)
	}
	return w
}

func (w *world) node(r job.Rank) *node { return w.nodes[int(r)/w.ppn] }

// send lets rank r send bytes and carries out what follows.
func (w *world) send(r job.Rank, data string) {
	n := w.node(r)
	buf := []byte(data)
	n.server.Receive(r, buf, &n.out)
	w.settle(n)
	for i := range buf {
		buf[i] = '!' // the server and the board must have copied what they need
	}
}

// ask sends one line and returns what came back.
func (w *world) ask(r job.Rank, line string) string {
	w.send(r, line+"\n")
	return w.take(r)
}

// take returns what rank r was sent since the last take.
func (w *world) take(r job.Rank) string {
	got := w.replies[r]
	delete(w.replies, r)
	return strings.TrimSuffix(got, "\n")
}

func (w *world) eof(r job.Rank) {
	n := w.node(r)
	n.server.EOF(r, &n.out)
	w.settle(n)
}

// settle acts on node n's effects, and on those they cause at other nodes.
func (w *world) settle(n *node) {
	type message struct {
		to   *node
		from cache.Peer
		msg  []byte
	}
	var queue []message
	carry := func(n *node) {
		for _, s := range n.bout.Sends {
			to, from := w.nodes[0], n.peer
			if s.To != cache.Parent {
				to, from = w.nodes[s.To+1], cache.Parent
			}
			queue = append(queue, message{to, from, s.Msg})
		}
		for _, a := range n.bout.Answers {
			n.server.GetDone(job.Rank(a.Token), a.Value, a.Found, &n.out)
		}
		for range n.bout.Released {
			n.server.FenceDone(&n.out)
		}
		n.bout.Reset()
	}
	act := func(n *node) {
		for i := 0; i < len(n.out.Requests); i++ {
			switch q := n.out.Requests[i]; q.Op {
			case pmi.Put:
				n.server.PutDone(q.Rank, n.board.Put(q.Key, q.Value, &n.bout), &n.out)
			case pmi.Get:
				n.board.Get(uint64(q.Rank), q.Key, &n.bout)
			case pmi.Fence:
				require.NoError(w.t, n.board.Enter(&n.bout))
			}
			carry(n)
		}
		for _, r := range n.out.Replies {
			w.replies[r.Rank] += string(r.Data)
		}
		w.aborts = append(w.aborts, n.out.Aborts...)
		w.violations = append(w.violations, n.out.Violations...)
		w.hangups = append(w.hangups, n.out.Hangups...)
		w.notes = append(w.notes, n.out.Notes...)
		n.out.Reset()
	}
	for act(n); len(queue) > 0; queue = queue[1:] {
		m := queue[0]
		require.NoError(w.t, m.to.board.Receive(m.from, m.msg, &m.to.bout))
		carry(m.to)
		act(m.to)
	}
}

const initLine = "cmd=init pmi_version=1 pmi_subversion=1"

// init initialises every rank.
func (w *world) init() *world {
	for r := range len(w.nodes) * w.ppn {
		require.Equal(w.t, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0", w.ask(job.Rank(r), initLine))
	}
	return w
}

// fence lets every rank pass a barrier.
func (w *world) fence() {
	size := len(w.nodes) * w.ppn
	for r := range size {
		require.Empty(w.t, w.take(job.Rank(r)))
		w.send(job.Rank(r), "cmd=barrier_in\n")
	}
	for r := range size {
		require.Equal(w.t, "cmd=barrier_out", w.take(job.Rank(r)))
	}
}
