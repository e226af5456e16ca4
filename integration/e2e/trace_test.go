package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/internal/report"
)

// jobTrace is the trace of --trace, with the nodes' names.
type jobTrace struct {
	report.TraceJSON
	names  map[int]string
	within map[string]float64
}

func readTrace(t *testing.T, path string) jobTrace {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, fs.FileMode(0o600), info.Mode())
	doc := jobTrace{names: map[int]string{}, within: map[string]float64{}}
	strict := json.NewDecoder(bytes.NewReader(text)) // the schema is that of the Go types
	strict.DisallowUnknownFields()
	require.NoError(t, strict.Decode(&doc.TraceJSON), "%s", text)
	require.Equal(t, report.TraceVersion, doc.Other.Schema)
	for _, c := range doc.Other.Clocks {
		doc.within[c.Host] = c.Within
	}
	for _, e := range doc.Events {
		if e.Kind == "M" && e.Name == "process_name" {
			doc.names[e.Node] = e.Args["name"].(string)
		}
	}
	doc.nests(t)
	return doc
}

// nests checks that spans of one row that overlap lie in each other.
func (d jobTrace) nests(t *testing.T) {
	t.Helper()
	type row struct{ node, row int }
	open := map[row][]float64{}
	for _, e := range d.Events {
		require.Contains(t, []string{"M", "X"}, e.Kind)
		if e.Kind == "M" {
			continue
		}
		r, end := row{e.Node, e.Row}, e.At+e.For
		for n := len(open[r]); n > 0 && open[r][n-1] <= e.At+rounding; n-- {
			open[r] = open[r][:n-1]
		}
		if n := len(open[r]); n > 0 {
			require.LessOrEqual(t, end, open[r][n-1]+rounding, "%s of %s", e.Name, d.names[e.Node])
		}
		open[r] = append(open[r], end)
	}
}

// rounding is the loss of times written, or sent, as microseconds.
const rounding = 2

// spans are those of a name on a node.
func (d jobTrace) spans(node, name string) (found []report.TraceSpan) {
	for _, e := range d.Events {
		if e.Kind == "X" && d.names[e.Node] == node && e.Name == name {
			found = append(found, e)
		}
	}
	return found
}

func (d jobTrace) span(t *testing.T, node, name string) report.TraceSpan {
	t.Helper()
	found := d.spans(node, name)
	require.Len(t, found, 1, "%s of %s", name, node)
	return found[0]
}

// start is the try that succeeded; on a busy machine there may be others.
func (d jobTrace) start(t *testing.T, parent, host string) report.TraceSpan {
	t.Helper()
	found := slices.DeleteFunc(d.spans(parent, "start "+host), func(e report.TraceSpan) bool { return e.Args["error"] != nil })
	require.NotEmpty(t, found, "start %s of %s", host, parent)
	return found[len(found)-1]
}

// causal checks of every node that what comes before on one node comes before
// on the other, as far as their clocks are known.
func (d jobTrace) causal(t *testing.T, hosts []string) {
	t.Helper()
	require.ElementsMatch(t, hosts, slices.Collect(maps.Keys(d.within)), "every node appears")
	require.Len(t, d.names, 1+len(hosts), "and the launcher")
	for _, c := range d.Other.Clocks {
		require.True(t, c.Known)
		require.LessOrEqual(t, max(c.First, -c.First, c.Last, -c.Last), c.Within+rounding, "%s has the launcher's clock", c.Host)
		parent := c.Parent
		if parent == "" {
			parent = "golaunch"
		}
		before := func(x, y float64, order string) {
			t.Helper()
			require.LessOrEqual(t, x, y+d.within[c.Host]+d.within[c.Parent]+rounding, "%s and %s: %s", parent, c.Host, order)
		}
		start := d.start(t, parent, c.Host)
		agent, up := d.span(t, c.Host, "agent"), d.span(t, c.Host, "agent up")
		before(start.At, agent.At, "its start begins before the agent")
		before(up.At, start.At+start.For, "and ends after its hello is on its way")
		before(start.At+start.For, end(d.span(t, c.Host, "range received")), "the range comes after the hello")
		if c.Parent == "" {
			before(end(d.span(t, c.Host, "ranks ended")), end(d.span(t, "golaunch", "ranks ended")), "ends are reported")
			continue
		}
		before(end(d.span(t, c.Host, "subtree up")), end(d.span(t, c.Parent, "subtree up")), "a subtree is up before the whole")
		before(end(d.span(t, c.Parent, "launch received")), end(d.span(t, c.Host, "launch received")), "the launch comes down")
		for _, f := range d.spans(c.Host, "fence 1") {
			for _, above := range d.spans(c.Parent, "fence 1") {
				before(f.At, end(above), "nobody is let go before all have entered")
				before(above.At, end(f), "nobody is let go before all have entered")
			}
		}
	}
}

func end(e report.TraceSpan) float64 { return e.At + e.For }

func TestTraceOfATree(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.json")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
	r := local(t, "", "--trace", path, "-n", "14", "--nodes", "7", "--degree", "2", bin("pmiclient"), "-q")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stdout)
	d := readTrace(t, path)
	var hosts []string
	for _, c := range d.Other.Clocks {
		hosts = append(hosts, c.Host)
	}
	require.Len(t, hosts, 7)
	d.causal(t, hosts)
	for _, name := range []string{"resolve", "connect", "agents up", "launch sent", "ranks started", "ranks ended", "output drained", "tree down"} {
		d.span(t, "golaunch", name)
	}
	for _, h := range hosts {
		for _, name := range []string{"agent up", "range received", "subtree up", "launch received", "ranks started", "ranks ended", "start warden", "fence 1", "fence 2"} {
			d.span(t, h, name)
		}
		require.Equal(t, map[string]any{"count": 2.0}, d.span(t, h, "spawn ranks").Args)
		require.Equal(t, map[string]any{"count": 2.0}, d.span(t, h, "exits").Args)
		require.LessOrEqual(t, d.span(t, h, "spawn ranks").At, d.span(t, h, "fence 1").At)
		require.Empty(t, d.spans(h, "rank 0"), "records of ranks stay where they are")
	}
}

