package chaos

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/results"
	"github.com/golaunch/golaunch/integration/programs"
	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/internal/unix"
)

// TestChaos is a minute of the command. The command tells how soon things are gone, and
// the number of jobs in a minute: this machine may be busy, and a single blow may take
// bearTime.
func TestChaos(t *testing.T) {
	if err := cluster.Unavailable(); err != nil {
		t.Skipf("skipped: no test cluster here: %v", err)
	}
	bin, err := programs.Make()
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(bin) })
	s := settings{time: time.Minute, seed: rand.Uint64() >> 32, nodes: 6, limits: limits{hang: 3 * time.Minute, left: time.Minute}, tell: t.Logf}
	counted, err := s.chaos(t.Context(), filepath.Join(bin, "golaunch"), "", bin, bin)
	require.NoError(t, err)
	require.NoError(t, counted.err(), "seed %d", s.seed)
	require.Positive(t, counted.jobs)
}

// paper is a place where nothing runs, but everything is.
func paper(t *testing.T) place {
	p := place{nodes: []string{"n001", "n002", "n003"}, sshConfig: "config", golaunch: "golaunch", race: "golaunch-race", native: "/native", dir: "/dir"}
	require.NoError(t, p.survey(func(string) bool { return true }, nil))
	require.Empty(t, p.lacks)
	return p
}

func TestDrawsAreTheSame(t *testing.T) {
	p := paper(t)
	race, seen, kinds, commands := 0, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for n := range 2000 {
		d := p.draw(7, n)
		require.Equal(t, d.String(), p.draw(7, n).String())
		commands[d.String()] = true
		if d.race {
			race++
		}
		for _, b := range d.blows {
			seen[b.name] = true
			require.True(t, b.of == nil || b.of(d), "%v", d)
		}
		for _, k := range d.kindsOf() {
			kinds[k] = true
		}
	}
	require.Greater(t, len(commands), 1980)
	require.InDelta(t, 1000, race, 200)
	require.Len(t, seen, len(faults))
	require.Len(t, kinds, len(jobKinds)+len(ways))
	require.NotEqual(t, p.draw(8, 1).String(), p.draw(7, 1).String())
}

// No job is one that golaunch refuses: flags that exclude each other, programs that
// would not find their libraries as a copy.
func TestDrawsAreJobs(t *testing.T) {
	p := paper(t)
	for n := range 2000 {
		d := p.draw(3, n)
		if d.has("--pty") {
			require.False(t, d.has("--label") || d.has("--restarts"), "%v", d)
		}
		require.False(t, d.has("--spares") && len(d.hosts) == 1, "%v", d)
		if i := slices.Index(d.argv, d.program.argv[0]); d.has("--stage") && d.argv[i-1] == "--stage" {
			require.Contains(t, []string{"no MPI", "PMI"}, d.kind)
			require.NotEqual(t, 127, d.program.code)
		}
		staged := map[string]bool{}
		for i, word := range d.argv {
			if word == "--stage" {
				require.False(t, staged[d.argv[i+1]], "%v", d)
				staged[d.argv[i+1]] = true
			}
		}
		if d.has("--profile") {
			require.Contains(t, []string{"MPICH", "Open MPI 4"}, d.kind)
		}
	}
}

// Programs that a machine lacks are named, and drawn by no job.
func TestSurvey(t *testing.T) {
	p := place{native: "/native", nodes: []string{"n001"}}
	there := func(program string) bool { return program != "mpidie.openmpi5" }
	require.NoError(t, p.survey(there, errors.New("no controller")))
	require.Equal(t, []string{
		`jobs of kind "PMIx, Open MPI 5", as there is no mpidie.openmpi5 (scripts/openmpi5.sh, make native)`,
		`blow "memory short from the start": no controller`, `blow "memory short": no controller`, `blow "memory taken, the kernel kills": no controller`,
	}, p.lacks)
	for n := range 1000 {
		d := p.draw(1, n)
		require.NotContains(t, d.kind, "Open MPI 5")
		for _, b := range d.blows {
			require.False(t, b.memory)
		}
	}
	none := func(string) bool { return false }
	require.ErrorContains(t, new(place).survey(none, nil), "make native")
}

func blowOf(t *testing.T, name, node string) blow {
	for i := range faults {
		if faults[i].name == name {
			return blow{fault: &faults[i], node: node}
		}
	}
	t.Fatalf("no blow %q", name)
	return blow{}
}

