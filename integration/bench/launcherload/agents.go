package launcherload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/agent"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/fork"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/link/yamuxlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

// rootWord is the bench's first word where it stands for the host on which golaunch
// starts the root: the template is `COMMAND launcherload root {host} {command}`.
const rootWord = "root"

// usageDir names, in the environment, the directory in which processes of agents leave
// word of their usage.
const usageDir = "LAUNCHERLOAD_USAGE"

// serveRoot runs the root agent: it starts those below as processes, each of which
// holds all agents below it.
func serveRoot(words []string) error {
	// The words are those of package stage's script, after the host: the magic
	// comes in halves, after "golaunch".
	at := slices.Index(words, "golaunch")
	if at < 0 || len(words) < at+3 {
		return errors.New("not the command that starts an agent")
	}
	fmt.Println(words[at+1] + words[at+2] + " have") // the script's word that an agent follows
	return serve(words, agent.Harness{Piper: func() bootstrap.Piper { return fork.New() }, Warden: fakeWarden})
}

func fakeWarden() agent.Warden { return newWarden() }

// serve runs this process's agents.
func serve(words []string, h agent.Harness) error {
	lostAfter := time.Duration(0)
	if at := slices.Index(words, overlay.LostAfterWord); at >= 0 && at+1 < len(words) {
		var err error
		if lostAfter, err = time.ParseDuration(words[at+1]); err != nil {
			return err
		}
	}
	if _, err := unix.RaiseNoFile(1 << 20); err != nil {
		return err
	}
	pipe, err := standardPipe()
	if err != nil {
		return err
	}
	l, err := yamuxlink.New(pipe, yamuxlink.Config{LostAfter: lostAfter})
	if err != nil {
		return err
	}
	branch.agents.Add(1)
	err = agent.Serve(l, h) // it ends after those below
	return errors.Join(err, tellUsage())
}

// standardPipe returns the link's bytes, which can be closed while they are awaited.
func standardPipe() (io.ReadWriteCloser, error) {
	var files [2]*os.File
	for fd := range files {
		if err := syscall.SetNonblock(fd, true); err != nil {
			return nil, err
		}
		files[fd] = os.NewFile(uintptr(fd), "link to the parent")
	}
	return struct {
		io.Reader
		io.Writer
		io.Closer
	}{files[0], files[1], closers{files[0], files[1]}}, nil
}

type closers [2]*os.File

func (c closers) Close() error { return errors.Join(c[0].Close(), c[1].Close()) }

// inside is the bootstrap of agents in this process.
type inside struct{ agents atomic.Int64 }

var branch inside

var _ bootstrap.Piper = (*inside)(nil)

func (*inside) Reach() bootstrap.Reach { return bootstrap.Anywhere }
func (*inside) NeedsStaging() bool     { return false }

func (i *inside) Start(_ context.Context, host bootstrap.Host, _ []string) (bootstrap.Pipe, error) {
	parent, child := memlink.Pair()
	i.agents.Add(1)
	go func() { // ends with the link
		if err := agent.Serve(child, agent.Harness{Piper: func() bootstrap.Piper { return i }, Warden: fakeWarden}); err != nil {
			fmt.Fprintf(os.Stderr, "launcherload: agent of %s: %v\n", host.Name, err)
		}
	}()
	return linked{parent}, nil
}

// linked is a Pipe that is a link.
type linked struct{ l link.Link }

var _ overlay.Linked = linked{}

func (p linked) Link() link.Link           { return p.l }
func (linked) Read([]byte) (int, error)    { return 0, io.EOF }
func (linked) Write(b []byte) (int, error) { return len(b), nil }
func (linked) Close() error                { return nil }
func (linked) Diagnostics() string         { return "" }
func (linked) PeerAddr() string            { return "" }

// tellUsage leaves word of the usage of this process's agents.
func tellUsage() error {
	dir := os.Getenv(usageDir)
	if dir == "" {
		return nil
	}
	cpu, memory := unix.SelfUsage()
	line := fmt.Sprintln(branch.agents.Load(), memory, cpu.Microseconds())
	return os.WriteFile(fmt.Sprintf("%s/%d", strings.TrimSuffix(dir, "/"), os.Getpid()), []byte(line), 0o600)
}
