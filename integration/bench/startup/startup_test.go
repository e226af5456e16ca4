package startup

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
)

func readings(ms ...int) (rs []reading) {
	for _, n := range ms {
		d := time.Duration(n) * time.Millisecond
		rs = append(rs, reading{wall: d, cpu: 2 * d, self: d / 10, spawn: d, init: d})
	}
	return rs
}

func TestMediansAndRatiosOfPairs(t *testing.T) {
	c := &contest{entries: []*entry{
		{name: "a", readings: readings(300, 100, 200)}, {name: "b", readings: readings(100, 100, 50)},
		{name: "bad", readings: readings(1), failed: "it broke"}, {name: "once", readings: readings(600)},
	}}
	require.InDelta(t, 200, c.median("a", wall), 1e-9)
	require.InDelta(t, 3, c.ratio("a", "b", wall), 1e-9, "of 3, 1 and 4")
	require.InDelta(t, 2, c.ratio("once", "a", wall), 1e-9, "of the rounds that both have")
	require.InDelta(t, 1.5, middle([]float64{2, 1}), 1e-9)
	require.Equal(t, 3, c.rounds())
	for _, none := range []float64{c.median("bad", wall), c.ratio("bad", "a", wall), c.median("nobody", wall), (*contest)(nil).median("a", wall)} {
		require.True(t, math.IsNaN(none))
	}
}

func TestCommandLine(t *testing.T) {
	s, err := parse(results.NewFlags("startup", "-nodes", "64,2,128", "-runs", "5", "-parts", "local,hard"))
	require.NoError(t, err)
	require.Equal(t, []int{2, 64, 128}, s.nodes)
	require.Equal(t, 64, s.most(100))
	require.Equal(t, 16, s.pmiRanks())
	require.True(t, s.wants(partHard) && !s.wants(partNodes, partPMI))
	for _, bad := range [][]string{{"-nodes", "x"}, {"-nodes", "0"}, {"-runs", "0"}, {"-hardruns", "0"}, {"stray"}, {"-parts", "all"}} {
		_, err := parse(results.NewFlags("startup", bad...))
		require.Error(t, err, "%q", bad)
	}
}

// The outputs are those of each launcher for two ranks on each of two hosts.
func TestHostsAreCounted(t *testing.T) {
	for launcher, out := range map[string]string{
		"golaunch": "n001\nn002\nn002\nn001\n",
		"pdsh":     "n002: n002\nn002: n002\nn001: n001\nn001: n001\n",
		"TakTuk": "n002-2: i=0; while (90): output > n002\nn002-2: i=0; while (90): output > n002\n" +
			"n002-2: i=0; while (90): status > Exited with status 0\n" +
			"n001-1: i=0; while (91): output > n001\nn001-1: i=0; while (91): output > n001\nn001-1: i=0; while (91): status > Exited with status 0\n",
	} {
		require.Equal(t, 2, lastWords(out)["n001"], launcher)
		require.Equal(t, 2, lastWords(out)["n002"], launcher)
	}
	require.NoError(t, taktukEnded("a: status > Exited with status 0\nb: status > Exited with status 0\n", 2))
	require.Error(t, taktukEnded("a: status > Exited with status 0\nb: status > Exited with status 1\n", 2))
}

func TestCommandsForHosts(t *testing.T) {
	require.Equal(t, "/bin/true", loop(trueProgram, 1))
	require.Equal(t, "i=0; while [ $i -lt 4 ]; do /bin/true || exit; i=$((i+1)); done", loop(trueProgram, 4))
	f := &field{dir: t.TempDir()}
	text, err := os.ReadFile(f.topology(8))
	require.NoError(t, err)
	require.Equal(t, "[routes]\nhead: n001,n002,n003\nn001,n002,n003: n004,n005,n006,n007,n008\n", string(text))
	require.Equal(t, []int{10, 30, 50}, pick(64, 20, 10))
}

func TestReadStart(t *testing.T) {
	begun := time.Unix(100, 0)
	var r reading
	require.NoError(t, readStart("100.250000 100.300000\n", begun, &r))
	require.InDelta(t, 250, spawn(r), 0.001)
	require.InDelta(t, 50, inits(r), 0.001)
	for _, bad := range []string{"", "x", "99.0 100.0", "101.0 100.5"} {
		require.Error(t, readStart(bad, begun, &r), bad)
	}
}

