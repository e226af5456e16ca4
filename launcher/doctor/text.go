package doctor

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
)

// Below these a job soon fails.
const (
	enoughFree  = 64 << 20 // bytes, for the agent and small programs
	enoughFiles = 1024
)

// Lines renders the facts for people. It leaves out differences between hosts that are
// alike, and calls the host, as a directory above its home, HOST.
func (f *Facts) Lines(host string) []string {
	home := strings.Split(f.Home, "/")
	for i := range home {
		if home[i] == host && host != "" {
			home[i] = "HOST"
		}
	}
	place := "in nowhere"
	switch d := f.agentDir(); {
	case f.AgentPath != "":
		place = "at " + f.AgentPath
	case d != nil:
		place = "in " + d.Path
	}
	mpi := "no MPICH or Open MPI in PATH"
	if len(f.MPI) > 0 {
		mpi = strings.Join(f.MPI, ", ")
	}
	return []string{
		fmt.Sprintf("account    %s, home %s", cmp.Or(f.User, "no USER"), cmp.Or(strings.Join(home, "/"), "not set")),
		"agent      " + place,
		fmt.Sprintf("system     %s, %d CPUs, %d GiB", f.System, f.CPUs, (f.Memory+1<<29)>>30),
		fmt.Sprintf("libraries  %s; %s", cmp.Or(f.Libc, "no glibc"), mpi),
		fmt.Sprintf("limits     %s open files, up to %s; %s processes", count(f.Files), count(f.FilesMax), count(f.Processes)),
		"cgroup     " + f.cgroupText(),
		fmt.Sprintf("%d ranks   %s", manyRanks, f.meets(manyRanks)),
		"programs   " + cmp.Or(strings.Join(f.Tools, ", "), "neither sh nor python3"),
	}
}

// Problems lists failures that jobs would meet on the host, with remedies. The rank ran
// between two times of the launcher's clock.
func (f *Facts) Problems(from, to time.Time) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if f.AgentPath == "" && f.agentDir() == nil {
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
	cpus := uint64(math.Ceil(f.cpus())) // as many ranks as these are to be expected
	if f.Shm < cpus*shmMPICH {
		add("%s of /dev/shm: %d ranks of MPICH need %s, of Open MPI %s (docker run --shm-size; an emptyDir of medium Memory in Kubernetes)",
			bytesText(f.Shm), cpus, bytesText(cpus*shmMPICH), bytesText(cpus*shmOpenMPI))
	}
	if n := f.Cgroup.Processes; n > 0 && f.fitting() < cpus {
		add("%d processes and threads are allowed: golaunch and %d ranks of MPI need some %d (docker run --pids-limit)", n, cpus, golaunchThreads+cpus*rankProcesses)
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

// manyRanks is the number of ranks on a host whose limits are told.
const manyRanks = 16

// Needs of ranks, as measured with MPICH 4.0 (UCX) and Open MPI 4.1: /dev/shm, in bytes
// for each; processes and threads for each, and those of golaunch itself.
const (
	shmMPICH        = 5500 << 10
	shmOpenMPI      = 1150 << 10
	rankProcesses   = 3
	golaunchThreads = 16
)

// cgroupText tells the limits of the host's cgroup, and the size of its shared memory.
func (f *Facts) cgroupText() string {
	var limits []string
	if n := f.Cgroup.Memory; n > 0 {
		limits = append(limits, bytesText(n)+" of memory")
	}
	if n := f.Cgroup.Processes; n > 0 {
		limits = append(limits, fmt.Sprintf("%d processes and threads", n))
	}
	if n := f.Cgroup.CPUs; n > 0 {
		limits = append(limits, fmt.Sprintf("the time of %g CPUs", n))
	}
	shm := "there is no /dev/shm"
	if f.Shm > 0 {
		shm = about(f.Shm) + " of /dev/shm"
	}
	return cmp.Or(strings.Join(limits, ", "), "no limits") + "; " + shm
}

// cpus counts the CPUs that ranks have.
func (f *Facts) cpus() float64 {
	if quota := f.Cgroup.CPUs; quota > 0 {
		return min(quota, float64(f.CPUs))
	}
	return float64(f.CPUs)
}

// fitting counts the ranks that a limit of processes has room for.
func (f *Facts) fitting() uint64 {
	return (max(f.Cgroup.Processes, golaunchThreads) - golaunchThreads) / rankProcesses
}

// meets names the limits that so many ranks on the host come up against.
func (f *Facts) meets(ranks uint64) string {
	memory := f.Memory
	if n := f.Cgroup.Memory; n > 0 {
		memory = min(memory, n)
	}
	texts := []string{fmt.Sprintf("%s of memory and %.2g CPUs each", about(memory/ranks), f.cpus()/float64(ranks))}
	if f.Shm < ranks*shmMPICH {
		texts = append(texts, fmt.Sprintf("/dev/shm holds %d of MPICH, %d of Open MPI", min(ranks, f.Shm/shmMPICH), min(ranks, f.Shm/shmOpenMPI)))
	}
	if n := f.Cgroup.Processes; n > 0 && f.fitting() < ranks {
		texts = append(texts, fmt.Sprintf("processes are too few: some %d are needed", golaunchThreads+ranks*rankProcesses))
	}
	return strings.Join(texts, "; ")
}

// bytesText renders a number of bytes in a unit that people read.
func bytesText(n uint64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && n >= 1<<10 && (n%1024 == 0 || n >= 8<<10) {
		n, units = (n+1<<9)>>10, units[1:]
	}
	return fmt.Sprint(n, " ", units[0])
}

// about renders bytes less exactly: hosts that are alike differ by a little memory.
func about(n uint64) string {
	switch {
	case n >= 1<<30:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/(1<<30)), ".0") + " GiB"
	case n >= 100<<20:
		return fmt.Sprint((n+5<<20)/(10<<20)*10, " MiB")
	}
	return bytesText(n)
}

// agentDir returns the directory that the agent would be put in, nil if there is none.
func (f *Facts) agentDir() *Dir {
	for i, d := range f.Dirs {
		if d.There && d.Exec && d.Free >= enoughFree {
			return &f.Dirs[i]
		}
	}
	return nil
}

// dirsText names the fault of each directory.
func (f *Facts) dirsText() string {
	var all []string
	for _, d := range f.Dirs {
		fault := "full"
		switch {
		case !d.There:
			fault = "not there, or not to be written to"
		case !d.Exec:
			fault = "noexec"
		}
		all = append(all, d.Path+": "+fault)
	}
	return strings.Join(all, "; ")
}

// count renders a limit.
func count(n uint64) string {
	const unlimited = ^uint64(0)
	if n == unlimited {
		return "unlimited"
	}
	return fmt.Sprint(n)
}
