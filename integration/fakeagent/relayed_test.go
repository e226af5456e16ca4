package fakeagent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRelayed has the last of a chain of three forge messages for the first, or that
// would pass through the one between, which is honest and keeps its link. A forgery
// that this one can judge ends the forger's link; another is dropped and the job goes
// on: the forger is named, and the node that has passed it on.
func TestRelayed(t *testing.T) {
	needCluster(t)
	for _, f := range Relayed() {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			l := aLab(t)
			words := []string{"--degree", "1", "hostname"}
			if strings.Contains(f.Name, "of a key") {
				words = append([]string{"--cache", "distributed"}, words...)
			}
			r := l.job(t, f.Name, "n001,n003,n002", "n002", 1, words...)
			if !f.Passed {
				r.isBlamed(t, f, "n002", "n001", "n003")
				return
			}
			require.Zero(t, r.code)
			require.Regexp(t, `(?m)^golaunch: host n002: its message "[^"]+", as relayed by n003, was dropped: `, r.stderr)
			require.Equal(t, []string{"n002"}, blamed(r.stderr))
			r.namesOnly(t, "n002", "n001", "n003")
		})
	}
}

// TestSpares has a spare say that others are lost with it. It alone is, and the job goes
// on with the others.
func TestSpares(t *testing.T) {
	needCluster(t)
	for _, f := range Spares() {
		t.Run(f.Name, func(t *testing.T) {
			l := aLab(t)
			dir := filepath.Dir(l.shell)
			for _, name := range []string{"up.0", "up.1", "up.2", "up.3", "end"} {
				require.NoError(t, os.RemoveAll(filepath.Join(dir, name)))
			}
			program := fmt.Sprintf("touch %[1]s/up.$PMI_RANK; until test -e %[1]s/end; do sleep .1; done; echo well", dir)
			r := l.job(t, f.Name, "n[001-004]", "n004", 2, "--spares", "2", "--degree", "4", "sh", "-c", program)
			require.Zero(t, r.code)
			require.Regexp(t, `(?m)^golaunch: host n004: lost: the link to its agent broke: protocol error: message "failure": `, r.stderr)
			require.Contains(t, r.stderr, "golaunch: host n004, without ranks, lost: the job goes on\n")
			r.namesOnly(t, "n004", "n001", "n002", "n003")
		})
	}
}
