package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// defaultPath is searched by ranks without PATH.
const defaultPath = "/usr/local/bin:/usr/bin:/bin"

// startError is the error of a rank's program that cannot be started.
type startError struct {
	code   int // exit code of the job, docs/errors.md
	text   string
	cause  error  // may be nil
	sought string // PATH of a program that is in none of its directories
}

func (e *startError) Error() string { return e.text }

// findProgram returns the path to execute for a program named as in a shell
// command: along path (PATH's value) unless it contains a slash. Relative
// results are relative to the working directory, which must be the rank's.
func findProgram(name, path string) (string, *startError) {
	if strings.Contains(name, "/") {
		if err := checkProgram(name); err != nil {
			if e := explainName(name); e != nil && errors.Is(err, syscall.ENOENT) {
				return "", e
			}
			return "", programError(name, err)
		}
		return name, nil
	}
	var denied error
	dirs := filepath.SplitList(path)
	for _, dir := range dirs {
		if dir == "" {
			dir = "." // as in shells
		}
		// Not Join, which would turn ./x into x.
		candidate := dir + "/" + name
		err := checkProgram(candidate)
		if err == nil {
			return candidate, nil
		}
		if denied == nil && errors.Is(err, syscall.EACCES) {
			denied = err
		}
	}
	if denied != nil {
		return "", programError(name, denied)
	}
	if e := explainName(name); e != nil {
		return "", e
	}
	if strings.Contains(name, "=") { // as other launchers want variables
		return "", &startError{code: job.ExitNotFound, text: fmt.Sprintf("program not found: %s; to set a variable write -x %[1]s", name)}
	}
	searched := fmt.Sprintf("none of the %d directories of PATH (-v names them)", len(dirs))
	if len(dirs) < 2 {
		searched = fmt.Sprintf("no directory of PATH (%q)", path)
	}
	return "", &startError{
		code: job.ExitNotFound, sought: path,
		text: fmt.Sprintf("program not found: %s is in %s; give its path, or install it on this host", name, searched),
	}
}

// explainName recognizes a name that no program has as a line of the shell, or as a
// program of the working directory, which is the rank's.
func explainName(name string) *startError {
	var hint string
	switch err := checkProgram("./" + name); {
	case strings.ContainsAny(name, " \t\n"):
		hint = "for a line of the shell use sh -c '" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	case strings.Contains(name, "/"):
		return nil
	case err == nil:
		hint = "did you mean ./" + name + "?"
	case errors.Is(err, syscall.EACCES):
		hint = "did you mean ./" + name + "? It is not executable: chmod +x " + name
	default:
		return nil
	}
	return &startError{code: job.ExitNotFound, text: fmt.Sprintf("program not found: %s; %s", name, hint)}
}

func checkProgram(path string) error {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT == syscall.S_IFDIR {
		return syscall.EISDIR
	}
	return unix.Executable(path)
}

// programError explains the error of looking at a program or of executing it.
func programError(name string, err error) *startError {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return &startError{code: job.ExitLauncher, cause: err, text: fmt.Sprintf("start %s: %v", name, err)}
	}
	notExec := func(hint string) *startError {
		return &startError{code: job.ExitNotExecutable, text: fmt.Sprintf("program not executable: %s: %s", name, hint)}
	}
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR:
		return &startError{code: job.ExitNotFound, text: fmt.Sprintf("program not found: %s: %v; is it on this host, under that path? --stage brings it along", name, errno)}
	case syscall.EACCES, syscall.EPERM:
		return notExec(errno.Error() + "; check its mode, its directories' and whether its file system is mounted noexec")
	case syscall.EISDIR:
		return notExec("is a directory")
	case syscall.ENOEXEC:
		return notExec("unknown format; is it for another architecture, or a script without a #! line?")
	case syscall.ETXTBSY:
		return notExec("it is being written; wait until the copy is complete")
	case syscall.E2BIG:
		return notExec("arguments and environment are too long for the kernel (ARG_MAX)")
	case syscall.ENAMETOOLONG, syscall.ELOOP, syscall.EIO, syscall.ELIBBAD, syscall.EINVAL:
		return notExec(errno.Error())
	case syscall.EAGAIN:
		return &startError{code: job.ExitLauncher, cause: err, text: fmt.Sprintf("start %s: no more processes are allowed; raise the limit (ulimit -u, cgroup pids.max, kernel.pid_max) or use fewer ranks per host", name)}
	case syscall.ENOMEM:
		return &startError{code: job.ExitLauncher, cause: err, text: fmt.Sprintf("start %s: out of memory; use fewer ranks per host", name)}
	case syscall.EMFILE, syscall.ENFILE:
		return &startError{code: job.ExitLauncher, cause: err, text: fmt.Sprintf("start %s: %v; raise the limit of open files (ulimit -n)", name, errno)}
	}
	return &startError{code: job.ExitLauncher, cause: err, text: fmt.Sprintf("start %s: %v", name, errno)}
}

// execError is programError for a program, at path, that findProgram has found: ENOENT
// is then about its interpreter or loader.
func execError(name, path string, err error) *startError {
	if !errors.Is(err, syscall.ENOENT) {
		return programError(name, err)
	}
	missing := "its interpreter (#! line) or dynamic loader is missing on this host"
	switch interpreter := interpreterOf(path); {
	case strings.HasSuffix(interpreter, "\r"):
		missing = fmt.Sprintf("its #! line ends with a carriage return, so that its interpreter is %q; write it with lines as Unix has them: sed -i 's/\\r$//' %s",
			interpreter, name)
	case interpreter != "":
		missing = fmt.Sprintf("its interpreter %s (#! line) is missing on this host", interpreter)
	}
	return &startError{code: job.ExitNotExecutable, text: fmt.Sprintf("program not executable: %s: %s", name, missing)}
}

// interpreterOf is the interpreter that the #! line of a file names, "" where it has none.
func interpreterOf(file string) string {
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	head := make([]byte, 256) // of which the kernel reads no more
	n, _ := io.ReadFull(f, head)
	line, _, _ := strings.Cut(string(head[:n]), "\n")
	line, ok := strings.CutPrefix(line, "#!")
	if line = strings.Trim(line, " \t"); !ok || line == "" {
		return ""
	}
	return strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })[0]
}