// With --report ranks are drawn, too; a job that fails is traced as well.
func TestTraceOfAFailure(t *testing.T) {
	dir := t.TempDir()
	r := local(t, "", "--trace", dir+"/t", "--report", dir+"/r", "-n", "4", "--nodes", "2", "--keep-going", "sh", "-c", `[ $RANK = 2 ] && exit 3; true`)
	require.Equal(t, 3, r.code, r.stderr)
	d, doc := readTrace(t, dir+"/t"), readReport(t, dir+"/r")
	for i, k := range doc.Ranks {
		require.EqualValues(t, k.PID, d.span(t, k.Host, fmt.Sprint("rank ", i)).Args["pid"])
	}
	require.EqualValues(t, 3, d.span(t, doc.Ranks[2].Host, "rank 2").Args["exit code"])

	r = local(t, "", "--trace", "/nowhere/at/all", "-n", "1", "echo", "ran")
	require.Equal(t, 2, r.code)
	require.Empty(t, r.stdout)
	require.Contains(t, r.stderr, "--trace: open /nowhere/at/all: no such file or directory")
}

// The fences of spawned worlds have rows of their own; one that is spawned on hosts
// without an agent has that agent in the trace.
func TestTraceOfSpawns(t *testing.T) {
	host, err := os.Hostname()
	require.NoError(t, err)
	path, client := filepath.Join(t.TempDir(), "trace.json"), bin("spawnclient")
	r := local(t, "", "--trace", path, "-n", "1", "--nodes", "4", "--degree", "2", client, "-t", "2", "2", "host="+host+".2", "--", client)
	require.Zero(t, r.code, r.stderr)
	d := readTrace(t, path)
	require.ElementsMatch(t, []string{host + ".0", host + ".2"}, slices.Collect(maps.Keys(d.within)))
	rows := map[string]int{}
	for _, e := range d.Events {
		if e.Kind == "M" && d.names[e.Node] == host+".2" && e.Name == "thread_name" {
			rows[e.Args["name"].(string)] = e.Row
		}
	}
	fences := d.spans(host+".2", "fence 1")
	require.Len(t, fences, 2)
	// The second world does not wait for the first one's fence.
	require.ElementsMatch(t, []int{rows["PMI of world 1"], rows["PMI of world 2"]}, []int{fences[0].Row, fences[1].Row})
	require.Empty(t, d.spans(host+".2", "spawn ranks"), "of the first world")
	require.Equal(t, map[string]any{"count": 1.0}, d.span(t, host+".0", "spawn ranks").Args)
	require.NotZero(t, d.start(t, host+".0", host+".2").For)
}

// Over SSH each start has its steps, of which the one that takes long shows, and
// a host that is dead is there with the reason, though nothing was run.
func TestTraceOverSSH(t *testing.T) {
	t.Parallel()
	c := ownCluster(t, 5)
	const slow = time.Second
	require.NoError(t, c.Slow("n004", slow)) // its sshd says nothing for so long
	path := bin("trace.json")
	t.Cleanup(func() { os.Remove(path) })
	args := []string{"-H", "n[001-005]", "--ssh-config", c.SSHConfig(), "--degree", "2", "--copy-agent", "--trace", path, "-N", "2", bin("pmiclient"), "-q"}
	r := onNode(t, c, cluster.Head, args...)
	require.Zero(t, r.code, r.stderr)
	d := readTrace(t, path)
	d.causal(t, firstNodes(c, 5))
	for _, x := range d.Other.Clocks {
		parent := x.Parent
		if parent == "" {
			parent = "golaunch"
		}
		start, last, connect := d.start(t, parent, x.Host), 0.0, 0.0
		for _, step := range []string{"wait for a place", "connect", "host key", "authenticate", "run command", "stage agent", "agent hello"} {
			steps := slices.DeleteFunc(d.spans(parent, step), func(e report.TraceSpan) bool { return e.Row != start.Row || e.At < start.At })
			require.Len(t, steps, 1, "%s of %s", step, x.Host)
			require.LessOrEqual(t, last, steps[0].At+rounding, "%s of %s comes in its turn", step, x.Host)
			last = end(steps[0])
			if step == "connect" {
				connect = steps[0].At
			}
			if x.Host == "n004" && step == "host key" {
				require.GreaterOrEqual(t, last-connect, float64(slow.Microseconds()), "its sshd waits")
				require.GreaterOrEqual(t, steps[0].For, float64(slow.Microseconds()/4), "and here is where, but for what it took to come from the step before")
			}
		}
		require.LessOrEqual(t, last, end(start)+rounding)
	}

	args[1] = "n001,nowhere,n[002-003]"
	r = onNode(t, c, cluster.Head, args...)
	require.Equal(t, 125, r.code)
	d = readTrace(t, path)
	dead := slices.Concat(d.spans("n001", "start nowhere"), d.spans("golaunch", "start nowhere")) // the latter if n001 took long
	require.NotEmpty(t, dead)
	require.Contains(t, dead[0].Args["error"], "resolve")
	require.ElementsMatch(t, []string{"n001", "n002", "n003"}, slices.Collect(maps.Keys(d.within)), "those that live are there")
	require.Empty(t, d.spans("n001", "launch received"))
}
