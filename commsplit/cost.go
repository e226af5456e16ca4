package commsplit

import (
	"math"
	"math/bits"
)

// Costs are the basis of the choice between algorithms, in nanoseconds. The model is
// LogGP's: a process's time is the number of rounds times the latency, plus its
// messages times the cost of one, plus the bytes it receives times the cost of one,
// plus its work on rows.
type Costs struct {
	Latency float64 // of a round: from a send to the receiver's step
	Message float64 // processor time to send or receive one
	Byte    float64 // to receive one; the reciprocal of the bandwidth
	Trunk   float64 // where all share a way, for it to carry one to every process
	Row     float64 // to merge one row in one pass
	Search  float64 // to bisect a table once for a splitter
	Settle  float64 // to put one row's rank in the finished table
}

// DefaultCosts returns those of a cluster with 2 µs of latency and 10 Gbit/s, and of
// a processor that merges about 200 million rows a second: set, not measured.
func DefaultCosts() Costs {
	return Costs{Latency: 2000, Message: 300, Byte: 0.8, Row: 5, Search: 150, Settle: 1}
}

// TreeCosts returns those of processes that are the agents of a tree: 200 µs from
// agent to agent by way of several others. In most rounds the larger part of all
// messages passes the agents at the top, which take 1 µs for each and 1 ns for a
// byte, so that a round takes as long as these do. These are estimates, too.
func TreeCosts(processes int) Costs {
	c := DefaultCosts()
	all := float64(processes)
	c.Latency, c.Message, c.Byte, c.Trunk = 200_000, 500*all, 1, all
	return c
}

// Shape holds the properties of a split that are known before it is computed.
type Shape struct {
	Processes int
	Rows      int     // in the whole table, those without a colour left out
	Items     int     // in which the rows travel to the homes of Hash
	Classes   float64 // an estimate of how many there are
	Largest   float64 // an estimate of the items of the largest class
	Single    bool    // rank i is alone at process i
	Ranged    bool    // every class is a range
}

// Method names an algorithm.
type Method uint8

// The methods among which Auto chooses.
const (
	ByRanges Method = iota
	ByHash
	BySort // Parallel; with one sorter it merges in place
	ByQuick
)

var methodNames = [...]string{"ranges", "hash", "sort", "quick"}

// String returns the method's name.
func (m Method) String() string { return methodNames[m] }

// Plan is a method, with the number of sorters if it is BySort.
type Plan struct {
	Method  Method
	Sorters int
}

// scan returns the time of a scan, lg P rounds of one message.
func (c Costs) scan(processes int) float64 {
	return log2(processes) * (c.Latency + 2*c.Message + (summaryWords+surveyWords)*WordBytes*c.all())
}

// few reports whether so many ranks are merged in place without a survey: where that
// takes at most half of a scan's time longer than the scan. No algorithm takes less
// than a scan's rounds.
func (c Costs) few(processes, ranks int) bool {
	return c.Sort(Shape{Processes: processes, Rows: ranks}, 1) <= 1.5*c.scan(processes)
}

// Sort returns the time of Parallel with p sorters:
//
//	collect    lg(P/p) rounds, N/p rows received, 2N/p merged
//	splitters  3·lg N rounds, in each 2p messages (48 and 20 bytes) and p searches
//	exchange   N/p rows received and copied, p messages
//	merge      N/p rows, lg p times
//	settle     3 rounds of p messages, N/p ranks
func (c Costs) Sort(s Shape, p int) float64 {
	sorters := float64(p)
	share := float64(s.Rows) / sorters
	if p == 1 {
		share = float64(s.Rows)
		return log2(s.Processes)*(c.Latency+2*c.Message) + share*(RowBytes*c.all()+2*c.Row+c.Settle)
	}
	lgBlock, lgRows := log2((s.Processes+p-1)/p), log2(s.Rows)
	collect := lgBlock*(c.Latency+2*c.Message) + share*(RowBytes*c.all()+2*c.Row)
	splitters := 3*lgRows*(c.Latency+2*sorters*c.Message) + sorters*lgRows*(c.Search+68*c.all())
	exchange := c.Latency + 2*sorters*c.Message + share*(RowBytes*c.all()+c.Settle)
	merge := share * log2(p) * c.Row
	settle := 3*(c.Latency+2*sorters*c.Message) + share*c.Settle
	return collect + splitters + exchange + merge + settle
}

// Hash returns the time of Hash: 2·lg P rounds of one message, which carry half of
// the items of a process each; the home of the largest class sorts its items, which
// pass the last lg P steps of the way in and the first of the way out, and writes
// its table. An item of it is taken to be of as many rows as any. The fullest home may
// have another class as large: of c classes, two meet at one of P homes in c²/2P cases,
// if that is less than 1.
func (c Costs) Hash(s Shape) float64 {
	lg, items := log2(s.Processes), float64(s.Items)
	mean := items / float64(s.Processes)
	home := mean + s.Largest*(1+min(1, s.Classes*s.Classes/float64(2*s.Processes)))
	rows := home * float64(s.Rows) / max(items, 1)
	return 2*lg*(c.Latency+2*c.Message) + lg*mean*itemWords*WordBytes*c.all() +
		2*home*itemWords*WordBytes*c.Byte + home*(2*c.Row*(1+math.Log2(1+home))+50*c.Settle) + rows*c.Settle
}

// Quick returns the time of Quick: lg(n/15) stages, each four sweeps over a tree of
// the range, and the move; then a scan.
func (c Costs) Quick(s Shape) float64 {
	rounds, stages := 0.0, 0.0
	for n := float64(s.Processes); n > 1; n /= 2 {
		if n <= pivotSample {
			rounds += math.Ceil(math.Log2(n)) + 1
			break
		}
		rounds += 4*math.Ceil(math.Log2(n)) + 1
		stages++
	}
	return rounds*(c.Latency+2*c.Message) + stages*log2(s.Processes)*pivotSample*(RowBytes*c.all()+4*c.Row) + c.scan(s.Processes) + 2*c.Latency
}

// all returns the cost of a byte that every process receives one like.
func (c Costs) all() float64 { return c.Byte + c.Trunk }

func log2(n int) float64 { return float64(bits.Len(uint(max(n, 1) - 1))) }

// Choose returns the plan of the least cost for a split that was surveyed. Sorters are
// powers of two up to most, the processes that a sort may use.
func (c Costs) Choose(s Shape, most int) Plan {
	if s.Ranged {
		return Plan{Method: ByRanges} // the survey has done it
	}
	best, cost := Plan{Method: ByHash}, c.Hash(s)
	try := func(p Plan, t float64) {
		if t < cost {
			best, cost = p, t
		}
	}
	for p := 1; p <= min(most, s.Processes); p *= 2 {
		try(Plan{BySort, p}, c.Sort(s, p))
	}
	if s.Single {
		try(Plan{Method: ByQuick}, c.Quick(s))
	}
	return best
}
