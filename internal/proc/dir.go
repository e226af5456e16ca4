package proc

import (
	"errors"
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/golaunch/golaunch/internal/job"
)

// changeDir makes the app's working directory the warden's own, which ranks
// inherit, so that it is looked up once and its errors cannot be taken for the
// program's. It returns the directory's path and a note if it is not the one
// asked for.
func (s *spawner) changeDir(a *App, env *environ) (dir, note string, failed *startError) {
	// Relative directories are relative to the first, whichever app was before.
	cause := syscall.ENOENT
	if s.startDir >= 0 {
		if err := syscall.Fchdir(s.startDir); err == nil {
			cause = 0
		}
	}
	if a.Dir == "" && cause == 0 {
		return s.startPWD, "", nil
	}
	wanted := a.Dir
	if wanted == "" {
		wanted = "."
	} else if cause == 0 || filepath.IsAbs(wanted) {
		err := syscall.Chdir(wanted)
		if err == nil {
			if !filepath.IsAbs(wanted) {
				wanted = filepath.Join(s.startPWD, wanted)
			}
			return wanted, "", nil
		}
		errors.As(err, &cause)
	}
	if a.DirGiven {
		return "", "", &startError{code: dirCode(cause), text: fmt.Sprintf("working directory %s: %v; create it on this host or choose another", wanted, cause)}
	}
	home, _ := lookup(env.vars, "HOME")
	for _, dir := range []string{home, "/"} {
		if filepath.IsAbs(dir) && syscall.Chdir(dir) == nil {
			return dir, fmt.Sprintf("working directory %s: %v; ranks run in %s instead", wanted, cause, dir), nil
		}
	}
	return "", "", &startError{code: job.ExitLauncher, text: fmt.Sprintf("working directory %s: %v; neither $HOME nor / can be entered", wanted, cause)}
}

// dirCode is the job's exit code where the directory that the user named cannot
// be entered: that of a program of this name, as with docker's -w. A script may
// try again what ended with job.ExitLauncher, here in vain.
func dirCode(cause syscall.Errno) int {
	switch cause {
	case syscall.ENOENT:
		return job.ExitNotFound
	case syscall.ENOTDIR, syscall.EACCES, syscall.EPERM, syscall.ELOOP, syscall.ENAMETOOLONG:
		return job.ExitNotExecutable
	}
	return job.ExitLauncher // a file system that is down, say
}
