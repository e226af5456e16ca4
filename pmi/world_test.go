package pmi_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
)

// world is a whole world as agents would run it: on each node a Server and a
// Board, all nodes but the first below node 0, messages delivered at once.
type world struct {
	t     testing.TB
	ppn   int
	nodes []*node
	// bytes sent to each rank that it has not read
	replies    map[job.Rank]string
	names      pmi.Names
	spawns     []pmi.Spawn
	spawned    pmi.SpawnResult // answer to every spawn
	unmapped   error           // why nothing can be mapped
	groups     map[string]int  // nodes that asked for the barrier of a group
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
	t = outside(t)
	w := &world{t: t, ppn: ppn, replies: map[job.Rank]string{}, groups: map[string]int{}}
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
	var grouped []string
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
			case pmi.Publish, pmi.Unpublish, pmi.Lookup:
				port, err := w.names.Do(q.Op, string(q.Key), string(q.Value))
				n.server.NameDone(q.Rank, port, err, &n.out)
			case pmi.SpawnWorld:
				w.spawns = append(w.spawns, *q.Spawn)
				n.server.SpawnDone(q.Rank, w.spawned, &n.out)
			case pmi.Map:
				n.server.MapDone(q.Rank, pmi.Mapping{Path: "/proc/7/fd/9", Size: 4096, Epoch: uint64(n.board.Stats().Epoch)}, w.unmapped, &n.out)
			case pmi.Group:
				w.group(string(q.Key), q.Members, &grouped)
			default:
				require.Fail(w.t, "unknown request", "%v", q.Op)
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
	for act(n); len(queue) > 0 || len(grouped) > 0; {
		if len(grouped) > 0 {
			key := grouped[0]
			grouped = grouped[1:]
			for _, n := range w.nodes {
				n.server.GroupDone(key, &n.out)
				act(n)
			}
			continue
		}
		m := queue[0]
		queue = queue[1:]
		require.NoError(w.t, m.to.board.Receive(m.from, m.msg, &m.to.bout))
		carry(m.to)
		act(m.to)
	}
}

// group counts a node into the barrier of a group, which is complete once every
// node with a member is in it.
func (w *world) group(key string, members []job.Rank, complete *[]string) {
	nodes := map[int]bool{}
	for _, r := range members {
		nodes[int(r)/w.ppn] = true
	}
	need := len(nodes)
	if members == nil {
		need = len(w.nodes)
	}
	if w.groups[key]++; w.groups[key] == need {
		delete(w.groups, key)
		*complete = append(*complete, key)
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

// frame puts the length before a PMI-2 message.
func frame(text string) string { return fmt.Sprintf("%6d", len(text)) + text }

// ask2 sends one PMI-2 message and returns what came back, without the length.
func (w *world) ask2(r job.Rank, text string) string {
	w.send(r, frame(text))
	return strings.Join(split(w.t, w.take(r)), "\n")
}

// split takes what the server sent apart: lines without their end, PMI-2
// messages without their length.
func split(t testing.TB, sent string) (parts []string) {
	t = outside(t)
	for sent != "" {
		if sent[0] == 'c' {
			line, rest, _ := strings.Cut(sent, "\n")
			parts, sent = append(parts, line), rest
			continue
		}
		require.GreaterOrEqual(t, len(sent), 6, "%q", sent)
		n, err := strconv.Atoi(strings.TrimLeft(sent[:6], " "))
		require.NoError(t, err, "%q", sent)
		require.GreaterOrEqual(t, len(sent), 6+n, "%q", sent)
		parts, sent = append(parts, sent[6:6+n]), sent[6+n:]
	}
	return parts
}

const (
	init2     = "cmd=init pmi_version=2 pmi_subversion=0"
	init2OK   = "cmd=response_to_init pmi_version=2 pmi_subversion=0 rc=0"
	fullInit  = "cmd=fullinit;pmirank=%d;threaded=FALSE;"
	fence2    = "cmd=kvs-fence;"
	fence2OK  = "cmd=kvs-fence-response;rc=0;"
	put2OK    = "cmd=kvs-put-response;rc=0;"
	notFound2 = "cmd=kvs-get-response;rc=0;found=FALSE;"
)

func put2(key, value string) string {
	return "cmd=kvs-put;key=" + key + ";value=" + strings.ReplaceAll(value, ";", ";;") + ";"
}

func get2(key string) string { return "cmd=kvs-get;jobid=;srcid=-1;key=" + key + ";" }

func value2(v string) string {
	return "cmd=kvs-get-response;rc=0;found=TRUE;value=" + strings.ReplaceAll(v, ";", ";;") + ";"
}

// start2 initialises every rank as a PMI-2 client.
func (w *world) start2() *world {
	size := len(w.nodes) * w.ppn
	for r := range size {
		require.Equal(w.t, init2OK, w.ask(job.Rank(r), init2))
		require.Equal(w.t, fmt.Sprintf("cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=%d;size=%d;appnum=0;debugged=FALSE;pmiverbose=FALSE;", r, size),
			w.ask2(job.Rank(r), fmt.Sprintf(fullInit, r)))
	}
	return w
}

// fence2 lets every rank pass a PMI-2 fence.
func (w *world) fence2() {
	size := len(w.nodes) * w.ppn
	for r := range size {
		require.Empty(w.t, w.take(job.Rank(r)))
		w.send(job.Rank(r), frame(fence2))
	}
	for r := range size {
		require.Equal(w.t, frame(fence2OK), w.take(job.Rank(r)))
	}
}
