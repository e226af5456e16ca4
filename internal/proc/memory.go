package proc

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/cgroups"
	"github.com/golaunch/golaunch/internal/unix"
)

// memory watches the memory cgroups that ranks are in for processes that the kernel
// kills there.
type memory struct {
	groups []memoryGroup // the ranks' own, and those above it
	kills  uint64        // at the last look
	seen   uint64        // those of them that were there, have explained an end or are too old
	below  uint64        // limits in the way in the ranks' own cgroup and below it, when they were seen
	at     time.Time     // when the last ones were first seen
	reason string        // of these
}

// claimTime is the time after the sight of a kill in which a rank's end may be due to
// it: the kernel has to free the process's memory first.
const claimTime = 5 * time.Second

// memoryGroup is a memory cgroup.
type memoryGroup struct {
	dir   string
	files *memoryFiles
	hits  uint64 // times that its limit was in the way, as of the last kills seen
}

// memoryFiles are the files of a memory cgroup that count, with the words before
// their counts. Of version 1, kills are counted in the process's own cgroup only; of
// version 2, kills and limits in the way are counted upwards, too, and by Linux 5.2
// in a file of the cgroup whose limit it was. Newer kernels do not count a limit of
// version 1 in the way that is one of memory with swap, too: the most that was used tells.
type memoryFiles struct{ kills, killsWord, hits, hitsWord, limit, peak string }

var (
	memoryFiles2    = &memoryFiles{"memory.events", "oom_kill", "memory.events.local", "oom", "memory.max", ""}
	memoryFiles2Old = &memoryFiles{"memory.events", "oom_kill", "memory.events", "oom", "memory.max", ""}
	memoryFiles1    = &memoryFiles{"memory.oom_control", "oom_kill", "memory.failcnt", "", "memory.limit_in_bytes", "memory.max_usage_in_bytes"}
)

// watchMemory finds the memory cgroups of this process and of the ranks that it
// starts in the cgroup v2 of the job, if there is one.
func watchMemory(jobCgroup string) *memory {
	mounts, err := unix.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return &memory{}
	}
	member, err := unix.ReadFile("/proc/self/cgroup")
	if err != nil {
		return &memory{}
	}
	return newMemory(string(mounts), string(member), jobCgroup)
}

// newMemory is watchMemory, given the texts of /proc/self/mountinfo and
// /proc/self/cgroup. The kernel has memory in one of the versions.
func newMemory(mountinfo, member, jobCgroup string) *memory {
	m := &memory{}
	if point, dir, err := cgroups.Dir(mountinfo, member, ""); err == nil {
		if jobCgroup != "" {
			dir = jobCgroup
		}
		m.add(point, dir, memoryFiles2)
	}
	if point, dir, err := cgroups.Dir(mountinfo, member, "memory"); err == nil && len(m.groups) == 0 {
		m.add(point, dir, memoryFiles1)
	}
	if len(m.groups) > 0 {
		m.kills, _ = m.groups[0].kills()
		m.seen = m.kills
		m.below = m.groups[0].limits()
	}
	return m
}

// add adds a directory and those above it, up to the mount point, that are memory
// cgroups.
func (m *memory) add(point, dir string, files *memoryFiles) {
	for ; cgroups.Within(dir, point); dir = filepath.Dir(dir) {
		g := memoryGroup{dir: dir, files: files}
		if _, ok := g.kills(); ok {
			var counted bool
			if g.hits, counted = g.count(files.hits, files.hitsWord); !counted && files == memoryFiles2 {
				g.files = memoryFiles2Old
				g.hits, _ = g.count(g.files.hits, g.files.hitsWord)
			}
			m.groups = append(m.groups, g)
		}
		if dir == point {
			return
		}
	}
}

// explain returns the reason for a kill of one of the ranks' processes for want of
// memory that has explained no other end; "" if there was none.
func (m *memory) explain(now time.Time) string {
	m.look(now)
	if m.kills == m.seen {
		return ""
	}
	m.seen++
	return m.reason
}

// look counts the kills. Those that have explained no end by now never will.
func (m *memory) look(now time.Time) {
	if len(m.groups) == 0 {
		return
	}
	if now.Sub(m.at) > claimTime {
		m.seen = m.kills
	}
	kills, _ := m.groups[0].kills()
	if kills < m.kills { // the job's cgroup was made anew
		m.kills, m.seen = 0, 0
	}
	if kills > m.kills {
		m.kills, m.at, m.reason = kills, now, m.cause()
	}
}

// cause returns the reason for the kernel's kills since the last call: one limit may
// have been in the way of several processes.
func (m *memory) cause() string {
	cause := "out of memory (of the host)"
	limits := m.groups[0].limits()
	if limits > m.below {
		cause = "out of memory (the limit of a cgroup below its job's)"
	}
	m.below = limits
	counted := false
	for i := len(m.groups) - 1; i >= 0; i-- { // the nearest one counts
		g := &m.groups[i]
		hits, _ := g.count(g.files.hits, g.files.hitsWord)
		if hits < g.hits { // it was made anew
			g.hits = 0
		}
		limit, limited := g.limit()
		if rose := hits > g.hits; limited && (rose || !counted && g.full(limit)) {
			counted = counted || rose
			cause = fmt.Sprintf("out of memory (its cgroup's limit of %s)", size(limit))
		}
		g.hits = hits
	}
	return cause
}

func (g *memoryGroup) kills() (uint64, bool) { return g.count(g.files.kills, g.files.killsWord) }

// limits counts the times that a limit was in the way, of the cgroup or of one below
// it; 0 of version 1, which does not tell.
func (g *memoryGroup) limits() uint64 {
	if g.files == memoryFiles1 {
		return 0
	}
	n, _ := g.count("memory.events", memoryFiles2.hitsWord)
	return n
}

// limit returns the cgroup's bound in bytes; false if it has none.
func (g *memoryGroup) limit() (uint64, bool) {
	n, ok := g.count(g.files.limit, "")
	return n, ok && n < 1<<62
}

// full tells whether the cgroup has ever used all that it may, but for what the kernel
// charges at a time.
func (g *memoryGroup) full(limit uint64) bool {
	if g.files.peak == "" {
		return false
	}
	peak, ok := g.count(g.files.peak, "")
	return ok && peak >= limit-limit/64
}

// count reads the number in a file behind a word, where there is one.
func (g *memoryGroup) count(file, word string) (uint64, bool) {
	text, err := unix.ReadFile(filepath.Join(g.dir, file))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		name, number, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found {
			name, number = "", name
		}
		if name == word {
			n, err := strconv.ParseUint(number, 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// size is a number of bytes in the largest unit of which it is a whole number.
func size(n uint64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && n > 0 && n%1024 == 0 {
		n, units = n/1024, units[1:]
	}
	return fmt.Sprint(n, " ", units[0])
}