func TestReadExchange(t *testing.T) {
	var r reading
	look := exchangeOf(task{nodes: 2, ppn: 1})
	require.NoError(t, look("rank 1 times 3000000 3100000 5000000 9000000\nrank 0 times 2000000 2100000 5000000 6000000\n", time.Time{}, &r))
	require.InDelta(t, 7, inits(r), 1e-9, "from the first begin to the last end")
	for _, bad := range []string{"", "rank 0 times 1 2 3 4\n", "rank 0 of 2 ok\n", "rank 0 times 1 2 3 4\nrank 0 times 1 2 3 4\n"} {
		require.Error(t, look(bad, time.Time{}, &r), "%q", bad)
	}
}

func TestPageOfAllocations(t *testing.T) {
	s, err := parse(results.NewFlags("startup", "-provider", "slurm"))
	require.NoError(t, err)
	require.Equal(t, []int{64}, s.nodes)
	require.Equal(t, []int{1, 16}, s.ranks)
	b := newBook(s)
	b.head = []string{"2 cores"}
	for _, program := range []string{"true", twoGets} {
		b.contests = append(b.contests, &contest{place{partSlurm, cluster.KexDefault, 64, 16, program}, []*entry{
			{name: stepName, readings: readings(50)}, {name: golaunchName, readings: readings(100, 200)}, {name: pmi2Name, readings: readings(150, 100)}, {name: sshName, failed: "refused"},
		}})
	}
	text := b.page()
	for _, want := range []string{
		"| 64 × 16, true | 50 | 150 | 125 | – [1] |", "| 64 × 16, true | 0.50 | 1.00 | – [1] |",
		"Exchange, ms:\n\n| nodes × ranks, program | golaunch | srun, PMI-2 | golaunch, ssh |", "1. golaunch, ssh: refused\n",
	} {
		require.Contains(t, text, want)
	}
	require.ErrorContains(t, b.failed(), "refused")
}

func TestReadReport(t *testing.T) {
	text := `{"begin": "1970-01-01T00:01:40Z", "job": {"degree": 8},
		"phases": [{"phase": "resolve", "end": "1970-01-01T00:01:40.010Z"}, {"phase": "tree down", "end": "1970-01-01T00:01:41Z"}],
		"levels": [
			{"sum": {"agent": {"cpu_seconds": 0.5}, "streams": {"kvs": {"sent": {"messages": 3, "bytes": 300}}}}},
			{"sum": {"agent": {"cpu_seconds": 0.25}, "streams": {"kvs": {"sent": {"messages": 4, "bytes": 40}}}}}],
		"ranks": [{"start": "1970-01-01T00:01:40.300Z"}, {"start": "1970-01-01T00:01:40.200Z"}]}`
	row, err := readReport([]byte(text), "100.3 100.4\n")
	require.NoError(t, err)
	require.Equal(t, 8, row.degree)
	require.InDelta(t, 0.75, row.agentCPU, 1e-9)
	require.Equal(t, uint64(7), row.sent[1].Messages)
	require.Equal(t, uint64(340), row.sent[1].Bytes)
	for phase, ms := range map[string]float64{"resolve": 10, firstRank: 200, lastRank: 300, exchanged: 400, "tree down": 1000} {
		require.InDelta(t, ms, row.over[phase], 0.01, phase)
	}
	_, err = readReport([]byte(strings.Replace(text, `"1970-01-01T00:01:40.200Z"`, "null", 1)), "100.3 100.4\n")
	require.ErrorContains(t, err, "not started")
}

func TestFootprintLines(t *testing.T) {
	status := "Name:\tgolaunch\nVmHWM:\t    1024 kB\nVmRSS:\t     512 kB\n"
	require.EqualValues(t, 1<<20, kilobytes(status, "VmHWM:"))
	require.Zero(t, kilobytes(status, "Pss:"))
}

func TestBusyCores(t *testing.T) {
	d, err := busy("cpu  100 0 20 5000 300 1 2 3 0 0\ncpu0 1 2 3\n")
	require.NoError(t, err)
	require.Equal(t, 1260*time.Millisecond, d)
	for _, bad := range []string{"", "cpu 1 2", "cpu a b c d e f g h"} {
		_, err := busy(bad)
		require.Error(t, err, bad)
	}
}