func TestJudge(t *testing.T) {
	agent := []blow{blowOf(t, "kill -9 of an agent", "n002")}
	early := []blow{agent[0]}
	early[0].early = true
	memory := []blow{blowOf(t, "memory short", "n002")}
	again := func(hosts ...string) drawn {
		return drawn{hosts: hosts, argv: []string{"golaunch", "--restarts", "1", "-n", "4", "x"}, program: program{endless: true}}
	}
	const lostN002 = "golaunch: host n002: running: lost\n"
	for _, x := range []struct {
		name    string
		o       outcome
		endless bool
		found   string // the kind; "" for nothing
	}{
		{name: "all went well"},
		{name: "it failed, and nothing had happened", o: outcome{code: 125, stderr: "golaunch: host n002: running: lost\n"}, found: "wrong codes"},
		{name: "the culprit is named", o: outcome{code: 125, struck: agent, stderr: "golaunch: host n002: running: lost\n"}},
		{name: "in a list", o: outcome{code: 125, struck: agent, stderr: "golaunch: 1 of 2 hosts could not be started:\ngolaunch:   host n002: connect: x\n"}},
		{name: "by another host's word", o: outcome{code: 125, struck: agent, stderr: "golaunch: host n001: host n002: lost: it broke: the PMIx fence that others wait in cannot complete\n"}},
		{name: "it is not", o: outcome{code: 125, struck: agent, stderr: "golaunch: something was lost\n"}, found: "unnamed culprits"},
		{name: "another is", o: outcome{code: 125, struck: agent, stderr: "golaunch: host n001: running: lost\ngolaunch: then host n002: lost\n"}, found: "unnamed culprits"},
		{name: "the ranks' words do not count", o: outcome{code: 125, struck: agent, stderr: "n002\n"}, found: "unnamed culprits"},
		{name: "another is waited for", o: outcome{code: 125, struck: agent,
			stderr: "golaunch: host n001: ssh has said nothing yet: waiting up to 4s for it (--connect-timeout)\ngolaunch: host n002: lost\n"}},
		{name: "another status", o: outcome{code: 137, struck: agent}, found: "wrong codes"},
		{name: "it went on", o: outcome{code: 0, struck: agent}},
		{name: "a failing job ends with 0", o: outcome{drawn: drawn{program: program{code: 7}}, struck: agent}, found: "wrong codes"},
		{name: "an endless job was ended", o: outcome{code: 143, termed: true}, endless: true},
		{name: "an endless job ends", endless: true, found: "wrong codes"},
		{name: "a rank was killed", o: outcome{code: 137, struck: []blow{blowOf(t, "kill -9 of a rank", "n002")}, stderr: "golaunch: rank 3 on n002 was killed\n"}},
		{name: "golaunch was killed", o: outcome{code: 137, struck: []blow{blowOf(t, "kill -9 of golaunch", "n002")}}},
		{name: "golaunch was stopped, and took the root for lost", o: outcome{code: 0, struck: []blow{blowOf(t, "SIGSTOP and SIGCONT of golaunch", "n002")},
			stderr: "golaunch: 1 of 2 hosts could not be started:\ngolaunch:   host n001: agent hello: link lost\n"}},
		{name: "it crashed", o: outcome{code: 125, struck: agent, stderr: "golaunch: host n002: lost; it said: panic: nil\n"}, found: "panics"},
		{name: "it starts again", endless: true, o: outcome{drawn: again("n001", "n002"), code: 143, termed: true, struck: agent, stderr: lostN002}},
		{name: "it does not start again", endless: true, o: outcome{drawn: again("n001", "n002"), code: 125, struck: agent, stderr: lostN002}, found: "wrong codes"},
		{name: "nor with no other host", endless: true, o: outcome{drawn: again("n002"), code: 125, struck: agent, stderr: lostN002}},
		{name: "nor where it had not started", endless: true, o: outcome{drawn: again("n001", "n002"), code: 125, struck: early, stderr: lostN002}},
		{name: "nor with two blows", endless: true, o: outcome{drawn: again("n001", "n002"), code: 125, struck: slices.Concat(agent, agent), stderr: lostN002}},
		{name: "a rank fails for want of memory", o: outcome{code: 1, struck: memory, stderr: "golaunch: rank 3 on n002 exited with code 1\n"}},
		{name: "another rank does", o: outcome{code: 1, struck: memory, stderr: "golaunch: rank 3 on n001 exited with code 1\n"}, found: "unnamed culprits"},
		{name: "the helper is killed", o: outcome{code: 125, struck: []blow{blowOf(t, "kill -9 of a PMIx helper", "n002")},
			stderr: "golaunch: host n002 (ranks 2-3): the PMIx helper (golaunch-pmix) ended: killed\n"}},
		{name: "Ctrl-C", o: outcome{code: 130, struck: []blow{blowOf(t, "Ctrl-C at the terminal", "n002")}}},
	} {
		t.Run(x.name, func(t *testing.T) {
			x.o.program.endless = x.endless
			x.o.judge()
			if x.found == "" {
				require.Empty(t, x.o.faults)
				return
			}
			require.NotEmpty(t, x.o.faults)
			require.Equal(t, x.found, x.o.faults[0].kind)
		})
	}
}

