package xrcsim

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/xrcsim/workload"
)

// counted returns the points of a workload by word, one for each transport.
func counted(t testing.TB, word string, ranks, ppn int, p Parameters, transports ...Transport) []Point {
	t.Helper()
	sources, err := workload.Parse(word)
	require.NoError(t, err)
	require.Len(t, sources, 1)
	program, err := sources[0].Peers(ranks)
	require.NoError(t, err)
	j, err := NewJob(ranks, ppn)
	require.NoError(t, err)
	points, err := Count(j, Workload{word, program, workload.Collectives(ranks)}, p, transports)
	require.NoError(t, err)
	return points
}

func same(x int) Spread { return Spread{float64(x), float64(x), float64(x)} }

// [Sridhar, table 4.1] counts all peers over the network; with shared memory inside
// a node those of the own node need no connection.
func TestFullyConnected(t *testing.T) {
	for _, n := range []int{1, 2, 3, 8, 64} {
		for _, c := range []int{1, 2, 8, 16} {
			for _, connect := range []Connect{OnDemand, Static} {
				p := Default()
				p.Connect, p.Inside = connect, Network
				points := counted(t, "alltoall", n*c, c, p, RC, XRC, UD, DC)
				assert.Equal(t, same(n*c-1), points[0].QueuePairs, "RC, %d nodes of %d", n, c)
				nodes := n
				if c == 1 {
					nodes-- // nobody else is on the own node
				}
				assert.Equal(t, same(nodes), points[1].QueuePairs, "XRC, %d nodes of %d", n, c)
				assert.Equal(t, same(1), points[2].QueuePairs)
				assert.Equal(t, same(9), points[3].QueuePairs)

				p.Inside = SharedMemory
				points = counted(t, "alltoall", n*c, c, p, RC, XRC)
				assert.Equal(t, same((n-1)*c), points[0].QueuePairs, "RC, %d nodes of %d", n, c)
				assert.Equal(t, same(n-1), points[1].QueuePairs, "XRC, %d nodes of %d", n, c)
				assert.Equal(t, same((n-1)*c), points[1].ReceiveOnly)
			}
		}
	}
}

// Counts of the patterns in the setting of [Sridhar, table 4.2]: 8 nodes of 8.
func TestBenchmarksOfTheSource(t *testing.T) {
	for name, want := range map[string][2]Spread{
		"bt": {same(6), same(4)},
		"cg": {{3.875, 3, 4}, {3.5, 3, 4}},
		"ep": {same(3), same(3)},
		"ft": {same(56), same(7)},
		"is": {same(56), same(7)},
		"lu": {{3.75, 3, 4}, {3.75, 3, 4}},
		"mg": {same(5), same(4)},
		"sp": {same(6), same(4)},
	} {
		points := counted(t, "npb:"+name, 64, 8, Default(), RC, XRC)
		assert.Equal(t, want[0], points[0].QueuePairs, "%s RC", name)
		assert.Equal(t, want[1], points[1].QueuePairs, "%s XRC", name)
	}
}

// A gigabyte for a job of 16K processes [Sridhar 1.2.2] is 64 KiB for each peer.
func TestGigabyte(t *testing.T) {
	p := Default()
	p.Inside = Network
	points := counted(t, "alltoall", 16384, 8, p, RC, XRC, DC)
	assert.Equal(t, same(16383<<16), points[0].QueuePairBytes)
	assert.InEpsilon(t, 1<<30, points[0].QueuePairBytes.Average, 1e-4)
	assert.Equal(t, same(2048<<16), points[1].QueuePairBytes)
	assert.Equal(t, same(9<<16), points[2].QueuePairBytes)
}

func TestBytes(t *testing.T) {
	p := Parameters{Inside: SharedMemory, Connect: OnDemand, QueuePair: 1000, ReceiveOnly: 10, Buffers: 3, BufferBytes: 100, Initiators: 8}
	points := counted(t, "alltoall", 6, 2, p, RC, XRC, UD, Hybrid, DC)
	assert.Equal(t, same(5000+300), points[0].Bytes, "4 peers, and the queue pair of handshakes")
	assert.Equal(t, same(3000+20+300), points[1].Bytes, "2 nodes, 4 receive-only ones for 2 processes")
	assert.Equal(t, same(1000+300), points[2].Bytes)
	assert.Equal(t, same(5000+300), points[3].Bytes)
	assert.Equal(t, same(9000+300), points[4].Bytes)
	var all []float64
	for _, x := range points {
		all = append(all, x.HCA.Average)
	}
	assert.Equal(t, []float64{10, 6 + 4, 2, 10, 18}, all)
}

