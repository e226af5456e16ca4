package member

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/record"
)

// busy returns a session with one of everything under way.
func busy() (*Session, []*Request) {
	s := New(1, 3, 0, 1)
	c := s.World()
	return s, []*Request{
		c.Bcast(0, make([]byte, 100_000)), c.Gather(1, make([]byte, 8), make([]byte, 24)), c.AllGather(make([]byte, 50_000), make([]byte, 150_000)),
		c.Scatter(1, make([]byte, 150_000), make([]byte, 50_000)), c.AllToAll(make([]byte, 24), make([]byte, 24)),
		c.AllReduce(record.Int64|record.Sum, make([]byte, 8), make([]byte, 8)), c.Barrier(),
		c.Send(2, 1, make([]byte, 10)), c.Recv(record.Any, 1, make([]byte, 10)), s.Get("key"), s.Fence(), s.Sub([]int{0, 1}),
		c.Split(1, 2), c.Locate(2), c.RecvAll(0, 2), c.Probe(0, 3, false), c.Probe(0, 3, true),
	}
}

func TestWhatTheAgentMayNotSay(t *testing.T) {
	for name, r := range map[string]record.Record{
		"an operation not begun":   {Kind: record.Data, Op: record.Bcast, Seq: 99},
		"another operation":        {Kind: record.Data, Op: record.Gather, Seq: 0},
		"beyond the buffer":        {Kind: record.Data, Op: record.Bcast, Off: 99_999, Size: 100_000, Body: []byte("ab")},
		"before the buffer":        {Kind: record.Data, Op: record.Bcast, Off: -1, Size: 100_000, Body: []byte("ab")},
		"more than is there":       {Kind: record.Pull, Op: record.Scatter, Seq: 3, Src: 2, Off: 49_999, Size: 2},
		"for nobody":               {Kind: record.Pull, Op: record.Scatter, Seq: 3, Src: 3, Size: 1},
		"from one who gives none":  {Kind: record.Pull, Op: record.Bcast, Seq: 0, Size: 1},
		"an unknown message":       {Kind: record.Taken, Seq: 99},
		"a message for no room":    {Kind: record.Match, Seq: 2, Size: 11},
		"part of no message":       {Kind: record.SendData, Seq: 2, Body: []byte("a")},
		"an answer to no question": {Kind: record.Got, Seq: 99},
		"a second welcome":         {Kind: record.Welcome},
		"a split without a number": {Kind: record.Data, Op: record.Split, Seq: 7},
		"another member's place":   {Kind: record.Answer, Seq: 6, Src: 1},
		"a place nobody asked for": {Kind: record.Answer, Seq: 99, Src: 2},
		"data before a message":    {Kind: record.SendData, Seq: 7, Body: []byte("a")},
		"more than a message has":  {Kind: record.Match, Seq: 7, Size: 1, Body: []byte("ab")},
		"a message for a probe":    {Kind: record.Match, Seq: 8, Size: 1, Body: []byte("a")},
		"a word of no probe":       {Kind: record.Match, Fn: record.RecvProbe, Seq: 2},
		"agents' business":         {Kind: record.Credit, Size: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, requests := busy()
			require.Error(t, s.Receive(record.AppendFrame(nil, &r)))
			for _, q := range requests {
				done, err := q.Done()
				require.True(t, done, "every request ends with the session")
				require.ErrorContains(t, err, "agent: ")
			}
			done, err := s.World().Barrier().Done()
			require.True(t, done)
			require.Error(t, err)
		})
	}
}

// TestGap has the agent leave bytes out of a message whose length it has told.
func TestGap(t *testing.T) {
	for off, holds := range map[int64]bool{0: true, 1: false} {
		s, _ := busy()
		require.NoError(t, s.Receive(record.AppendFrame(nil, &record.Record{Kind: record.Match, Seq: 7, Size: 10})))
		err := s.Receive(record.AppendFrame(nil, &record.Record{Kind: record.SendData, Seq: 7, Off: off, Body: []byte("a")}))
		require.Equal(t, holds, err == nil, "at %d: %v", off, err)
	}
}

func TestWelcome(t *testing.T) {
	s, welcome := Open(0, 3)
	require.NotEmpty(t, s.Take())
	done, _ := welcome.Done()
	require.False(t, done)
	b := record.AppendFrame(nil, &record.Record{Kind: record.Welcome, Src: 3, Size: 8, Dst: 1, Count: 2})
	require.NoError(t, s.Receive(b[:5]))
	require.NoError(t, s.Receive(b[5:]))
	done, err := welcome.Done()
	require.True(t, done)
	require.NoError(t, err)
	require.Equal(t, []int{3, 8, 1, 2}, []int{s.Rank(), s.Size(), s.Node(), s.Nodes()})

	s, welcome = Open(0, 3)
	require.Error(t, s.Receive(record.AppendFrame(nil, &record.Record{Kind: record.Fail, Body: []byte("not here")})))
	_, err = welcome.Done()
	require.ErrorContains(t, err, "not here")
}

