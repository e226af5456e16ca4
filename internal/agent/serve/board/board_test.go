package board_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/agent/serve/board"
	"github.com/golaunch/golaunch/internal/agent/serve/servetest"
)

// fenceCount counts fences.
type fenceCount struct{ entered, released int }

func (f *fenceCount) Entered()  { f.entered++ }
func (f *fenceCount) Released() { f.released++ }

// user is a member that keeps what it is told.
type user struct {
	got     map[uint64]string
	fenced  int
	enters  bool
	retired []*serve.Rank
}

func (u *user) Got(token uint64, value string, found bool) {
	if u.got == nil {
		u.got = map[uint64]string{}
	}
	if u.got[token] = "none"; found {
		u.got[token] = value
	}
}
func (u *user) Fenced()                           { u.fenced++ }
func (u *user) Settle()                           {}
func (u *user) Enters(*serve.Rank) bool           { return u.enters }
func (u *user) Retired(r *serve.Rank)             { u.retired = append(u.retired, r) }
func put(t *testing.T, s board.Seat, k, v string) { require.NoError(t, s.Put([]byte(k), []byte(v))) }

// Members share keys and fences: what one puts the other gets, a rank enters each
// fence once through either, and answers go to who has asked.
func TestMembersShareTheBoard(t *testing.T) {
	n := servetest.New(t, 4, nil, 2, 1)
	var watch [2]fenceCount
	var one, two [2]user
	var seats [2][2]board.Seat
	for i, x := range n.Nodes {
		b, err := board.New(x.World, &watch[i])
		require.NoError(t, err)
		x.Servers = []serve.Server{b}
		seats[i] = [2]board.Seat{b.Join(&one[i]), b.Join(&two[i])}
	}
	n.Start()
	put(t, seats[0][0], "a", "1")
	put(t, seats[1][1], "b", "2")
	require.True(t, seats[0][0].Enter(n.Nodes[0].Ranks[0]))
	require.False(t, seats[0][1].Enter(n.Nodes[0].Ranks[0]), "through whichever member")
	require.True(t, seats[1][0].Enter(n.Nodes[1].Ranks[0]))
	n.Settle()
	require.Zero(t, one[0].fenced)
	require.True(t, seats[0][1].Enter(n.Nodes[0].Ranks[1]))
	n.Run(func() bool { return one[0].fenced+two[0].fenced+one[1].fenced+two[1].fenced == 4 })
	require.Equal(t, [2]fenceCount{{2, 1}, {1, 1}}, watch)
	require.Equal(t, uint64(1), seats[1][0].Completed())
	seats[0][0].Get(5, []byte("b"))
	seats[0][1].Get(5, []byte("a"))
	seats[1][1].Get(6, []byte("c"))
	n.Run(func() bool { return len(one[0].got)+len(two[0].got)+len(two[1].got) == 3 })
	require.Equal(t, map[uint64]string{5: "2"}, one[0].got)
	require.Equal(t, map[uint64]string{5: "1"}, two[0].got)
	require.Equal(t, map[uint64]string{6: "none"}, two[1].got)
	require.Nil(t, one[1].got)
}

// A member may ask whether a rank can come by another one, and is told when not.
func TestMembersKnowOfEachOther(t *testing.T) {
	n := servetest.New(t, 0, nil, 1)
	b, err := board.New(n.Nodes[0].World, &fenceCount{})
	require.NoError(t, err)
	var one, two user
	first, second := b.Join(&one), b.Join(&two)
	r := n.Nodes[0].Ranks[0]
	one.enters = true
	require.True(t, second.MayEnter(r))
	require.False(t, first.MayEnter(r), "itself does not count")
	first.Retire(r)
	require.Equal(t, []*serve.Rank{r}, two.retired)
	require.Empty(t, one.retired)
}

// Who is in a fence that will not be complete is in it for good.
func TestAFenceThatIsOver(t *testing.T) {
	n := servetest.New(t, 0, nil, 2)
	b, err := board.New(n.Nodes[0].World, &fenceCount{})
	require.NoError(t, err)
	n.Nodes[0].Servers = []serve.Server{b}
	n.Start()
	over := ""
	b.Over = func() string { return over }
	r := n.Nodes[0].Ranks[0]
	require.True(t, b.Enter(r))
	require.False(t, b.Enter(r))
	over = "rank 1 has left"
	require.True(t, b.Enter(r))
	require.Empty(t, n.Nodes[0].Failures)
}