// Hybrid connects those that exchange many messages, and leaves collectives to
// datagrams.
func TestHybrid(t *testing.T) {
	assert.Equal(t, same(0), counted(t, "npb:ep", 64, 8, Default(), Hybrid)[0].QueuePairs)
	assert.Equal(t, same(4), counted(t, "npb:bt", 64, 8, Default(), Hybrid)[0].QueuePairs)
}

// A million ranks take no longer than the answer is worth.
func TestMillion(t *testing.T) {
	points := counted(t, "alltoall", 1<<20, 16, Default(), RC, XRC)
	assert.Equal(t, same(1<<20-16), points[0].QueuePairs)
	assert.Equal(t, same(1<<16-1), points[1].QueuePairs)
	assert.Equal(t, same(1<<20-16), points[1].ReceiveOnly)
}

// Counting by sets is counting one by one.
func TestCountIsNaive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "ranks")
		j, err := NewJob(n, rapid.IntRange(1, 9).Draw(t, "ppn"))
		require.NoError(t, err)
		inside := rapid.SampledFrom([]Inside{SharedMemory, Network}).Draw(t, "inside")
		rank := rapid.IntRange(0, n-1)
		runs, single := make([][][2]int, n), make([][]int, n)
		for r := range n {
			for range rapid.IntRange(0, 3).Draw(t, "runs") {
				a := rank.Draw(t, "first")
				runs[r] = append(runs[r], [2]int{a, rapid.IntRange(a, n).Draw(t, "end")})
			}
			single[r] = rapid.SliceOfN(rank, 0, 6).Draw(t, "single")
		}
		got := j.tallyOf(func(s *workload.Set, r int) {
			for _, x := range runs[r] {
				s.AddRun(x[0], x[1])
			}
			for _, p := range single[r] {
				s.Add(p)
			}
		}, inside)
		want := &tally{make([]int32, n), make([]int32, n), make([]int32, j.Nodes())}
		for r := range n {
			peers, nodes := map[int]bool{}, map[int]bool{}
			add := func(p int) {
				if p != r && (inside == Network || j.Node(p) != j.Node(r)) {
					peers[p], nodes[j.Node(p)] = true, true
				}
			}
			for _, x := range runs[r] {
				for p := x[0]; p < x[1]; p++ {
					add(p)
				}
			}
			for _, p := range single[r] {
				add(p)
			}
			want.peers[r], want.nodes[r] = int32(len(peers)), int32(len(nodes))
			for node := range nodes {
				want.inbound[node]++
			}
		}
		require.Equal(t, want, got)
	})
}

func TestCountRefuses(t *testing.T) {
	for _, x := range []struct{ ranks, ppn int }{{0, 1}, {1, 0}, {-1, 1}, {workload.MaxRanks + 1, 8}, {8, workload.MaxRanks + 1}} {
		_, err := NewJob(x.ranks, x.ppn)
		require.ErrorContains(t, err, "expected 1 to 1048576")
	}
	w := Workload{"none", workload.Nobody, workload.Nobody}
	for _, x := range []struct {
		inside    Inside
		connect   Connect
		transport Transport
		want      string
	}{
		{inside: "here", connect: OnDemand, transport: RC, want: `inside a node "here": expected shared-memory or network`},
		{inside: Network, connect: "never", transport: RC, want: `connections "never": expected on-demand or static`},
		{inside: Network, connect: Static, transport: "tcp", want: `transport "tcp": expected one of [rc xrc ud hybrid dc]`},
	} {
		p := Default()
		p.Inside, p.Connect = x.inside, x.connect
		_, err := Count(Job{4, 2}, w, p, []Transport{x.transport})
		require.EqualError(t, err, x.want)
	}
}

func ExampleCount() {
	peers := workload.All(64)
	points, _ := Count(Job{64, 8}, Workload{"alltoall", peers, workload.Nobody}, Default(), []Transport{RC, XRC})
	for _, p := range points {
		fmt.Println(p.Transport, p.QueuePairs.Average, "receive-only:", p.ReceiveOnly.Average)
	}
	// Output:
	// rc 56 receive-only: 0
	// xrc 7 receive-only: 56
}
