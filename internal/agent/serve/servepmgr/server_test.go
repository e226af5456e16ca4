package servepmgr_test

import (
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/servepmgr"
	"github.com/golaunch/golaunch/internal/agent/serve/servetest"
	"github.com/golaunch/golaunch/internal/agent/serve/servetree"
	"github.com/golaunch/golaunch/internal/job"
)

// Operations of PMGR.
const (
	opClose   = 1
	opBarrier = 3
	version   = 8
)

// newWorld is a world whose nodes have the tree's service and PMGR.
func newWorld(t *testing.T, perNode ...int) (*servetest.Net, []*servepmgr.Server) {
	n := servetest.New(t, 5, nil, perNode...)
	var servers []*servepmgr.Server
	for _, x := range n.Nodes {
		tree, err := servetree.New(x.World, nil, &servetree.Door{})
		require.NoError(t, err)
		x.Servers = []serve.Server{tree}
		if len(x.Ranks) > 0 {
			s := servepmgr.New(x.World, tree)
			x.Servers = append(x.Servers, s)
			servers = append(servers, s)
		}
	}
	n.Start()
	return n, servers
}

// dial connects to what a server tells its ranks.
func dial(t *testing.T, s *servepmgr.Server, words ...uint32) net.Conn {
	env := s.Env(nil)
	value := func(name string) string {
		i := slices.IndexFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
		return env[i][len(name)+1:]
	}
	c, err := net.Dial("tcp4", value("MPIRUN_HOST")+":"+value("MPIRUN_PORT"))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	say(t, c, words...)
	return c
}

func say(t *testing.T, c net.Conn, words ...uint32) {
	var b []byte
	for _, w := range words {
		b = binary.NativeEndian.AppendUint32(b, w)
	}
	_, err := c.Write(b)
	require.NoError(t, err)
}

// heard returns, from another goroutine, one word of each connection.
func heard(n *servetest.Net, conns ...net.Conn) <-chan uint32 {
	words := make(chan uint32, len(conns))
	for _, c := range conns {
		go func() { // ends with the connection
			var b [4]byte
			if _, err := io.ReadFull(c, b[:]); err == nil {
				words <- binary.NativeEndian.Uint32(b[:])
				n.Wake()
			}
		}()
	}
	return words
}

// Ranks of a world that was spawned, on nodes apart, meet over the tree.
func TestRanksMeetByPMGR(t *testing.T) {
	n, servers := newWorld(t, 1, 0, 2)
	require.Equal(t, []string{"MPIRUN_RANK=2"}, servers[1].Env(n.Nodes[2].Ranks[1]))
	a, b, c := dial(t, servers[0], version, 0), dial(t, servers[1], version, 1), dial(t, servers[1], version, 2)
	for _, x := range []net.Conn{a, b, c} {
		say(t, x, opBarrier)
	}
	words := heard(n, a, b, c)
	n.Run(func() bool { return len(words) == 3 })
	require.Equal(t, uint32(opBarrier), <-words)
	for _, x := range []net.Conn{a, b, c} {
		say(t, x, opClose)
	}
	for _, x := range n.Nodes {
		require.Empty(t, x.Failures)
		require.Empty(t, x.Notes)
	}
}

// An abort is heard when its rank has ended, on a connection of its own.
func TestAnAbortIsTheRanks(t *testing.T) {
	n, servers := newWorld(t, 2)
	x := n.Nodes[0]
	dial(t, servers[0], version, 1)
	dial(t, servers[0], 3, 1).Close() // code, rank; old clients say no more
	n.Run(func() bool {
		servers[0].Hear(x.Ranks[1])
		return x.Ranks[1].Aborted || servers[0].Judge(x.Ranks[1], false) != nil
	})
	if x.Ranks[1].Aborted { // it was seen whose it was
		require.Equal(t, job.CauseAbort, x.Failures[0].Class)
		require.Equal(t, 3, x.Failures[0].Code)
		require.Equal(t, job.Rank(1), x.Failures[0].Rank)
	}
	require.Nil(t, servers[0].Judge(x.Ranks[0], false), "the other's status says enough")
}

// Nobody can call any more when no rank is left.
func TestThePortClosesWithTheLastRank(t *testing.T) {
	_, servers := newWorld(t, 1)
	c := dial(t, servers[0])
	servers[0].Shut()
	servers[0].Shut()
	_, err := c.Read(make([]byte, 1))
	require.Error(t, err)
}
