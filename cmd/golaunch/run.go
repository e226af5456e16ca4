package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/hostlist"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/launcher/singleton"
)

// launchFunc carries out a job: launcher.Run.
type launchFunc func(context.Context, launcher.Options, launcher.IO) int

// run is golaunch from its arguments to its exit status.
func run(ctx context.Context, args []string, stdio launcher.IO, launch launchFunc) int {
	c, err := parseOrSingleton(args)
	if err != nil {
		return usageError(stdio.Stderr, fmt.Errorf("%w; try 'golaunch --help'", err))
	}
	if c.help || c.version {
		var text strings.Builder
		if c.help {
			writeHelp(&text, c.flags)
		} else {
			fmt.Fprintln(&text, versionLine())
		}
		if _, err := io.WriteString(stdio.Stdout, text.String()); err != nil {
			fmt.Fprintf(stdio.Stderr, "golaunch: the output cannot be written: %v\n", reason(err))
			return job.ExitLauncher
		}
		return 0
	}
	o, err := c.options()
	if err != nil {
		return usageError(stdio.Stderr, err)
	}
	return launch(ctx, o, stdio)
}

// parseOrSingleton reads a command line, which may be that of an MPI program that
// wants its process manager.
func parseOrSingleton(args []string) (*commandLine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("own executable: %w", err)
	}
	words, err := singleton.Args(args, self)
	if err != nil {
		return nil, err
	}
	c, err := parse(words, os.Environ())
	if err == nil {
		c.Singleton = len(words) > len(args)
	}
	return c, err
}

// usageError prints err as one line, whatever the arguments held.
func usageError(w io.Writer, err error) int {
	line := strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, err.Error())
	fmt.Fprintf(w, "golaunch: %s\n", line)
	return job.ExitUsage
}

// options completes what the flags said with this machine's directory,
// environment and hosts.
func (c *commandLine) options() (launcher.Options, error) {
	o := c.Options
	var err error
	if o.Dir, err = os.Getwd(); err != nil {
		return o, fmt.Errorf("the working directory is unusable: %w; change to another", err)
	}
	if !c.envNone {
		o.Env = inherited(c.environ)
	}
	for _, kv := range c.genv {
		o.Env = setVariable(o.Env, kv)
	}
	if o.Hosts, err = c.findHosts(); err == nil && len(o.Hosts) == 0 {
		err = c.wordsAreHosts()
	}
	return o, err
}

// findHosts reads the hosts from --hosts, --hostfile or, if none of the flags
// says where to run, a resource manager's allocation.
func (c *commandLine) findHosts() ([]job.Host, error) {
	switch {
	case len(c.hosts) > 0 && c.hostfile != "":
		return nil, errors.New("--hosts and --hostfile exclude each other; name all hosts in one")
	case len(c.hosts) > 0:
		return hostlist.Parse(strings.Join(c.hosts, ","), "-H")
	case c.hostfile != "":
		var file hostlist.File
		err := withFile(c.hostfile, func(r io.Reader) (err error) {
			file, err = hostlist.ParseFile(r, c.hostfile)
			return err
		})
		if err == nil && file.Capped != "" && c.Oversubscribe {
			err = fmt.Errorf("%s: max_slots forbids --oversubscribe; leave one out", file.Capped)
		}
		return file.Hosts, err
	case c.Nodes > 0 || c.Bootstrap == launcher.BootstrapFork:
		return nil, nil
	}
	return allocation(c.environ)
}

// withFile hands the contents of a file to read. The error begins with name.
func withFile(name string, read func(io.Reader) error) error {
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, reason(err))
	}
	defer f.Close()
	return read(f)
}

// reason is the cause of a file error without the file's name.
func reason(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}
	return err
}
