package servepmix

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/pmix"
)

// lateNet is nodes whose ranks may speak PMIx, and do not yet.
func lateNet(t *testing.T, perNode ...int) *net {
	n := newNet(t, perNode...)
	for _, x := range n.nodes {
		x.library, x.later = func(int) string { return "" }, true
	}
	n.Start()
	for _, x := range n.nodes {
		require.True(t, x.server.opened)
		require.Nil(t, x.fake(), "a helper that nobody needs")
	}
	return n
}

// joining has a node's ranks begin to speak PMIx: their helper is told of the world, which it
// is to register by answering the request.
func (n *net) joining(x *node, done func(error)) (request uint32, locals int) {
	x.server.Join("libpmix.so.2", done)
	return n.introduce(x)
}

// introduce has a node's helper be ready, and hear of the world.
func (n *net) introduce(x *node) (request uint32, locals int) {
	n.Settle()
	id, _ := hear[pmix.Init](x.fake())
	x.fake().say(id, pmix.Ready{})
	id, w := hear[pmix.World](x.fake())
	return id, len(w.Locals)
}

// join has a node's ranks speak PMIx from now on.
func (n *net) join(x *node) {
	joined := false
	id, locals := n.joining(x, func(err error) {
		require.NoError(n.t, err)
		joined = true
	})
	envs := make([][]string, locals)
	for i := range envs {
		envs[i] = []string{"A=1"}
	}
	x.fake().say(id, pmix.Registered{Envs: envs})
	n.Run(func() bool { return joined })
}

// ends has a local rank end.
func (x *node) ends(i int) {
	x.Ranks[i].Exited = true
	x.server.Ended(x.Ranks[i])
}

// Ranks that begin to speak PMIx when others wait already are waited for.
func TestRanksSpeakPMIxLater(t *testing.T) {
	n := lateNet(t, 2, 0, 1, 1)
	for _, i := range []int{3, 0, 2} {
		n.join(n.nodes[i])
		require.Nil(t, n.nodes[i].server.Env(n.nodes[i].Ranks[0]), "what all that a rank starts would have")
		require.Equal(t, []string{"A=1"}, n.nodes[i].server.Environment(n.nodes[i].Ranks[0]))
		n.Settle()
		_, some := n.nodes[3].fake().next()
		require.False(t, some)
		n.nodes[i].fake().say(7, pmix.Fence{Procs: whole, Blob: []byte{byte('a' + i)}})
	}
	for _, i := range []int{0, 2, 3} {
		_, d := hear[pmix.Data](n.nodes[i].fake())
		require.Equal(t, pmix.Data{Blob: []byte("acd")}, d)
	}
	require.NotPanics(t, func() { n.nodes[0].server.Join("libpmix.so.2", func(err error) { require.NoError(t, err) }) })
}

// Ranks that end without speaking PMIx are not waited for, once everyone is told.
func TestRanksThatNeverSpeakPMIx(t *testing.T) {
	n := lateNet(t, 1, 0, 1)
	n.join(n.nodes[0])
	n.nodes[0].fake().say(7, pmix.Fence{Procs: whole})
	n.Settle()
	silent := n.nodes[2]
	silent.ends(0)
	n.Settle()
	_, some := n.nodes[0].fake().next()
	require.False(t, some)
	silent.server.Over = func() string { return "rank 1 has ended" }
	_, d := hear[pmix.Data](n.nodes[0].fake())
	require.Equal(t, pmix.ProcTerminated, d.Status)
}

// What speaks PMIx from the start takes what may speak it later along.
func TestAWorldHasOneMPI(t *testing.T) {
	n := newNet(t, 2)
	x := n.nodes[0]
	x.Ranks[1].App, x.later = 1, true
	x.library = func(app int) string { return []string{"libpmix.so.2", ""}[app] }
	n.Start()
	n.Settle()
	id, _ := hear[pmix.Init](x.fake())
	x.fake().say(id, pmix.Ready{})
	_, w := hear[pmix.World](x.fake())
	require.Equal(t, []pmix.Local{{Rank: 0}, {Rank: 1}}, w.Locals)
}

