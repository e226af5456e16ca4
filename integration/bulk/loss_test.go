package bulk

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The tree of 15 hosts of degree 2: h0 starts h1 and h8; h1 starts h2 (h3, h4)
// and h5 (h6, h7); h8 starts h9 (h10, h11) and h12 (h13, h14).
const size = 15

// gated starts a job whose agent on one host does not call before the gate is
// opened. Its ranks run a line of shell.
func gated(t *testing.T, host string, allow bool, line string) (r *running, open func()) {
	gate := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	r = start(t, setting{
		Hosts: names(size), Degree: 2, Allow: allow,
		Script:  `[ $h != ` + host + ` ] || read go < ` + gate + `;`,
		Program: []string{"sh", "-c", line},
	})
	return r, func() {
		f, err := os.OpenFile(gate, os.O_RDWR, 0) // waits for no reader
		require.NoError(t, err)
		t.Cleanup(func() { _ = f.Close() })
		_, err = f.WriteString("go\n")
		require.NoError(t, err)
	}
}

// tellSize is the command of the ranks of most jobs.
const tellSize = "echo of $PMI_SIZE"

// held is a job that can't be launched before the gate is opened: all agents but
// h14's have their part.
func held(t *testing.T, allow bool) (r *running, open func()) {
	return heldWith(t, allow, tellSize)
}

func heldWith(t *testing.T, allow bool, line string) (r *running, open func()) {
	r, open = gated(t, "h14", allow, line)
	for i := range size - 1 {
		r.awaitWarden(fmt.Sprintf("h%d", i))
	}
	return r, open
}

// up is a job whose ranks run.
func up(t *testing.T) *running {
	r := start(t, setting{Hosts: names(size), Degree: 2, Program: []string{"sh", "-c", "echo up; exec sleep 1000"}})
	r.eventually("all ranks run", func() bool { return strings.Count(r.stdout.String(), "up\n") == size })
	return r
}

// blows are the harms to an agent, by name.
var blows = map[string]func(*running, string){"killed": (*running).kill, "cut off": (*running).cut}

// strike strikes an agent, and waits until that is over.
func (r *running) strike(blow, host string) {
	r.t.Helper()
	before := r.agent(host)
	blows[blow](r, host)
	if blow == "killed" {
		r.eventually(host+" is gone", func() bool {
			return !slices.ContainsFunc(r.processes(), func(p proc) bool { return p.pid == before.pid })
		})
	}
}

// Before the launch an agent that is lost costs its own host and no other: those
// below it get another parent, before its part of the tree was ready (h8 and h12,
// above the host that is awaited, and the root).
func TestLostBeforeReady(t *testing.T) {
	for _, host := range []string{"h0", "h8", "h12"} {
		for blow := range blows {
			t.Run(host+" "+blow, func(t *testing.T) {
				r, open := held(t, true)
				r.strike(blow, host)
				open()
				require.Zero(t, r.wait(), r.stderr.String())
				require.Contains(t, r.stderr.String(), "1 of 15 hosts")
				require.Contains(t, r.stderr.String(), "host "+host+":")
				require.Equal(t, size-1, strings.Count(r.stdout.String(), "of 14\n"), r.stdout.String())
				r.nothingLeft()
			})
		}
	}
}

// An agent that has told that its part is ready takes it along if it is lost to a
// parent that has told so as well (h2 above leaves, and the leaf h3), which may be on
// its way. Nothing orders the news of it and the launch: if that is sooner, the job ends.
func TestLostWhenReady(t *testing.T) {
	for host, lost := range map[string]int{"h2": 3, "h3": 1} {
		for blow := range blows {
			t.Run(host+" "+blow, func(t *testing.T) {
				r, open := held(t, true)
				r.strike(blow, host)
				open()
				code := r.wait()
				if code == 125 { // the launch was sooner than the news
					require.Contains(t, r.stderr.String(), "host "+host+" (rank "+host[1:]+"): launch: lost")
					r.nothingLeft()
					return
				}
				require.Zero(t, code, r.stderr.String())
				lost := lost
				if strings.Contains(r.stderr.String(), "1 of 15 hosts") {
					lost = 1
				}
				require.Contains(t, r.stderr.String(), fmt.Sprintf("%d of 15 hosts", lost))
				require.Contains(t, r.stderr.String(), "host "+host+":")
				require.Equal(t, size-lost, strings.Count(r.stdout.String(), fmt.Sprintf("of %d\n", size-lost)), r.stdout.String())
				r.nothingLeft()
			})
		}
	}
}

// A parent that has lost a child holds nothing of its connection while the job goes on.
func TestLostConnectionsAreClosed(t *testing.T) {
	for _, host := range []string{"h0", "h8", "h12"} { // children of golaunch, h0 and h8
		for blow := range blows {
			t.Run(host+" "+blow, func(t *testing.T) {
				r, open := heldWith(t, true, "echo up; exec sleep 1000")
				r.strike(blow, host)
				open()
				r.eventually("the others run", func() bool { return strings.Count(r.stdout.String(), "up\n") == size-1 })
				r.eventually("no socket is left of the lost one", func() bool { return r.hungUp() == 0 })
				require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
				require.Equal(t, 143, r.wait(), r.stderr.String())
				r.nothingLeft()
			})
		}
	}
}

// The loss of a host ends a job that may miss none, with the host's name.
func TestLostHostsAreNamed(t *testing.T) {
	r, open := held(t, false)
	r.strike("killed", "h5")
	open()
	require.Equal(t, 125, r.wait(), r.stderr.String())
	require.Contains(t, r.stderr.String(), "host h5:")
	require.Contains(t, r.stderr.String(), "signal: killed", "what the manager says of it")
	require.Empty(t, r.stdout.String())
	r.nothingLeft()
}

// While ranks run a lost agent ends the job, which names it.
func TestLostWhileRunning(t *testing.T) {
	for _, host := range []string{"h0", "h1", "h3"} {
		for blow := range blows {
			t.Run(host+" "+blow, func(t *testing.T) {
				r := up(t)
				r.strike(blow, host)
				require.Equal(t, 125, r.wait(), r.stderr.String())
				require.Contains(t, r.stderr.String(), "host "+host+" (rank "+host[1:]+"): lost: the link to its agent broke")
				r.nothingLeft()
			})
		}
	}
}

// Nothing outlives golaunch, in whatever phase it is killed, and an agent that
// comes late ends.
func TestLauncherKilled(t *testing.T) {
	for name, begin := range map[string]func(*testing.T) (*running, func()){
		"while agents wait": func(t *testing.T) (*running, func()) {
			r, open := gated(t, "h0", false, tellSize)
			for i := 1; i < size; i++ {
				r.agent(fmt.Sprintf("h%d", i))
			}
			return r, open
		},
		"before the launch": func(t *testing.T) (*running, func()) { return held(t, false) },
		"while ranks run":   func(t *testing.T) (*running, func()) { return up(t), func() {} },
	} {
		t.Run(name, func(t *testing.T) {
			r, open := begin(t)
			require.NoError(t, r.cmd.Process.Kill())
			open()
			require.Equal(t, -1, r.wait())
			r.nothingLeft()
		})
	}
}

// Wardens count among what is left, though nothing in them tells whose they are.
func TestWardensAreSeen(t *testing.T) {
	r := up(t)
	wardens := 0
	for _, p := range r.processes() {
		if p.hasArg("nla-warden") {
			wardens++
		}
	}
	require.Equal(t, size, wardens)
	require.NoError(t, r.cmd.Process.Signal(syscall.SIGTERM))
	require.Equal(t, 143, r.wait(), r.stderr.String())
	r.nothingLeft()
}
