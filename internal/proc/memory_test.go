package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// groupFiles writes the files of a cgroup of a made-up hierarchy.
func groupFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}

var now = time.Now()

func events(oom, kills int) string {
	return fmt.Sprintf("low 0\nhigh 0\nmax 7\noom %d\noom_kill %d\noom_group_kill 0\n", oom, kills)
}

func TestMemoryV2(t *testing.T) {
	root := t.TempDir()
	mounts := "30 1 0:26 / " + root + " rw - cgroup2 cgroup2 rw\n"
	limited, step := filepath.Join(root, "limited"), filepath.Join(root, "limited", "step")
	jobs := filepath.Join(step, "golaunch-x") // memory is not switched on for it
	require.NoError(t, os.MkdirAll(jobs, 0o755))
	set := func(oom, kills int) {
		groupFiles(t, limited, map[string]string{"memory.events": events(2+oom, 2+kills), "memory.max": "536870912\n"})
		groupFiles(t, step, map[string]string{"memory.events": events(0, 1+kills), "memory.max": "max\n"})
	}
	set(0, 0)
	m := newMemory(mounts, "0::/limited/step\n", jobs)
	assert.Empty(t, m.explain(now), "what was there before")
	set(1, 2)
	for range 2 { // one of two ranks each
		assert.Equal(t, "out of memory (its cgroup's limit of 512 MiB)", m.explain(now))
	}
	assert.Empty(t, m.explain(now), "another signal 9")
	set(1, 3)
	assert.NotEmpty(t, m.explain(now))

	// A later one is the host's: the limit was not in the way once more.
	set(1, 4)
	assert.Equal(t, "out of memory (of the host)", m.explain(now))
	set(2, 5)
	assert.Equal(t, "out of memory (its cgroup's limit of 512 MiB)", m.explain(now))
	set(1, 3)

	// No limit was in the way: the host's memory was.
	m = newMemory(mounts, "0::/limited/step\n", "")
	set(1, 4)
	assert.Equal(t, "out of memory (of the host)", m.explain(now))
	set(1, 0) // the cgroup was made anew
	assert.NotEmpty(t, m.explain(now))
}

// A rank may be in a cgroup below its job's, as of systemd-run: that one's kills are
// counted upwards, its limit is its own.
func TestMemoryOfANestedCgroup(t *testing.T) {
	root := t.TempDir()
	mounts := "30 1 0:26 / " + root + " rw - cgroup2 cgroup2 rw\n"
	limited, job := filepath.Join(root, "limited"), filepath.Join(root, "limited", "job")
	set := func(oom, own, kills int) {
		local := func(n int) string { return events(n, 0) }
		groupFiles(t, limited, map[string]string{"memory.events": events(oom, kills), "memory.events.local": local(own), "memory.max": "536870912\n"})
		groupFiles(t, job, map[string]string{"memory.events": events(oom-own, kills), "memory.events.local": local(0), "memory.max": "max\n"})
	}
	set(3, 1, 2)
	m := newMemory(mounts, "0::/limited\n", job)
	assert.Empty(t, m.explain(now))
	set(4, 1, 3) // by the limit of one below
	assert.Equal(t, "out of memory (the limit of a cgroup below its job's)", m.explain(now))
	set(5, 2, 4) // by one above
	assert.Equal(t, "out of memory (its cgroup's limit of 512 MiB)", m.explain(now))
	set(5, 2, 5)
	assert.Equal(t, "out of memory (of the host)", m.explain(now))
}

// A kill of which no rank ended at once does not explain an end long after.
func TestMemoryOfOldKills(t *testing.T) {
	root := t.TempDir()
	set := func(kills int) {
		groupFiles(t, root, map[string]string{"memory.events": events(kills, kills), "memory.max": "4096\n"})
	}
	set(0)
	m := newMemory("30 1 0:26 / "+root+" rw - cgroup2 cgroup2 rw\n", "0::/\n", "")
	set(1)
	m.look(now) // a rank ended, not of it
	assert.Empty(t, m.explain(now.Add(2*claimTime)), "kill -9")
	set(2)
	m.look(now.Add(3 * claimTime))
	assert.NotEmpty(t, m.explain(now.Add(3*claimTime)), "another rank's end was seen first")
	assert.Empty(t, m.explain(now.Add(3*claimTime)))
	set(3)
	assert.NotEmpty(t, m.explain(now.Add(9*claimTime)), "nobody has seen it before")
}

func TestMemoryV1(t *testing.T) {
	root := t.TempDir()
	mounts := "30 1 0:26 / /unified rw - cgroup2 cgroup2 rw\n" +
		"31 1 0:27 /none /elsewhere rw - cgroup cgroup rw,memory\n" +
		"32 1 0:27 / " + root + " rw - cgroup cgroup rw,hugetlb,memory\n"
	limited, step := filepath.Join(root, "limited"), filepath.Join(root, "limited", "step")
	const none = "9223372036854771712\n"
	set := func(failed, kills int) {
		groupFiles(t, root, map[string]string{"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n", "memory.failcnt": "0\n", "memory.limit_in_bytes": none})
		groupFiles(t, limited, map[string]string{
			"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
			"memory.failcnt":     fmt.Sprintln(10 + failed), "memory.limit_in_bytes": "2147483648\n",
		})
		groupFiles(t, step, map[string]string{
			"memory.oom_control": fmt.Sprintf("oom_kill_disable 0\nunder_oom 0\noom_kill %d\n", kills),
			"memory.failcnt":     "0\n", "memory.limit_in_bytes": none,
		})
	}
	set(0, 0)
	m := newMemory(mounts, "9:name=systemd:/\n4:hugetlb,memory:/limited/step\n0::/\n", "")
	assert.Len(t, m.groups, 3)
	assert.Empty(t, m.explain(now))
	set(3, 1)
	assert.Equal(t, "out of memory (its cgroup's limit of 2 GiB)", m.explain(now))
	assert.Empty(t, m.explain(now))

	// Newer kernels count no limit in the way where memory and swap have the same one: the
	// most that was used tells.
	for _, x := range []struct{ peak, reason string }{
		{"1073741824\n", "out of memory (of the host)"}, // half of the limit
		{"2147479552\n", "out of memory (its cgroup's limit of 2 GiB)"},
		{"2147487744\n", "out of memory (its cgroup's limit of 2 GiB)"}, // a page more, as is charged
	} {
		set(0, 0)
		groupFiles(t, limited, map[string]string{"memory.max_usage_in_bytes": x.peak})
		m = newMemory(mounts, "4:hugetlb,memory:/limited/step\n", "")
		set(0, 1)
		assert.Equal(t, x.reason, m.explain(now))
	}
}

func TestMemoryThatNobodyCounts(t *testing.T) {
	assert.Empty(t, newMemory("", "", "").explain(now))
	root := t.TempDir()
	groupFiles(t, root, map[string]string{"memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n"}) // before Linux 4.13
	assert.Empty(t, newMemory("32 1 0:27 / "+root+" rw - cgroup cgroup rw,memory\n", "4:memory:/\n", "").explain(now))
}

func TestSizes(t *testing.T) {
	for n, want := range map[uint64]string{512 << 20: "512 MiB", 1536 << 20: "1536 MiB", 2 << 30: "2 GiB", 4096: "4 KiB", 1000: "1000 bytes", 0: "0 bytes"} {
		assert.Equal(t, want, size(n))
	}
}
