package main

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/programs"
)

// TestChaos is a minute of the command. How soon things are gone, and how many jobs
// a minute holds, is for the command to say: this machine may be busy, and a single
// blow may take bearTime.
func TestChaos(t *testing.T) {
	if err := cluster.Unavailable(); err != nil {
		t.Skipf("skipped: no test cluster here: %v", err)
	}
	bin, err := programs.Make()
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(bin) })
	s := settings{time: time.Minute, seed: rand.Uint64() >> 32, nodes: 6, limits: limits{hang: time.Minute, left: 20 * time.Second}, tell: t.Logf}
	counted, err := s.chaos(t.Context(), filepath.Join(bin, "golaunch"), "", bin, bin)
	require.NoError(t, err)
	require.NoError(t, counted.err(), "seed %d", s.seed)
	require.Positive(t, counted.jobs)
}

func TestDrawsAreTheSame(t *testing.T) {
	p := place{nodes: []string{"n001", "n002", "n003"}, sshConfig: "config", golaunch: "golaunch", race: "golaunch-race", native: "native"}
	race, seen, commands := 0, map[string]bool{}, map[string]bool{}
	for n := range 1000 {
		d := p.draw(7, n)
		require.Equal(t, d.String(), p.draw(7, n).String())
		commands[d.String()] = true
		if d.race {
			race++
		}
		for _, b := range d.blows {
			seen[b.name] = true
		}
	}
	require.Greater(t, len(commands), 990)
	require.InDelta(t, 500, race, 100)
	require.Len(t, seen, len(faults))
	require.NotEqual(t, p.draw(8, 1).String(), p.draw(7, 1).String())
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
		{name: "it is not", o: outcome{code: 125, struck: agent, stderr: "golaunch: something was lost\n"}, found: "unnamed culprits"},
		{name: "another is", o: outcome{code: 125, struck: agent, stderr: "golaunch: host n001: running: lost\ngolaunch: then host n002: lost\n"}, found: "unnamed culprits"},
		{name: "the ranks' words do not count", o: outcome{code: 125, struck: agent, stderr: "n002\n"}, found: "unnamed culprits"},
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

func TestPage(t *testing.T) {
	counted := newTally()
	counted.add(outcome{})
	require.NoError(t, counted.err())
	o := outcome{struck: []blow{blowOf(t, "node dead", "n002")}, code: 125}
	o.find("hangs", "for ever")
	counted.add(o)
	require.EqualError(t, counted.err(), "1 of 2 jobs show a fault")
	page := counted.page(settings{nodes: 8}, "-x")
	require.Contains(t, page, "bin/chaos -x\n")
	require.Contains(t, page, "| nothing | 1 | 0: 1 | 0 | 0 | 0 | 0 | 0 | 0 | 0 |\n| node dead | 1 | 125: 1 | 1 | 0 | 0 | 0 | 0 | 0 | 0 |\n")
	require.Contains(t, page, "| all | 2 | 0: 1, 125: 1 | 1 |")
	require.Contains(t, page, "HANGS: for ever")
}

// What would run no job at all is an error.
func TestBadFlags(t *testing.T) {
	for _, args := range [][]string{{"-time", "0s"}, {"-job", "-1"}} {
		require.ErrorContains(t, run(t.Context(), args), args[0]+" "+args[1])
	}
}

func TestRevision(t *testing.T) {
	require.Equal(t, "of no known commit", revision(t.Context(), t.TempDir()))
}
