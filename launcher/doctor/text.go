package doctor

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Below these a job soon fails.
const (
	enoughFree  = 64 << 20 // bytes, for the agent and small programs
	enoughFiles = 1024
)

// Lines are the facts for people. They leave out what differs between hosts that
// are alike, and call the host, where it is a directory above its home, HOST.
func (f *Facts) Lines(host string) []string {
	home := strings.Split(f.Home, "/")
	for i := range home {
		if home[i] == host && host != "" {
			home[i] = "HOST"
		}
	}
	where := "nowhere"
	if d := f.agentDir(); d != nil {
		where = d.Path
	}
	mpi := "no MPICH or Open MPI in PATH"
	if len(f.MPI) > 0 {
		mpi = strings.Join(f.MPI, ", ")
	}
	return []string{
		fmt.Sprintf("account    %s, home %s", cmp.Or(f.User, "no USER"), cmp.Or(strings.Join(home, "/"), "not set")),
		"agent      in " + where,
		fmt.Sprintf("system     %s, %d CPUs, %d GiB", f.System, f.CPUs, (f.Memory+1<<29)>>30),
		fmt.Sprintf("libraries  %s; %s", cmp.Or(f.Libc, "no glibc"), mpi),
		fmt.Sprintf("limits     %s open files, up to %s; %s processes", count(f.Files), count(f.FilesMax), count(f.Processes)),
		"programs   " + cmp.Or(strings.Join(f.Tools, ", "), "neither sh nor python3"),
	}
}

// Problems say what would fail on the host, and what to do. The rank ran between two
// times of the launcher's clock.
func (f *Facts) Problems(from, to time.Time) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if f.agentDir() == nil {
		add("no directory takes files to execute (%s): make room, or mount one without noexec", f.dirsText())
	}
	if !f.HomeThere {
		add("HOME is %s, which is no directory", cmp.Or(f.Home, "not set"))
	}
	if f.WorkDir != "" && !f.WorkDirHere {
		add("there is no %s, where golaunch was called: ranks run in the home directory; --wdir names another, --stage brings files", f.WorkDir)
	}
	if f.FilesMax < enoughFiles {
		add("%d open files at most: with many ranks the agent needs more (ulimit -Hn, /etc/security/limits.conf)", f.FilesMax)
	}
	const tolerated = time.Second
	switch at := time.Unix(0, f.Time); {
	case at.Before(from.Add(-tolerated)):
		add("the clock is behind by %v or more: see to NTP", from.Sub(at).Round(time.Second))
	case at.After(to.Add(tolerated)):
		add("the clock is ahead by %v or more: see to NTP", at.Sub(to).Round(time.Second))
	}
	return all
}

// agentDir is where the agent would be put, nil if nowhere.
func (f *Facts) agentDir() *Dir {
	for i, d := range f.Dirs {
		if d.There && d.Exec && d.Free >= enoughFree {
			return &f.Dirs[i]
		}
	}
	return nil
}

// dirsText says what is wrong with each directory.
func (f *Facts) dirsText() string {
	var all []string
	for _, d := range f.Dirs {
		why := "full"
		switch {
		case !d.There:
			why = "not there, or not to be written to"
		case !d.Exec:
			why = "noexec"
		}
		all = append(all, d.Path+": "+why)
	}
	return strings.Join(all, "; ")
}

// count is a limit.
func count(n uint64) string {
	const unlimited = ^uint64(0)
	if n == unlimited {
		return "unlimited"
	}
	return fmt.Sprint(n)
}