// opened returns a session whose welcome tells of 1, 2 and 4 switch clusters.
func opened(t *testing.T) *Session {
	s, _ := Open(0, 3)
	s.Take()
	require.NoError(t, s.Receive(record.AppendFrame(nil, &record.Record{Kind: record.Welcome, Src: 3, Size: 8, Dst: 1, Count: 4, Body: []byte{1, 2, 4}})))
	return s
}

// TestSwitchClusters has the agent tell of the network.
func TestSwitchClusters(t *testing.T) {
	s := opened(t)
	require.Equal(t, 3, s.NetworkDepth())
	require.Equal(t, []int{0, 1, 2, 4, 0}, []int{s.SwitchClusters(0), s.SwitchClusters(1), s.SwitchClusters(2), s.SwitchClusters(3), s.SwitchClusters(4)})
	q := s.SwitchCluster(7, 3)
	raw, _, err := record.Frame(s.Take())
	require.NoError(t, err)
	var r record.Record
	_, err = record.Parse(raw, &r)
	require.NoError(t, err)
	require.Equal(t, []int{int(record.Cluster), 7}, []int{int(r.Kind), r.Dst})
	require.NoError(t, s.Receive(record.AppendFrame(nil, &record.Record{Kind: record.Cluster, Seq: r.Seq, Body: []byte{0, 1, 0x86, 0x01}})))
	done, err := q.Done()
	require.True(t, done)
	require.NoError(t, err)
	require.Equal(t, 134, q.Cluster())

	for want, q := range map[string]*Request{
		"switch clusters at depth 4 of a network of depth 3":                          s.SwitchCluster(0, 4),
		"switch clusters at depth 0 of a network of depth 3":                          s.SwitchCluster(0, 0),
		"the switch cluster of rank 8 of a world of 8":                                s.SwitchCluster(8, 1),
		"the switch cluster of rank -1 of a world of 8":                               s.SwitchCluster(-1, 1),
		"no network is known, and so no switch cluster; golaunch --topology names it": New(0, 8, 0, 1).SwitchCluster(0, 1),
	} {
		_, err := q.Done()
		require.EqualError(t, err, want)
	}
	require.Empty(t, s.Take())
}

// TestSwitchClustersThatAreNone has the agent tell what cannot be.
func TestSwitchClustersThatAreNone(t *testing.T) {
	for name, r := range map[string]record.Record{
		"too few":          {Kind: record.Cluster, Seq: 1, Body: []byte{0, 1}},
		"too many":         {Kind: record.Cluster, Seq: 1, Body: []byte{0, 1, 2, 3}},
		"cut short":        {Kind: record.Cluster, Seq: 1, Body: []byte{0, 1, 0x80}},
		"nobody asked":     {Kind: record.Cluster, Seq: 3, Body: []byte{0, 1, 2}},
		"of a get":         {Kind: record.Cluster, Seq: 2, Body: []byte{0, 1, 2}},
		"a second welcome": {Kind: record.Welcome, Body: []byte{1}},
	} {
		s := opened(t)
		q, get := s.SwitchCluster(0, 1), s.Get("key")
		require.Error(t, s.Receive(record.AppendFrame(nil, &r)), name)
		for _, q := range []*Request{q, get} {
			_, err := q.Done()
			require.ErrorContains(t, err, "agent: ", name)
		}
	}
	s, welcome := Open(0, 3)
	require.Error(t, s.Receive(record.AppendFrame(nil, &record.Record{Kind: record.Welcome, Size: 8, Count: 1, Body: []byte{0x80}})))
	_, err := welcome.Done()
	require.ErrorContains(t, err, "a record is cut short")
}

// TestLookUp has a look-up answered, and the communicator freed only then.
func TestLookUp(t *testing.T) {
	s := New(1, 3, 0, 1)
	c := s.comm(1<<32|1, 1, 3)
	ask := c.Locate(2)
	require.NotEmpty(t, s.Take())
	free := c.Free()
	require.Empty(t, s.Take(), "a look-up is under way")
	require.NoError(t, s.Receive(record.AppendFrame(nil, &record.Record{Kind: record.Answer, Seq: ask.seq, Src: 2, Off: 7, Size: 5})))
	done, err := ask.Done()
	require.True(t, done)
	require.NoError(t, err)
	rank, node := ask.Location()
	require.Equal(t, []int{7, 5}, []int{rank, node})
	require.NotEmpty(t, s.Take(), "the barrier before it is freed")
	done, _ = free.Done()
	require.False(t, done, "it waits for the others")
}