func TestFailureIsOneLine(t *testing.T) {
	err := failure(t.Context(), errors.New("exit status 1"), time.Minute, "  two\n lines "+strings.Repeat("x", 500))
	require.ErrorContains(t, err, "exit status 1: two lines xxx")
	require.Less(t, len(err.Error()), 300)
	require.EqualError(t, failure(t.Context(), errors.New("exit status 1"), time.Minute, ""), "exit status 1")
}

// fullBook has something in every part.
func fullBook(t *testing.T) *book {
	s, err := parse(results.NewFlags("startup", "-nodes", "32,64,128", "-o", t.TempDir()+"/startup.md"))
	require.NoError(t, err)
	b := newBook(s)
	b.head = []string{"2 cores", "sshd 9"}
	add := func(p place, entries ...*entry) { b.contests = append(b.contests, &contest{p, entries}) }
	three := func(scale int) []*entry {
		return []*entry{
			{name: floorName, readings: readings(80*scale, 80*scale)}, {name: golaunchName, readings: readings(100*scale, 100*scale)},
			{name: hydraName, readings: readings(400*scale, 300*scale)}, {name: pdshName, readings: readings(250*scale, 250*scale)},
			{name: srunName, failed: "no slurmd"},
		}
	}
	for _, kex := range []string{cluster.KexDefault, cluster.KexCurve25519} {
		for i, n := range s.nodes {
			add(place{partNodes, kex, n, 1, "true"}, three(i+1)...)
		}
		add(place{partRanks, kex, 64, 16, "true"}, three(4)...)
	}
	for i, n := range []int{512, 4096} {
		add(place{part: partLocal, ppn: n, program: "true"}, three(1+7*i)...)
	}
	add(place{partPMI, cluster.KexDefault, 64, 16, twoGets}, three(1)...)
	add(place{partPMI, cluster.KexDefault, 64, 16, allGets}, three(10)...)
	for i, hosts := range []string{clean, slowHosts, deadHosts} {
		add(place{partHard, cluster.KexDefault, 128, 1, hosts}, &entry{name: golaunchName, readings: readings(1000 + 1100*i)})
	}
	for _, c := range []int{1, 16} {
		add(place{partTable, cluster.KexDefault, 16, c, "true"},
			&entry{name: golaunchName, readings: readings(100 + 8*(c-1))}, &entry{name: perRankName, readings: readings(80 * c)})
	}
	add(place{partFigures, cluster.KexDefault, 2, 8, "pmistart"}, three(1)...)
	b.phases = []phaseRow{{nodes: 64, ppn: 1, degree: 8, over: map[string]float64{"resolve": 3, exchanged: 5}}}
	b.memory = []memoryRow{{nodes: 1, ppn: 1}, {nodes: 64, ppn: 1, agent: footprint{descriptors: 20}},
		{nodes: 64, ppn: 64, node: 16e6, nodeOnce: 12e6, launcher: footprint{peak: 9e6}, agent: footprint{descriptors: 20 + 63*3}}}
	b.stopped = []string{"the rest of part memory: gone"}
	b.refusals = &refusals{nodes: 64, failed: 1, times: []float64{10, 30, 20}}
	return b
}

// A run that is interrupted leaves the page of the last one alone, and tells the path
// of its own.
func TestAnInterruptedRunLeavesThePage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "startup.md")
	require.NoError(t, os.WriteFile(file, []byte("the last run's"), 0o600))
	s := fullBook(t).settings
	s.Out = file
	broken := errors.New("no cluster")
	require.NoError(t, results.Write(results.Partial(file), "an earlier run's, which was interrupted"))
	b, err := newBench(s)
	require.NoError(t, err)
	require.EqualError(t, results.Left(b.final, broken), "no cluster", "nothing is there of this run")
	s = b.settings
	b.book = fullBook(t)
	b.book.settings = s
	require.NoError(t, b.save())
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "the last run's", string(text))
	require.EqualError(t, results.Left(b.final, broken), "no cluster: what came of it is in "+b.Out)
	require.NoError(t, b.finish())
	text, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(text), "plots/startup-local.svg")
	require.FileExists(t, filepath.Join(filepath.Dir(file), b.book.plotName("local")))
	require.NoDirExists(t, file+".partial")
}