// Segments are removed where a rank may have been ended before it unlinked them, and found
// elsewhere.
func TestForced(t *testing.T) {
	stopped, full := []blow{blowOf(t, "SIGSTOP and SIGCONT of a rank", "n002")}, []blow{blowOf(t, "/dev/shm full", "n002")}
	for _, x := range []struct {
		name string
		o    outcome
		want bool
	}{
		{"nothing happened", outcome{}, false},
		{"it failed by itself", outcome{code: 7}, false},
		{"all ranks ended well", outcome{struck: stopped}, false},
		{"golaunch ended them", outcome{struck: stopped, code: exitLost}, true},
		{"a signal ended them", outcome{struck: stopped, drawn: drawn{program: program{endless: true}}}, true},
		{"those of an attempt", outcome{struck: stopped, drawn: drawn{argv: []string{"golaunch", "--restarts", "1", "-n", "1", "x"}}}, true},
		{"golaunch hung, and was killed", outcome{struck: stopped, faults: []finding{{"hangs", "for ever"}}}, true},
		{"no room", outcome{struck: full}, true},
	} {
		require.Equal(t, x.want, x.o.forced(), x.name)
	}
}

func TestJudgeProfile(t *testing.T) {
	var whole bytes.Buffer
	world := profile.World{Size: 1, Nodes: []string{"n001"}, NodeOf: []profile.OnNode{{Count: 1}}}
	require.NoError(t, (&profile.Profile{Status: 5, Worlds: []profile.World{world}}).Write(&whole))
	for _, x := range []struct {
		name, content string
		code          int
		killed        bool
		restarts      bool
		found         int
	}{
		{name: "whole", content: whole.String(), code: 5},
		{name: "of another end", content: whole.String(), code: 0, found: 1},
		{name: "of an attempt", content: whole.String(), code: 143, restarts: true},
		{name: "of a failed attempt, and the job ended well", content: whole.String(), restarts: true, found: 1},
		{name: "torn", content: whole.String()[:whole.Len()/2], code: 5, found: 1},
		{name: "emptied", code: 125, found: 1},
		{name: "as it was", content: oldProfile, code: 125},
		{name: "not written", content: oldProfile, code: 0, found: 1},
		{name: "torn, of a golaunch that was killed", content: "{", code: 137, killed: true, found: 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			o := outcome{code: x.code}
			if x.restarts {
				o.argv = []string{"--restarts", "2", "-n", "1"}
			}
			if x.killed {
				o.struck = []blow{blowOf(t, "kill -9 of golaunch", "n001")}
			}
			o.judgeProfile([]byte(x.content))
			require.Len(t, o.faults, x.found)
		})
	}
}

// A terminal that was left raw is seen; one that is gone is nobody's.
func TestSeat(t *testing.T) {
	s, err := drawn{argv: []string{"golaunch", "--pty", "-n", "1"}}.sit()
	require.NoError(t, err)
	defer s.close()
	require.Empty(t, s.changed())
	restore, err := unix.Raw(s.terminal())
	require.NoError(t, err)
	require.Contains(t, s.changed(), "the terminal has modes")
	restore()
	require.Empty(t, s.changed())
	require.NoError(t, s.hangUp())
	require.Empty(t, s.changed())
	require.Error(t, s.types("x"))

	s, err = drawn{argv: []string{"golaunch", "-n", "1", "prog", "--pty"}}.sit()
	require.NoError(t, err)
	require.Nil(t, s)
	require.Empty(t, s.changed())
	s.close()
}

func TestPage(t *testing.T) {
	counted := newTally()
	counted.lacks, counted.kills = []string{"blow x: y"}, 7
	counted.add(outcome{drawn: drawn{kind: "MPICH", argv: []string{"golaunch", "--profile", "p", "-n", "1", "x", "--pty"}}})
	require.NoError(t, counted.err())
	o := outcome{drawn: drawn{kind: "PMI"}, struck: []blow{blowOf(t, "node dead", "n002")}, code: 125}
	o.find("hangs", "for ever")
	o.segments = 3
	counted.add(o)
	require.EqualError(t, counted.err(), "1 of 2 jobs show a fault")
	page := counted.page(settings{nodes: 8, Frame: results.NewFlags("chaos", "-x").Frame})
	require.Contains(t, page, "bin/bench chaos -x\n")
	require.Contains(t, page, "| nothing | 1 | 0: 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |\n| node dead | 1 | 125: 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 3 |\n")
	require.Contains(t, page, "| PMI | 1 | 125: 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 3 |\n| MPICH | 1 | 0: 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |\n"+
		"| --profile | 1 | 0: 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |\n| all | 2 | 0: 1, 125: 1 | 1 |")
	require.Contains(t, page, "killed 7 processes")
	require.Contains(t, page, "\nLeft out: blow x: y.\n")
	require.NotContains(t, page, "--pty |")
	require.Contains(t, page, "HANGS: for ever")
}

// Flags for no job at all are an error.
func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-time", "0s"}, {"-job", "-1"}} {
		require.ErrorContains(t, Run(t.Context(), results.NewFlags("chaos", args...)), args[0]+" "+args[1])
	}
}

func TestRevision(t *testing.T) {
	require.Equal(t, "of no known commit", revision(t.Context(), t.TempDir()))
}
