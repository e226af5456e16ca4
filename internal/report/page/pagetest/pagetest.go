// Package pagetest makes files for a page to show: profiles of stencils and of all with
// all, a trace and its report, output of the simulations; and pages of it, for tests.
package pagetest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/internal/report/page"
	"github.com/golaunch/golaunch/network/commgraph"
	"github.com/golaunch/golaunch/network/routing"
	"github.com/golaunch/golaunch/network/topology/spec"
)

// TB is a test, or one of package rapid.
type TB interface {
	require.TestingT
	Helper()
}

// Network returns the network of a word.
func Network(t TB, word string) *page.Network {
	t.Helper()
	g, err := spec.Parse(word)
	require.NoError(t, err)
	r, err := routing.New(g, func(n int, do func(int)) {
		for i := range n {
			do(i)
		}
	})
	require.NoError(t, err)
	return &page.Network{From: word, Router: r}
}

// Profile is a profile as it is written.
type Profile struct {
	Format   string    `json:"format"`
	Version  int       `json:"version"`
	Job      string    `json:"job"`
	Command  []string  `json:"command"`
	Began    time.Time `json:"began"`
	Seconds  float64   `json:"seconds"`
	Status   int       `json:"exit_status"`
	Quantity string    `json:"quantity"`
	From     string    `json:"from"`
	Worlds   []World   `json:"worlds"`
}

// World is one world of a Profile; rows are as the file has them.
type World struct {
	World         int       `json:"world"`
	Size          int       `json:"size"`
	MPI           string    `json:"mpi"`
	Nodes         []string  `json:"nodes"`
	NodeOf        [][3]int  `json:"node_of"`
	Missing       []int     `json:"missing"`
	Unfinished    []int     `json:"unfinished"`
	Dropped       int       `json:"dropped"`
	Sent          [][]int64 `json:"sent"`
	Outside       [][]int64 `json:"outside"`
	Communicators []any     `json:"communicators"`
	Collectives   []any     `json:"collectives"`
}

var began = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// NewProfile returns a profile of so many ranks, in blocks on nodes h0, h1, ...
func NewProfile(ranks, perNode int) *Profile {
	w := World{Size: ranks, MPI: "MPICH 4.0.2", Missing: []int{}, Unfinished: []int{}, Sent: [][]int64{}, Outside: [][]int64{}, Communicators: []any{}, Collectives: []any{}}
	for first := 0; first < ranks; first += perNode {
		w.NodeOf = append(w.NodeOf, [3]int{len(w.Nodes), first, min(perNode, ranks-first)})
		w.Nodes = append(w.Nodes, fmt.Sprint("h", len(w.Nodes)))
	}
	return &Profile{Format: "golaunch-profile", Version: 1, Job: "0a1b", Command: []string{"./app", "-n", "64"}, Began: began, Seconds: 12.5,
		Quantity: "volume", From: "start", Worlds: []World{w}}
}

// Stencil returns the ranks of a grid send their neighbors, by the weights of its
// graph, in messages of 64 KB, a hundred steps. Place is the rank of each point of the
// grid; nil where they are the same.
func Stencil(t TB, word string, perNode int, place []int) *Profile {
	t.Helper()
	g, err := commgraph.Parse(word)
	require.NoError(t, err)
	r := NewProfile(g.Ranks(), perNode)
	of := make(map[int]int32, g.Ranks()) // the point of each rank
	for point := range int32(g.Ranks()) {
		if place == nil {
			of[int(point)] = point
		} else {
			of[place[point]] = point
		}
	}
	for rank := range g.Ranks() {
		peers, weights := g.Peers(of[rank])
		row := map[int64]int64{}
		for i, p := range peers {
			to := int64(p)
			if place != nil {
				to = int64(place[p])
			}
			row[to] = weights[i]
		}
		for to := range int64(g.Ranks()) {
			if w, ok := row[to]; ok {
				r.Worlds[0].Sent = append(r.Worlds[0].Sent, []int64{int64(rank), to, 100, 1024 * w * 100})
			}
		}
	}
	return r
}

// Shuffled returns a random place for each of n points.
func Shuffled(n int) []int { return rand.New(rand.NewPCG(1, 2)).Perm(n) }

// Random has all ranks send all others something, each a different amount, and time.
func Random(ranks, perNode int) *Profile {
	r, rng := NewProfile(ranks, perNode), rand.New(rand.NewPCG(3, 4))
	r.Quantity = "time"
	for from := range int64(ranks) {
		for to := range int64(ranks) {
			if from != to {
				r.Worlds[0].Sent = append(r.Worlds[0].Sent, []int64{from, to, 1 + rng.Int64N(900), 1 + rng.Int64N(1<<30), 1 + rng.Int64N(1<<32)})
			}
		}
	}
	return r
}

