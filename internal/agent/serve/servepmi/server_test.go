package servepmi

import (
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/board"
	"github.com/golaunch/golaunch/internal/agent/serve/servetest"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// quiet watches no fences.
type quiet struct{}

func (quiet) Entered()  {}
func (quiet) Released() {}

// asked keeps what ranks ask for beyond their world.
type asked struct {
	names, spawns []string
	next          func(r *serve.Rank) // after a name, if not nil
}

func (a *asked) Name(r *serve.Rank, q *pmi.Request) {
	a.names = append(a.names, fmt.Sprintf("%d %v %s", r.Number, q.Op, q.Key))
	if a.next != nil {
		a.next(r)
	}
}

func (a *asked) Spawn(r *serve.Rank, s *pmi.Spawn) {
	a.spawns = append(a.spawns, fmt.Sprintf("%d %s", r.Number, s.Commands[0].Exec))
}

// socketPair is a rank's connection, and the agent's end.
func socketPair(t *testing.T) (rank, agent int) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	t.Cleanup(func() { syscall.Close(fds[1]) })
	return fds[1], fds[0]
}

// world is one whose ranks have PMI on a descriptor.
type world struct {
	*servetest.Net
	t       *testing.T
	servers []*Server
	beyond  asked
	ranks   map[job.Rank]int // their descriptors
}

func newWorld(t *testing.T, launch *overlay.Launch, perNode ...int) *world {
	w := &world{Net: servetest.New(t, 3, launch, perNode...), t: t, ranks: map[job.Rank]int{}}
	for _, x := range w.Nodes {
		b, err := board.New(x.World, quiet{})
		require.NoError(t, err)
		x.Servers = []serve.Server{b}
		if len(x.Ranks) == 0 {
			continue
		}
		s, err := New(x.World, b, &w.beyond)
		require.NoError(t, err)
		door := OnDescriptor{s}
		for _, r := range x.Ranks {
			mine, its := socketPair(t)
			w.ranks[r.Number] = mine
			taken, err := door.Socket(r, its)
			require.NoError(t, err)
			require.True(t, taken)
		}
		x.Servers = append(x.Servers, door)
		w.servers = append(w.servers, s)
	}
	w.Start()
	return w
}

func (w *world) say(r job.Rank, line string) {
	_, err := syscall.Write(w.ranks[r], []byte(line+"\n"))
	require.NoError(w.t, err)
}

// hear is the next line for a rank.
func (w *world) hear(r job.Rank) string {
	var line []byte
	w.Run(func() bool {
		for c := make([]byte, 1); ; {
			n, err := syscall.Read(w.ranks[r], c)
			if err != nil || n == 0 {
				return false
			}
			if c[0] == '\n' {
				return true
			}
			line = append(line, c[0])
		}
	})
	return string(line)
}

func (w *world) ask(r job.Rank, line string) string {
	w.say(r, line)
	return w.hear(r)
}

const initLine = "cmd=init pmi_version=1 pmi_subversion=1"

// Ranks of a spawned world on nodes apart put, fence and get; nodes between them
// have no rank.
func TestRanksExchangeByPMI(t *testing.T) {
	w := newWorld(t, nil, 2, 0, 1)
	for r := job.Rank(0); r < 3; r++ {
		require.Contains(t, w.ask(r, initLine), "rc=0")
		require.Contains(t, w.ask(r, fmt.Sprintf("cmd=put kvsname=kvs key=k%d value=v%d", r, r)), "rc=0")
	}
	for r := job.Rank(0); r < 3; r++ {
		w.say(r, "cmd=barrier_in")
	}
	for r := job.Rank(0); r < 3; r++ {
		require.Equal(t, "cmd=barrier_out", w.hear(r))
		require.Contains(t, w.ask(r, fmt.Sprintf("cmd=get kvsname=kvs key=k%d", (r+1)%3)), fmt.Sprintf("value=v%d", (r+1)%3))
	}
}

