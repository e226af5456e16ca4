// Package doctor has the rank that golaunch doctor runs on each host, and judges its
// facts: which jobs would fail there.
package doctor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/cgroups"
	"github.com/golaunch/golaunch/internal/environ"
	"github.com/golaunch/golaunch/internal/unix"
)

// Word is the first argument that makes golaunch's own executable such a rank.
const Word = "nla-doctor"

// toolTimeout bounds each command that is asked for its version.
const toolTimeout = 5 * time.Second

// Facts are a rank's findings on its host.
type Facts struct {
	Time        int64    `json:"time"` // of the host's clock, ns since 1970
	User        string   `json:"user"`
	Home        string   `json:"home"`
	HomeThere   bool     `json:"home_there"`
	System      string   `json:"system"`
	CPUs        int      `json:"cpus"`
	Memory      uint64   `json:"memory"`     // bytes
	AgentPath   string   `json:"agent_path"` // where golaunch is already, "" where it is brought
	Dirs        []Dir    `json:"dirs"`       // where the agent and staged files may go, in turn
	Files       uint64   `json:"files"`      // the limit of open files, and the most that it can be raised to
	FilesMax    uint64   `json:"files_max"`
	Processes   uint64   `json:"processes"` // the limit of processes of this user
	Libc        string   `json:"libc"`      // "" if there is none that can be asked
	Tools       []string `json:"tools"`     // "sh", "python3 3.11.2": those that are there
	MPI         []string `json:"mpi"`       // versions of the MPI libraries in PATH
	WorkDir     string   `json:"work_dir"`  // where golaunch was called, "" if that does not matter
	WorkDirHere bool     `json:"work_dir_here"`

	Cgroup      cgroups.Limits `json:"cgroup"`
	Shm         uint64         `json:"shm"` // bytes that /dev/shm can hold; 0 if there is none
	Rank        int            `json:"rank"`
	Ways        []Way          `json:"ways"`         // to other ranks' hosts
	WaysUnknown string         `json:"ways_unknown"` // why there are none
}

// Dir is a directory that executables may be brought to.
type Dir struct {
	Path  string `json:"path"`
	There bool   `json:"there"` // and may be written to
	Exec  bool   `json:"exec"`  // the file system lets files be executed
	Free  uint64 `json:"free"`  // bytes
}

// Main is such a rank, of which words has Facts.WorkDir, then Facts.AgentPath if it is not
// "". It prints its facts as a line of JSON and returns the exit status.
func Main(words []string) int {
	f := Facts{Time: time.Now().UnixNano(), CPUs: runtime.NumCPU(), User: os.Getenv("USER"), Home: os.Getenv("HOME")}
	var unknown error // first, as others wait for it
	if f.Rank, f.Ways, unknown = tryOthers(context.Background(), ownEnd(), gather); unknown != nil {
		f.WaysUnknown = unknown.Error()
	}
	f.HomeThere = isDir(f.Home)
	f.System = kernel() + ", " + runtime.GOARCH
	var info syscall.Sysinfo_t
	if syscall.Sysinfo(&info) == nil {
		f.Memory = info.Totalram * uint64(info.Unit)
	}
	for _, path := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm", "/tmp", f.Home + "/.cache"} {
		if path != "" && path != "/.cache" {
			f.Dirs = append(f.Dirs, look(path))
		}
	}
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) == nil {
		f.Files, f.FilesMax = limit.Cur, limit.Max
	}
	const processes = 6 // RLIMIT_NPROC, setrlimit(2)
	if syscall.Getrlimit(processes, &limit) == nil {
		f.Processes = limit.Cur
	}
	f.Libc = firstLine("getconf", "GNU_LIBC_VERSION")
	for _, tool := range []string{"sh", "python3"} {
		if _, err := exec.LookPath(tool); err == nil {
			f.Tools = append(f.Tools, tool)
		}
	}
	for _, ask := range [][]string{{"mpichversion"}, {"ompi_info", "--version"}} {
		if line := firstLine(ask[0], ask[1:]...); line != "" {
			f.MPI = append(f.MPI, strings.Join(strings.Fields(line), " "))
		}
	}
	if len(words) > 0 {
		f.WorkDir, f.WorkDirHere = words[0], isDir(words[0])
	}
	if len(words) > 1 {
		f.AgentPath = words[1]
	}
	f.Cgroup = cgroups.Own()
	var shm syscall.Statfs_t
	if syscall.Statfs("/dev/shm", &shm) == nil {
		f.Shm = shm.Blocks * uint64(shm.Bsize)
	}
	line, err := json.Marshal(f)
	if err == nil {
		_, err = fmt.Fprintf(os.Stdout, "%s\n", line)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "golaunch doctor:", err)
		return 1
	}
	return 0
}

// look examines a directory for executables.
func look(path string) Dir {
	d := Dir{Path: path, There: isDir(path) && unix.MayWrite(path)}
	var fs syscall.Statfs_t
	if syscall.Statfs(path, &fs) == nil {
		const noexec = 8 // ST_NOEXEC, statfs(2)
		d.Exec, d.Free = fs.Flags&noexec == 0, fs.Bavail*uint64(fs.Bsize)
	}
	return d
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// kernel returns the kernel's name and release, as uname -sr prints them: an image may
// lack uname.
func kernel() string {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return strings.TrimSpace("Linux " + string(release))
}

// firstLine returns the first line of a command's output, "" if it fails.
func firstLine(name string, args ...string) string {
	ctx, cancel := context.WithTimeout(context.Background(), toolTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.WaitDelay = time.Second
	cmd.Env = environ.Inherited(os.Environ()) // its MPI library is not the rank's
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
	return strings.TrimSpace(string(line))
}