// Traced returns the trace of a job on so many nodes, and its report.
func Traced(t TB, nodes, perNode int) (trace, rep string) {
	t.Helper()
	begin := began
	at := func(ms float64) time.Time { return begin.Add(time.Duration(ms * 1e6)) }
	name := func(h job.HostIndex) string { return fmt.Sprint("h", h) }
	phases := []report.Phase{{Name: "resolve", End: at(3)}, {Name: "connect", End: at(140)}, {Name: "agents up", End: at(610)}, {Name: "launch sent", End: at(612)},
		{Name: "ranks started", End: at(905)}, {Name: "ranks ended", End: at(12300)}, {Name: "output drained", End: at(12310)}, {Name: "tree down", End: at(12420)}}
	c := report.Collected{Levels: []report.Level{{Agents: nodes}}}
	rng := rand.New(rand.NewPCG(5, 6))
	for n := range nodes {
		late := 30*float64(n%8) + 20*rng.Float64()
		x := report.NodeTrace{Begin: at(150 + late), Clock: []report.Offset{{At: at(200), Within: 40 * time.Microsecond}}}
		for world := range 12 {
			from := 1000 + 800*float64(world)
			x.Fences = append(x.Fences, report.Fence{Number: world + 1, First: at(from + 30*rng.Float64()), Last: at(from + 50), Released: at(from + 60 + late/10)})
		}
		x.Steps = []report.Step{{Track: report.TrackWarden, Name: "start warden", Begin: at(152 + late), End: at(160 + late)},
			{Track: report.TrackSpawn, Name: "spawn ranks", Begin: at(620 + late), End: at(690 + late), Count: perNode},
			{Track: report.TrackExit, Name: "exits", Begin: at(12100), End: at(12250 + late/10), Count: perNode}}
		node := report.Node{Host: job.HostIndex(n), Parent: job.HostIndex((n - 1) / 8), PID: 4000 + n, Trace: &x, Phases: []report.Phase{
			{Name: "agent up", End: at(200 + late)}, {Name: "range received", End: at(203 + late)}, {Name: "subtree up", End: at(400 + late)},
			{Name: "launch received", End: at(615 + late)}, {Name: "ranks started", End: at(700 + late)}, {Name: "ranks ended", End: at(12260 + late/10)}}}
		if n == 0 {
			node.Parent = job.NoHost
		}
		c.Nodes = append(c.Nodes, node)
		for k := range perNode {
			c.Ranks = append(c.Ranks, report.Rank{Rank: job.Rank(n*perNode + k), Host: job.HostIndex(n), PID: 5000 + k, Outcome: report.Succeeded,
				User: 11 * time.Second, System: 300 * time.Millisecond, MaxRSS: 90 << 20, Start: at(620 + late + float64(k)), End: at(12100 + 100*rng.Float64())})
		}
	}
	tr := report.Trace{Job: "0a1b", Begin: begin, Phases: phases, Nodes: c.Nodes, Ranks: c.Ranks, Name: name}
	var b strings.Builder
	require.NoError(t, tr.Encode(&b))
	r := report.Report{Job: report.Job{ID: "0a1b", Apps: []report.App{{Argv: []string{"./app", "-n", "64"}, Ranks: nodes * perNode}}, Ranks: nodes * perNode, Nodes: nodes,
		Degree: 8, Bootstrap: "ssh", Cache: "hcmab"}, Begin: begin, End: at(12430), Failures: []report.Failure{}, Dead: []report.DeadHost{}, Phases: phases}
	r.Fill(c, name)
	text, err := r.Encode()
	require.NoError(t, err)
	return b.String(), string(text)
}