// What is not the world's goes beyond it, and answers find the rank that asked.
func TestWhatLiesBeyondTheWorld(t *testing.T) {
	w := newWorld(t, nil, 2)
	for r := job.Rank(0); r < 2; r++ {
		w.ask(r, initLine)
	}
	w.say(1, "cmd=lookup_name service=s")
	w.say(0, "mcmd=spawn\nnprocs=1\nexecname=/app\ntotspawns=1\nspawnssofar=1\nargcnt=0\npreput_num=0\ninfo_num=0\nendcmd")
	w.Run(func() bool { return len(w.beyond.names)+len(w.beyond.spawns) == 2 })
	require.Equal(t, asked{names: []string{"1 lookup s"}, spawns: []string{"0 /app"}}, w.beyond)
	w.servers[0].NameDone(1, "at:s", nil)
	require.Contains(t, w.hear(1), "port=at:s")
	w.servers[0].SpawnDone(0, pmi.SpawnResult{JobID: "j"})
	require.Contains(t, w.hear(0), "rc=0")
}

// How a rank ends is judged by what it last said.
func TestHowRanksEnd(t *testing.T) {
	w := newWorld(t, nil, 4)
	s, ranks := w.servers[0], w.Nodes[0].Ranks
	for r := job.Rank(0); r < 3; r++ {
		w.ask(r, initLine)
	}
	w.say(0, "cmd=finalize")
	w.say(2, "cmd=abort exitcode=7")
	s.Hear(ranks...)
	require.Nil(t, s.Judge(ranks[0], true))
	require.Equal(t, &job.Failure{Class: job.CauseNoFinalize}, s.Judge(ranks[1], true))
	require.Nil(t, s.Judge(ranks[1], false), "its status says enough")
	require.Nil(t, s.Judge(ranks[3], true), "it never spoke PMI")
	require.True(t, ranks[2].Aborted)
	require.Equal(t, []job.Failure{{Class: job.CauseAbort, Rank: 2, Code: 7, Phase: "running", Text: w.Nodes[0].Failures[0].Text}}, w.Nodes[0].Failures)
}

// A group of ranks of two nodes has a barrier of its own, in a world that grants it.
func TestGroupsOfTwoNodes(t *testing.T) {
	w := newWorld(t, &overlay.Launch{LaunchOptions: overlay.LaunchOptions{Cache: cache.HCMAB, PMIVersion: "1.2"}, Universe: -1}, 1, 1, 1)
	for r := job.Rank(0); r < 3; r++ {
		w.ask(r, "cmd=init pmi_version=1 pmi_subversion=2")
	}
	require.Contains(t, w.ask(2, "cmd=put kvsname=kvs key=k value=v"), "rc=0")
	w.say(0, "cmd=barrier_in group=0,2:1")
	w.say(2, "cmd=barrier_in group=0,2:1")
	require.Contains(t, w.hear(0), "barrier_out")
	require.Contains(t, w.hear(2), "barrier_out")
	require.Contains(t, w.ask(0, "cmd=get kvsname=kvs key=k"), "value=v")
	require.Empty(t, w.Nodes[0].Failures)
}