// A rank that ends while its helper starts, or before, is counted out once: those that live go
// on, and the helper hears of it, which did not know of it before.
func TestARankEndsWhileItsHelperStarts(t *testing.T) {
	for name, ends := range map[string]struct{ before, starting, registering bool }{
		"before":               {before: true},
		"as the helper starts": {starting: true},
		"as it registers":      {registering: true},
	} {
		t.Run(name, func(t *testing.T) {
			n := lateNet(t, 2)
			x, joined := n.nodes[0], false
			if ends.before {
				x.ends(0)
			}
			x.server.Join("libpmix.so.2", func(err error) { require.NoError(t, err); joined = true })
			if ends.starting {
				x.ends(0)
			}
			id, _ := n.introduce(x)
			gone := pmix.Gone{Proc: pmix.Proc{Namespace: "kvs"}}
			if ends.registering {
				x.ends(0)
				_, g := hear[pmix.Gone](x.fake())
				require.Equal(t, gone, g)
			}
			x.fake().say(id, pmix.Registered{Envs: make([][]string, 2)})
			n.Run(func() bool { return joined })
			_, g := hear[pmix.Gone](x.fake())
			require.Equal(t, gone, g)
			require.Equal(t, 1, x.server.parts[0].living)
			require.Len(t, x.server.quiet, 1, "the root is told once")
			x.fake().say(7, pmix.Fence{Procs: whole})
			_, d := hear[pmix.Data](x.fake())
			require.Equal(t, pmix.Success, d.Status)
		})
	}
}

// Where the ranks of a node cannot speak PMIx, those of others do not wait for them.
func TestRanksThatCannotJoin(t *testing.T) {
	for name, fail := range map[string]func(n *net, x *node) (got error){
		"the helper refuses": func(n *net, x *node) (got error) {
			id, _ := n.joining(x, func(err error) { got = err })
			x.fake().say(id, pmix.Registered{Status: pmix.OutOfResource, Text: "full"})
			n.Run(func() bool { return got != nil })
			x.ends(0) // as it cannot go on
			return got
		},
		"nobody may": func(_ *net, x *node) (got error) {
			x.later = false
			x.server.Join("libpmix.so.2", func(err error) { got = err })
			return got
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := lateNet(t, 1, 1)
			n.join(n.nodes[0])
			n.nodes[0].fake().say(7, pmix.Fence{Procs: whole})
			n.Settle()
			require.Error(t, fail(n, n.nodes[1]))
			_, d := hear[pmix.Data](n.nodes[0].fake())
			require.Contains(t, []pmix.Status{pmix.LostConnection, pmix.ProcTerminated}, d.Status)
		})
	}
}

// A world that is over is joined by nobody, nor does a helper learn of it that is ready then.
func TestNobodyJoinsAWorldThatIsOver(t *testing.T) {
	var got []error
	done := func(err error) { got = append(got, err) }

	n := lateNet(t, 1)
	x := n.nodes[0]
	x.server.Close()
	x.server.Join("libpmix.so.2", done)
	require.Equal(t, []error{errOver}, got)
	require.Nil(t, x.fake())

	n = lateNet(t, 1)
	x = n.nodes[0]
	x.server.Join("libpmix.so.2", done)
	x.server.Close()
	n.Settle()
	id, _ := hear[pmix.Init](x.fake())
	x.fake().say(id, pmix.Ready{})
	n.Run(func() bool { return len(got) == 2 })
	require.Equal(t, errOver, got[1])
	_, told := x.fake().next()
	require.False(t, told)

	n = lateNet(t, 1)
	x = n.nodes[0]
	id, _ = n.joining(x, done)
	x.server.Close()
	x.fake().say(id, pmix.Registered{Envs: make([][]string, 1)})
	n.Run(func() bool { return len(got) == 3 })
	require.Equal(t, errOver, got[2])
}
