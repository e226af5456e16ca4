package proc

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// allowed is the line of /proc/PID/status that says where a process may run.
func allowed(t *testing.T, status string) string {
	t.Helper()
	for line := range strings.Lines(status) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return strings.TrimSpace(list)
		}
	}
	require.Fail(t, "no Cpus_allowed_list", status)
	return ""
}

// A rank that is bound has its CPUs from its first instruction on, and the next one and
// the warden have theirs.
func TestBound(t *testing.T) {
	all, err := unix.Affinity(0)
	require.NoError(t, err)
	for _, cgroup := range []bool{true, false} {
		f := begin(t, Options{NoCgroup: !cgroup})
		spec := Spec{Apps: []App{{Argv: []string{"/bin/grep", "Cpus_allowed_list", "/proc/self/status"}}}}
		ranks := []Child{{Rank: 0, CPUs: all[:1]}, {Rank: 1, CPUs: all[len(all)-1:]}, {Rank: 2}, {Rank: 3, CPUs: all}}
		require.NoError(t, f.Launch(spec, ranks))
		f.ends(len(ranks))
		status, err := os.ReadFile("/proc/self/status")
		require.NoError(t, err)
		whole := allowed(t, string(status))
		assert.Equal(t, fmt.Sprint(all[0]), allowed(t, f.output(0)))
		assert.Equal(t, fmt.Sprint(all[len(all)-1]), allowed(t, f.output(1)))
		assert.Equal(t, whole, allowed(t, f.output(2)))
		assert.Equal(t, whole, allowed(t, f.output(3)))
		status, err = os.ReadFile(fmt.Sprintf("/proc/%d/status", f.PID()))
		require.NoError(t, err)
		assert.Equal(t, whole, allowed(t, string(status)), "the warden's own")
		assert.Empty(t, f.notes)
		f.finishes()
	}
}

func TestBoundNowhere(t *testing.T) {
	f := begin(t, Options{})
	spec := Spec{Apps: []App{{Argv: []string{"/bin/true"}}}}
	require.NoError(t, f.Launch(spec, []Child{{Rank: 0, CPUs: []int{65534, 65535}}, {Rank: 1}}))
	f.ends(2)
	e := f.failed[0]
	assert.Equal(t, job.ExitLauncher, e.Code)
	assert.Equal(t, "it cannot be bound to CPUs 65534-65535: sched_setaffinity: invalid argument; none of them is online and allowed by the cgroup", e.Text)
	assert.Contains(t, f.exited, job.Rank(1))
	f.finishes()
}