// Text returns a value as JSON.
func Text(t TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

// Read reads files, by name and content in turn.
func Read(t TB, files ...string) *page.Inputs {
	t.Helper()
	in := &page.Inputs{}
	for i := 0; i < len(files); i += 2 {
		require.NoError(t, in.Read(strings.NewReader(files[i+1]), files[i]))
	}
	return in
}

// Make returns the page of inputs.
func Make(t TB, in *page.Inputs, net *page.Network) *page.Page {
	t.Helper()
	p, err := page.Make(in, net)
	require.NoError(t, err)
	return p
}

// HTML returns a page's text.
func HTML(t TB, p *page.Page) []byte {
	t.Helper()
	text, err := p.HTML()
	require.NoError(t, err)
	return text
}

// Swept is output of golaunch netsim sweep.
const Swept = `[
{"algorithm":"recursive-doubling","ranks":64,"size_bytes":1024,"network":"torus:4x4x4","routes":"dimension order","order":"as given","startup_seconds":1e-06,"barrier":false,"stage_count":6,"total":{"messages":384,"bytes":393216,"messages_on_busiest_link":4,"bytes_on_busiest_link":4096,"model_seconds":8.1e-06,"simulated_end_seconds":7.4e-06}},
{"algorithm":"recursive-doubling","ranks":64,"size_bytes":65536,"network":"torus:4x4x4","routes":"dimension order","order":"as given","startup_seconds":1e-06,"barrier":false,"stage_count":6,"total":{"messages":384,"bytes":25165824,"messages_on_busiest_link":4,"bytes_on_busiest_link":262144,"model_seconds":0.000153,"simulated_end_seconds":0.000149}},
{"algorithm":"recursive-doubling","ranks":64,"size_bytes":1048576,"network":"torus:4x4x4","routes":"dimension order","order":"as given","startup_seconds":1e-06,"barrier":false,"stage_count":6,"total":{"messages":384,"bytes":402653184,"messages_on_busiest_link":4,"bytes_on_busiest_link":4194304,"model_seconds":0.00236}}
]`

// Stages is output of golaunch netsim run.
const Stages = `{"algorithm":"binomial","ranks":8,"size_bytes":65536,"network":"torus:2x2x2","routes":"dimension order","order":"as given","startup_seconds":1e-06,"barrier":false,"stage_count":3,
"stages":[{"messages":1,"bytes":65536,"messages_on_busiest_link":1,"bytes_on_busiest_link":65536,"model_seconds":1.7e-05,"simulated_end_seconds":1.7e-05},
{"messages":2,"bytes":131072,"messages_on_busiest_link":1,"bytes_on_busiest_link":65536,"model_seconds":1.7e-05,"simulated_end_seconds":3.4e-05},
{"messages":4,"bytes":262144,"messages_on_busiest_link":2,"bytes_on_busiest_link":131072,"model_seconds":3.3e-05,"simulated_end_seconds":6.6e-05}],
"total":{"messages":7,"bytes":458752,"messages_on_busiest_link":2,"bytes_on_busiest_link":131072,"model_seconds":6.7e-05,"simulated_end_seconds":6.6e-05}}`

// Connected is output of golaunch xrcsim.
const Connected = `{"format":"golaunch-xrcsim","version":1,"parameters":{"inside_node":"shared-memory","connect":"on-demand","queue_pair_bytes":65536,"receive_only_bytes":4096,"buffers":512,"buffer_bytes":8192,"dc_initiators":8},
"series":[{"transport":"rc","workload":"alltoall","ppn":8,"points":[
{"transport":"rc","workload":"alltoall","nodes":8,"ppn":8,"ranks":64,"peers":{"average":56,"minimum":56,"maximum":56},"queue_pairs":{"average":56,"minimum":56,"maximum":56},"receive_only_per_node":{"average":0,"minimum":0,"maximum":0},"hca_queue_pairs":{"average":456,"minimum":456,"maximum":456},"queue_pair_bytes_per_process":{"average":3670016,"minimum":3670016,"maximum":3670016},"bytes_per_process":{"average":7864320,"minimum":7864320,"maximum":7864320}},
{"transport":"rc","workload":"alltoall","nodes":64,"ppn":8,"ranks":512,"peers":{"average":504,"minimum":504,"maximum":504},"queue_pairs":{"average":504,"minimum":504,"maximum":504},"receive_only_per_node":{"average":0,"minimum":0,"maximum":0},"hca_queue_pairs":{"average":4040,"minimum":4040,"maximum":4040},"queue_pair_bytes_per_process":{"average":33030144,"minimum":33030144,"maximum":33030144},"bytes_per_process":{"average":37224448,"minimum":37224448,"maximum":37224448}}]},
{"transport":"xrc","workload":"alltoall","ppn":8,"points":[
{"transport":"xrc","workload":"alltoall","nodes":8,"ppn":8,"ranks":64,"peers":{"average":56,"minimum":56,"maximum":56},"queue_pairs":{"average":7,"minimum":7,"maximum":7},"receive_only_per_node":{"average":56,"minimum":56,"maximum":56},"hca_queue_pairs":{"average":120,"minimum":120,"maximum":120},"queue_pair_bytes_per_process":{"average":458752,"minimum":458752,"maximum":458752},"bytes_per_process":{"average":4680000,"minimum":4680000,"maximum":4680000}},
{"transport":"xrc","workload":"alltoall","nodes":64,"ppn":8,"ranks":512,"peers":{"average":504,"minimum":504,"maximum":504},"queue_pairs":{"average":63,"minimum":63,"maximum":63},"receive_only_per_node":{"average":504,"minimum":504,"maximum":504},"hca_queue_pairs":{"average":1016,"minimum":1016,"maximum":1016},"queue_pair_bytes_per_process":{"average":4128768,"minimum":4128768,"maximum":4128768},"bytes_per_process":{"average":8580000,"minimum":8580000,"maximum":8580000}}]}]}`