// Who is in a group its key says. A node that says otherwise, or enters one that it is not
// in, is refused, and what the group's own nodes say counts as before.
func TestWhoIsInAGroup(t *testing.T) {
	w := newWorld(t, &overlay.Launch{LaunchOptions: overlay.LaunchOptions{Cache: cache.HCMAB, PMIVersion: "1.2"}, Universe: -1}, 1, 1, 1, 1)
	tell := func(from job.NodeID, g overlay.Group) error {
		m := overlay.Message{Header: tree.Header{Kind: overlay.KindGroup, Job: job.Cold}, Value: g, Body: overlay.Encode(g)}
		return w.servers[0].Message(serve.Message{Message: m, Node: from})
	}
	group := []byte("0,2:1")
	for name, x := range map[string]struct {
		from job.NodeID
		g    overlay.Group
	}{
		"not in it":             {1, overlay.Group{Key: group, Need: 2}},
		"of fewer nodes":        {2, overlay.Group{Key: group, Need: 1}},
		"of more nodes":         {2, overlay.Group{Key: group, Need: 3}},
		"to one that is not in": {2, overlay.Group{Key: []byte("1,2:1"), Need: 2}},
		"over, by the last":     {2, overlay.Group{Key: group}},
		"no group":              {2, overlay.Group{Key: []byte("2,0:1"), Need: 2}},
		"beyond the world":      {2, overlay.Group{Key: []byte("0,4:1"), Need: 2}},
	} {
		require.Error(t, tell(x.from, x.g), name)
	}
	for r := job.Rank(0); r < 3; r++ {
		w.ask(r, "cmd=init pmi_version=1 pmi_subversion=2")
	}
	w.say(0, "cmd=barrier_in group=0,2:1")
	w.say(2, "cmd=barrier_in group=0,2:1")
	require.Contains(t, w.hear(0), "barrier_out")
	require.Contains(t, w.hear(2), "barrier_out")
	require.Empty(t, w.Nodes[0].Failures)
}

func TestNodesOfDealtOutRanks(t *testing.T) {
	v := &serve.World{Hosts: []job.HostIndex{3, 5, 9}}
	for rank, h := range []job.HostIndex{5, 3, 3, 9, 5, 3} {
		v.Blocks = append(v.Blocks, job.Block{Host: h, First: job.Rank(rank), Count: 1})
	}
	require.Equal(t, []job.NodeID{0, 2}, nodesOf(v, []job.Rank{1, 3, 5}))
	require.Equal(t, []job.NodeID{1}, nodesOf(v, []job.Rank{0, 4}))
	require.Equal(t, []job.NodeID{0, 1, 2}, nodesOf(v, nil))
}

// A rank makes requests and leaves the replies: it is read on only when it has taken
// them.
func TestARankThatTakesNoRepliesIsNotRead(t *testing.T) {
	w := newWorld(t, nil, 1)
	c := w.servers[0].conns[0]
	c.reply(make([]byte, 2*serve.CallerBound))
	require.NotEmpty(t, c.replies)
	w.say(0, initLine)
	w.Settle()
	require.False(t, w.servers[0].Initialised(w.Nodes[0].Ranks[0]))
	for buf := make([]byte, 64<<10); len(c.replies) > 0; c.reply(nil) {
		for n := 1; n > 0; {
			n, _ = syscall.Read(w.ranks[0], buf)
		}
	}
	w.Run(func() bool { return w.servers[0].Initialised(w.Nodes[0].Ranks[0]) })
}

// Every operation of package pmi is carried out. One that is not fails its rank, which
// would wait for ever.
func TestOperationsThatNobodyCarriesOut(t *testing.T) {
	request := func(op pmi.Op) (*world, []job.Failure) {
		w := newWorld(t, &overlay.Launch{LaunchOptions: overlay.LaunchOptions{Cache: cache.HCMAB, PMIVersion: "1.2"}, Universe: -1}, 2)
		w.ask(0, initLine)
		s := w.servers[0]
		s.out.Requests = append(s.out.Requests, pmi.Request{Rank: 0, Op: op, Spawn: &pmi.Spawn{Commands: make([]pmi.Command, 1)}})
		s.Settle()
		return w, w.Nodes[0].Failures
	}
	known := 0
	for op := pmi.Op(1); !strings.HasPrefix(op.String(), "operation"); op++ {
		if op.String() != "node attribute" { // the protocol's server waits for it itself
			_, failures := request(op)
			require.Empty(t, failures, op)
			known++
		}
	}
	require.GreaterOrEqual(t, known, int(pmi.Map))
	w, failures := request(99)
	require.Len(t, failures, 1)
	require.Equal(t, job.CauseProtocol, failures[0].Class)
	require.Equal(t, job.Rank(0), failures[0].Rank)
	require.Equal(t, "no agent carries out operation 99, which its request takes: that is golaunch's fault", failures[0].Text)
	n, err := syscall.Read(w.ranks[0], make([]byte, 1))
	require.NoError(t, err)
	require.Zero(t, n, "the rank reads the end of its connection")
}

