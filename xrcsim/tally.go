package xrcsim

import "github.com/golaunch/golaunch/xrcsim/workload"

// tally is with how many others each process of a job communicates over the
// network.
type tally struct {
	peers   []int32 // of each rank: other processes
	nodes   []int32 // of each rank: nodes on which they are
	inbound []int32 // of each node: processes that have peers on it
}

// tallier counts one rank after the other. A rank that was met for rank r has the
// mark r + 1, and so has a node.
type tallier struct {
	Job
	inside   Inside
	rankMark []int32
	nodeMark []int32
	change   []int32    // of inbound, from one node to the next, by runs
	cut      [][2]int32 // the runs of the rank without what is not over the network
	covered  [][2]int32 // the nodes of these, ascending
	t        *tally
}

// tallyOf counts the peers of all ranks.
func (j Job) tallyOf(peers workload.Peers, inside Inside) *tally {
	n := j.Nodes()
	c := tallier{
		Job: j, inside: inside, rankMark: make([]int32, j.Ranks), nodeMark: make([]int32, n), change: make([]int32, n+1),
		t: &tally{make([]int32, j.Ranks), make([]int32, j.Ranks), make([]int32, n)},
	}
	var s workload.Set
	for r := range j.Ranks {
		s.Reset()
		peers(&s, r)
		first, end := int32(r), int32(r+1) // itself, which it does not reach over the network
		if inside == SharedMemory {
			lo, hi := j.Block(j.Node(r))
			first, end = int32(lo), int32(hi)
		}
		c.runs(r, s.Runs(), first, end)
		c.single(r, s.Single(), first, end)
	}
	sum := int32(0)
	for i := range c.t.inbound {
		sum += c.change[i]
		c.t.inbound[i] += sum
	}
	return c.t
}

// runs counts the runs of a rank, without those from first to end.
func (c *tallier) runs(r int, runs [][2]int32, first, end int32) {
	c.cut, c.covered = c.cut[:0], c.covered[:0]
	add := func(lo, hi int32) {
		if lo >= hi {
			return
		}
		c.cut = append(c.cut, [2]int32{lo, hi})
		c.t.peers[r] += hi - lo
		from, to := int32(c.Node(int(lo))), int32(c.Node(int(hi-1)))
		if last := len(c.covered) - 1; last >= 0 {
			from = max(from, c.covered[last][1]+1)
		}
		if from > to {
			return
		}
		c.covered = append(c.covered, [2]int32{from, to})
		c.t.nodes[r] += to - from + 1
		c.change[from]++
		c.change[to+1]--
	}
	for _, run := range runs {
		add(run[0], min(run[1], first))
		add(max(run[0], end), run[1])
	}
}

// single counts single peers of a rank that are in no run and not from first to end.
func (c *tallier) single(r int, list []int32, first, end int32) {
	mark := int32(r + 1)
	for _, p := range list {
		if p >= first && p < end || c.rankMark[p] == mark || within(c.cut, p, 1) {
			continue
		}
		c.rankMark[p] = mark
		c.t.peers[r]++
		node := p / int32(c.PPN)
		if c.nodeMark[node] == mark || within(c.covered, node, 0) {
			continue
		}
		c.nodeMark[node] = mark
		c.t.nodes[r]++
		c.t.inbound[node]++
	}
}

// within says whether one of the ranges has x; open is 1 where their ends are not
// part of them.
func within(ranges [][2]int32, x, open int32) bool {
	for _, r := range ranges {
		if x >= r[0] && x <= r[1]-open {
			return true
		}
	}
	return false
}