func TestPageTellsAll(t *testing.T) {
	b := fullBook(t)
	text := b.page()
	for _, want := range []string{
		"bin/bench startup -nodes 32,64,128 -o ",
		"| 64 × 1 | 160 | 200 | 700 | 500 | – [1] |", // medians, and a rival that is not there
		"| 64 × 1 | 0.80 | 3.50 | 2.50 | – [1] |",    // ratios to golaunch
		"1. srun: no slurmd\n", "**Failed**: the rest of part memory: gone\n", "Rounds, row by row: 2, 2, 2.\n",
		"| two gets | 80 | 100 | 350 | 250 |",
		"| and 1 % refuse connections | 3200 |",
		"on 64 nodes that are all well: 3, of which 1 failed; median 20 ms",
		"T_conn + T_launch = 10.0 ms", "T_nla = 12.5 ms", "T_launch = 1.00 ms",
		"| 64 × 1 | 8 | 3 | 5 |",
		"| 64 × 64 | 9.0 |",
		"plots/startup-nodes-default.svg", "plots/startup-local.svg", "plots/startup-table-2.1.svg",
	} {
		require.Contains(t, text, want)
	}
	require.NoError(t, b.plots())
	for _, name := range []string{"nodes-default", "cpu-curve25519", "ranks-default", "local", "table-2.1", "figure-2.5-spawn"} {
		require.FileExists(t, strings.TrimSuffix(b.settings.Out, "startup.md")+b.plotName(name))
	}
	require.ErrorContains(t, b.failed(), "1 of 3 starts")
	require.ErrorContains(t, b.failed(), "part memory: gone")
}

// The pages of containers and of allocations tell the key exchange's cost apart.
func TestKeyExchangesAreToldApart(t *testing.T) {
	for provider, want := range map[string][]string{
		cluster.Docker: {"## Containers over SSH, OpenSSH's default key exchange (nodes)", "## Containers over SSH, curve25519 (nodes)", "| 16 × 1 | 300 | 700 |", "| 16 × 1 | 250 | 400 |"},
		allocated:      {"## The key exchange of ssh", "| 16 × 1, default | 300 | 700 |", "| 16 × 1, curve25519 | 250 | 400 |"},
	} {
		s, err := parse(results.NewFlags("startup", "-provider", provider))
		require.NoError(t, err)
		b := newBook(s)
		b.head = []string{"2 cores"}
		part, program, mine, rival := partNodes, "true", golaunchName, hydraName
		if provider == allocated {
			part, program, mine, rival = partSlurm, overSSH, sshName, hydraSSH
		}
		for kex, took := range map[string][2]int{cluster.KexDefault: {300, 700}, cluster.KexCurve25519: {250, 400}} {
			b.contests = append(b.contests, &contest{place{part, kex, 16, 1, program},
				[]*entry{{name: mine, readings: readings(took[0])}, {name: rival, readings: readings(took[1])}}})
		}
		text := b.page()
		for _, line := range want {
			require.Contains(t, text, line, provider)
		}
	}
}

func TestClaimsAreComputed(t *testing.T) {
	text := fullBook(t).page()
	for _, want := range []string{
		"| /bin/true, 64 × 1, default: faster than Hydra | ≥ 3 × | 3.50 × | yes |",
		"closest is pdsh | ≥ 1 × | 2.50 × | yes |",
		"| /bin/true, 64 × 16, curve25519: CPU by the floor's | ≤ 1.35 | 1.25 | yes |",
		"| one machine, 4096 ranks: faster than Hydra | ≥ 8 × | 3.50 × | **no** |",
		"| ≤ 1.15 | 1.25 | **no** |", // (1000-100)/(800-80)
		"| 128 nodes, 5 % answer 2 s late: 2 s + 1.3 × the clean run | ≤ 3300 ms | 2100 ms | yes |",
		"| 128 nodes, and 1 % drop packets instead: 2 s + 1.3 × the clean run | ≤ 3300 ms | not measured | – |",
		"| MaxStartups 10:30:100: failures of 3 starts | ≤ 0 | 1 | **no** |",
		"counted twice | ≤ 15 MB | 16 MB | **no** |", "counted once | ≤ 15 MB | 12 MB | yes |",
		"from 1 to 64 | ≤ 4 | 3 | yes |",
		"from 32 to 128, signatures for ssh included | ≤ 50 µs | 208 µs | **no** |",
	} {
		require.Contains(t, text, want)
	}
	empty := newBook(fullBook(t).settings)
	empty.head = []string{"2 cores"}
	require.NotContains(t, empty.page(), "| yes |")
	require.Contains(t, empty.page(), "not measured")
}