// TestFencesAreInOrder has fences begun at a time entered one after the other,
// whatever becomes of each.
func TestFencesAreInOrder(t *testing.T) {
	s := New(0, 2, 0, 1)
	all := []*Request{s.Fence(), s.Fence(), s.Fence()}
	for i, answer := range []record.Record{{Kind: record.Fence}, {Kind: record.Fail, Fn: record.FailBoard, Body: []byte("no")}, {Kind: record.Fence}} {
		raw, rest, err := record.Frame(s.Take())
		require.NoError(t, err)
		require.Empty(t, rest, "one fence at a time")
		var r record.Record
		_, err = record.Parse(raw, &r)
		require.NoError(t, err)
		require.Equal(t, record.Fence, r.Kind)
		answer.Seq = r.Seq
		require.NoError(t, s.Receive(record.AppendFrame(nil, &answer)))
		for j, q := range all {
			done, _ := q.Done()
			require.Equal(t, j <= i, done, "fence %d", j)
		}
	}
	require.Empty(t, s.Take())
}

// TestBarriersAreInserted shows which numbers the program's operations get.
func TestBarriersAreInserted(t *testing.T) {
	s := New(0, 2, 0, 1)
	c := s.World()
	for range 40 {
		c.Bcast(0, []byte("x")) // short: complete at once for the root
	}
	var entered []record.Record
	look := func() {
		for b := s.Take(); len(b) > 0; {
			raw, rest, err := record.Frame(b)
			require.NoError(t, err)
			var r record.Record
			_, err = record.Parse(raw, &r)
			require.NoError(t, err)
			if r.Kind == record.Enter {
				entered = append(entered, r)
			}
			b = rest
		}
	}
	for _, total := range []int{16, 32, 42} {
		look()
		require.Len(t, entered, total, "nothing is entered before the barrier is complete")
		for i, r := range entered {
			require.Equal(t, uint64(i), r.Seq)
			require.Equal(t, i%record.SyncEvery == record.SyncEvery-1, r.Op == record.Barrier, "operation %d", i)
		}
		if total < 42 {
			require.NoError(t, s.Receive(record.AppendFrame(nil, &record.Record{Kind: record.Data, Op: record.Barrier, Seq: uint64(total - 1), Count: 1, Body: []byte{0}})))
		}
	}
}

func FuzzSession(f *testing.F) {
	f.Add(record.AppendFrame(nil, &record.Record{Kind: record.Data, Op: record.Bcast, Count: 1, Size: 100_000, Body: []byte("abc")}))
	f.Add(record.AppendFrame(nil, &record.Record{Kind: record.Pull, Op: record.AllGather, Seq: 2, Off: 50_000, Size: 9}))
	f.Add(record.AppendFrame(nil, &record.Record{Kind: record.Match, Seq: 2, Size: 3, Body: []byte("abc")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, requests := busy()
		_ = s.Receive(b)
		s.Close(errors.New("over"))
		for _, q := range requests {
			if done, _ := q.Done(); !done {
				t.Fatal("a request outlives its session")
			}
		}
	})
}

// TestBadArgumentsStayHere has requests fail that no agent could make sense of.
func TestBadArgumentsStayHere(t *testing.T) {
	s := New(0, 2, 0, 1)
	c := s.World()
	for name, q := range map[string]*Request{
		"a negative endpoint":  s.Sub([]int{0, -1}),
		"an endpoint too many": s.Sub([]int{0, 3}),
		"a source below any":   c.Recv(-2, 0, nil),
		"a tag below any":      c.Recv(1, -2, nil),
		"a huge tag":           c.Send(1, 1<<62, nil),
		"a library's tag":      c.Send(1, record.MaxTag+1, nil),
		"a Recv of such":       c.Recv(1, record.MaxTag+64, nil),
		"a key too long":       s.Get(string(make([]byte, record.MaxKey+1))),
		"a put of such":        s.Put(string(make([]byte, record.MaxKey+1)), nil),
		"a value too long":     s.Put("key", make([]byte, record.MaxValue+1)),
	} {
		done, err := q.Done()
		require.True(t, done, name)
		require.Error(t, err, name)
	}
	require.Empty(t, s.Take(), "nothing of it reaches the agent")
}