// The socket that a rank was started with is closed when the rank was reaped, and not at its end
// of file: until then it shows the warden when that was.
func TestTheSocketIsKeptUntilTheReap(t *testing.T) {
	w := newWorld(t, nil, 1)
	w.ask(0, initLine)
	s := w.servers[0]
	fd := s.conns[0].fd
	require.NoError(t, syscall.Close(w.ranks[0]))
	w.Run(func() bool { return s.conns[0].fd < 0 })
	require.True(t, unix.IsStreamSocket(fd))
	OnDescriptor{s}.Ended(w.Nodes[0].Ranks[0])
	require.False(t, unix.IsStreamSocket(fd))

	port := OnPort{Server: s} // over which nothing is said
	mine, its := socketPair(t)
	taken, err := port.Socket(w.Nodes[0].Ranks[0], its)
	require.NoError(t, err)
	require.True(t, taken)
	port.Ended(w.Nodes[0].Ranks[0])
	n, err := syscall.Read(mine, make([]byte, 1))
	require.NoError(t, err)
	require.Zero(t, n)
}

// What a rank says while it is heard for the last time is not waited for: it may go on
// for ever.
func TestARankThatGoesOnTalkingIsHeardOnce(t *testing.T) {
	const line, lines = "cmd=lookup_name service=x", 200 // more than one read takes
	w := newWorld(t, nil, 1)
	w.ask(0, initLine)
	for range lines {
		w.say(0, line)
	}
	w.beyond.next = func(r *serve.Rank) {
		if len(w.beyond.names) < 100*lines {
			w.say(r.Number, line)
		}
		w.servers[0].NameDone(r.Number, "port", nil)
	}
	w.servers[0].Hear(w.Nodes[0].Ranks...)
	require.GreaterOrEqual(t, len(w.beyond.names), lines)
	require.Less(t, len(w.beyond.names), 10*lines)
}

// On a port, ranks say who they are; who is none of them is refused and told of once.
func TestRanksCallAtAPort(t *testing.T) {
	n := servetest.New(t, 0, nil, 1)
	x := n.Nodes[0]
	b, err := board.New(x.World, quiet{})
	require.NoError(t, err)
	s, err := New(x.World, b, &asked{})
	require.NoError(t, err)
	port := &OnPort{Server: s}
	x.Servers = []serve.Server{b, port}
	n.Start()
	require.Equal(t, []string{"PMI_ID=0"}, port.Env(x.Ranks[0]))
	address, ok := strings.CutPrefix(port.Env(nil)[0], "PMI_PORT=")
	require.True(t, ok)
	dial := func(id int) net.Conn {
		c, err := net.Dial("tcp4", address)
		require.NoError(t, err)
		t.Cleanup(func() { c.Close() })
		_, err = fmt.Fprintf(c, "cmd=initack pmiid=%d\n", id)
		require.NoError(t, err)
		return c
	}
	dial(5)
	n.Run(func() bool { return len(x.Notes) > 0 })
	require.Contains(t, x.Notes[0], "a connection to PMI_PORT was refused")
	c := dial(0)
	n.Run(func() bool { return s.conns[0].fd >= 0 })
	_, err = fmt.Fprintln(c, initLine)
	require.NoError(t, err)
	n.Run(func() bool { return s.Initialised(x.Ranks[0]) })
	_, err = net.Dial("tcp4", address)
	require.Error(t, err, "all are in")
}