func TestRounds(t *testing.T) {
	s := settings{Frame: results.Frame{Runs: 3}, budget: time.Minute}
	for _, x := range []struct {
		r     runner
		spent time.Duration
		want  int
	}{
		{runner{}, 0, 3},
		{runner{}, 2 * time.Minute, 1},
		{runner{once: true}, 0, 1},
		{runner{least: 5}, 2 * time.Minute, 5},
		{runner{least: 2}, 0, 3},
	} {
		rounds := 0
		for s.again(x.r, rounds, x.spent) {
			rounds++
		}
		require.Equal(t, x.want, rounds, "%+v", x)
	}
}

func TestSlowContendersAreNotTriedOnMore(t *testing.T) {
	b := &bench{settings: settings{limit: time.Minute}, book: newBook(settings{})}
	b.book.contests = []*contest{{place{part: partLocal, ppn: 4096, program: "true"},
		[]*entry{{name: hydraName, readings: readings(18000)}, {name: openMPIName, readings: readings(7000)}, {name: golaunchName, readings: readings(18000)}}}}
	next := place{part: partLocal, ppn: 8192, program: "true"}
	require.Equal(t, "not tried: 4096 ranks took 18 s", b.slow(next, runner{name: hydraName}))
	require.Empty(t, b.slow(next, runner{name: openMPIName}), "28 s")
	require.Empty(t, b.slow(next, runner{name: golaunchName}))
	require.Empty(t, b.slow(next, runner{name: hydraName, limit: time.Minute}))
	b.book.contests[0].entries[1].failed = "no end within 1m0s"
	require.Equal(t, "not tried: 4096 ranks did not end in time", b.slow(next, runner{name: openMPIName}))
	b.book.contests = append(b.book.contests, &contest{place{part: partNodes, nodes: 64, ppn: 1}, []*entry{{name: taktukName, readings: readings(16000)}}})
	require.Empty(t, b.slow(place{part: partNodes, nodes: 256, ppn: 1}, runner{name: taktukName}), "over nodes time grows as their number at most")
	require.Empty(t, b.slow(place{part: partLocal, ppn: 512, program: "true"}, runner{name: hydraName}), "fewer ranks")
}

// Rows of OpenSSH 10 stand beside the others; where it is not there, they say so, and that is
// no failure of golaunch's.
func TestPageOfKeyExchanges(t *testing.T) {
	s, err := parse(results.NewFlags("startup", "-parts", "kex", "-nodes", "16,64", "-ranks", "16"))
	require.NoError(t, err)
	b, err := newBench(s)
	require.NoError(t, err)
	b.book.head = []string{"2 cores"}
	require.Equal(t, []task{{16, 4, trueProgram}, {64, 16, trueProgram}}, b.kexTasks())
	for kex, took := range map[string][2]int{cluster.KexDefault: {300, 700}, cluster.KexCurve25519: {250, 400}} {
		for _, k := range b.kexTasks() {
			b.book.contests = append(b.book.contests, &contest{place{partKex, kex, k.nodes, k.ppn, "true"},
				[]*entry{{name: golaunchName, readings: readings(took[0])}, {name: hydraName, readings: readings(took[1])}}})
		}
	}
	require.NoError(t, b.lackOpenSSH10(errors.New("no OpenSSH 10 in .cache")))
	require.NoError(t, b.book.failed())
	text := b.book.page()
	require.Contains(t, text, "| 16 × 4, default | 300 | 700 |\n| 16 × 4, curve25519 | 250 | 400 |\n| 16 × 4, openssh10 | – [1] | – [2] |\n| 64 × 16, default |")
	require.Contains(t, text, "1. golaunch: not over OpenSSH 10: no OpenSSH 10 in .cache\n")
}
