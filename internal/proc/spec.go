package proc

import (
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// Rlimit is a resource limit that ranks get; unix.Rlimits reads the launcher's.
type Rlimit = unix.Rlimit

// Spec is the common part of the ranks of one Launch.
type Spec struct {
	// Env is the ranks' environment, NAME=value. Of several with one name the
	// last counts, and App.Env and Child.Env, in this order, come after it.
	Env  []string
	Apps []App // the programs, which Child.App selects
	// Umask is the ranks' file mode creation mask.
	Umask int
	// Rlimits are set in the order given. Limits above this host's hard limits
	// are cut to them, with a Note. Without one for open files, ranks may see the
	// agent's raised one.
	Rlimits []Rlimit
	// Socket is the variable by which a rank finds the number of its socket; "" for
	// ranks that are not told.
	Socket string
}

// App is one program.
type App struct {
	Argv []string // program, sought along the rank's PATH if it has no slash, and arguments
	Env  []string
	// Dir is the working directory, which relative programs and PATH entries
	// are relative to. Empty is the agent's own. If it cannot be entered, that is
	// an error where DirGiven, and otherwise ranks run in $HOME or / with a Note.
	Dir      string
	DirGiven bool
	// Path lists directories, between colons, in which a program without a slash is
	// sought before PATH.
	Path string
}

// Child is one rank to start.
type Child struct {
	World int // world of the job, 0 but for spawned ones; handed back in events
	Rank  job.Rank
	App   int      // index into Spec.Apps
	Env   []string // this rank's own variables
	// StdinPipe says that stdin is a pipe, whose other end comes with Started;
	// otherwise it is /dev/null.
	StdinPipe bool
	// Terminal, if not nil, has standard input, output and error be a pseudo-terminal of
	// that size, which controls the rank's session; StdinPipe is not set then.
	Terminal *unix.Window
	// Unbuffered has standard output be a raw pseudo-terminal of 80 columns and 24 rows that
	// controls no session, so that libraries hold back no line: without Terminal, and where
	// the node has one.
	Unbuffered bool
	// CPUs are those on which the rank is to run, ascending; none are the agent's own.
	CPUs []int
}

// validate checks the values that the warden relies on.
func (s *Spec) validate() error {
	if err := noNUL("environment", s.Env); err != nil {
		return err
	}
	for i := range s.Apps {
		a := &s.Apps[i]
		if len(a.Argv) == 0 || a.Argv[0] == "" {
			return fmt.Errorf("app %d: no program named", i)
		}
		if err := noNUL(fmt.Sprintf("app %d: arguments", i), a.Argv); err != nil {
			return err
		}
		if err := noNUL(fmt.Sprintf("app %d: environment", i), a.Env); err != nil {
			return err
		}
		if err := noNUL(fmt.Sprintf("app %d: directory", i), []string{a.Dir}); err != nil {
			return err
		}
	}
	if s.Umask < 0 || s.Umask > 0o777 {
		return fmt.Errorf("umask %#o: not a file mode creation mask", s.Umask)
	}
	for _, l := range s.Rlimits {
		if err := l.Valid(); err != nil {
			return err
		}
	}
	return noNUL("environment", []string{s.Socket})
}

func (c *Child) validate(apps int) error {
	if c.App < 0 || c.App >= apps {
		return fmt.Errorf("rank %d: app %d of %d does not exist", c.Rank, c.App, apps)
	}
	if c.Terminal != nil && c.StdinPipe {
		return fmt.Errorf("rank %d: standard input is a terminal and a pipe", c.Rank)
	}
	return noNUL(fmt.Sprintf("rank %d: environment", c.Rank), c.Env)
}

// noNUL refuses strings that the kernel would cut short.
func noNUL(name string, list []string) error {
	for _, s := range list {
		if strings.IndexByte(s, 0) >= 0 {
			return fmt.Errorf("%s: %q contains a zero byte", name, s)
		}
	}
	return nil
}
