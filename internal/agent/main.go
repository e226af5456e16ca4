package agent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/yamuxlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/stage"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// Main is the whole of an agent process; words are the command line after the
// program's name, beginning with overlay.AgentWord or with an option. It returns
// its exit status. A warden never gets to main: see package proc.
//
// An agent talks to its parent over its standard input and output, or, with
// overlay.DialWord, over a connection that it makes (parent.go). It takes
// four options from package stage, to remove the staged executable, and its
// directory, at once, to refuse to run a damaged one, to tell of an installed
// one and to be found by, and from its parent those of overlay.
func Main(words []string) int {
	if !overlay.IsAgent(words) {
		fmt.Fprintf(os.Stderr, "golaunch: %q runs only as part of a job; start jobs with golaunch\n", filepath.Base(os.Args[0]))
		return job.ExitUsage
	}
	if err := runAgent(words); err != nil {
		fmt.Fprintln(os.Stderr, "golaunch agent:", err)
		return 1
	}
	return 0
}

func runAgent(words []string) error {
	begun := time.Now()
	oneProcessor()
	stage.RestoreEnviron()
	if len(words) == 2 {
		switch words[0] {
		case stage.EndStartWord:
			return stage.EndStart(words[1])
		case overlay.SweepWord:
			return sweep(words[1])
		}
	}
	o, err := own(words)
	if err != nil {
		return err
	}
	if err := unix.NeedFiles(ownFiles, "an agent"); err != nil {
		return err
	}
	// A parent that goes away shows on the link, which ends an agent; SIGTERM asks for the
	// end of the job.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	if err := unix.Subreaper(); err != nil {
		return err
	}
	if o.dial != "" {
		return runCalling(o, begun)
	}
	pipe, err := parentPipe()
	if err != nil {
		return err
	}
	_, err = runOn(pipe, o, begun, nil)
	return err
}

// runOn runs an agent on the byte pipe to its parent until the job is over for it.
// calls is how it came by that, if it called.
func runOn(pipe io.ReadWriteCloser, o words, begun time.Time, calls *calls) (*Agent, error) {
	l, err := yamuxlink.New(pipe, yamuxlink.Config{LostAfter: o.lostAfter})
	if err != nil {
		return nil, err
	}
	a, err := newAgentAt(l, calls.reachedAt())
	if err != nil {
		return nil, err
	}
	a.begun, a.calls = begun, calls
	a.life.heed()
	err = a.run()
	if a.life.unfit != nil {
		fmt.Fprintln(os.Stderr, "golaunch agent:", a.life.unfit) // before the link breaks
	}
	a.close()
	return a, err
}

// sweep ends what a job has left here whose agent and warden are dead.
func sweep(nodeJob string) error {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	err := proc.Sweep(ctx, proc.SweepOptions{JobID: nodeJob})
	stage.RemoveScratch(nodeJob)
	return err
}

// words are what the command line tells an agent.
type words struct {
	lostAfter    time.Duration // the parent counts as lost after such a silence
	dial         string        // the launcher's address; "" where the parent has standard input and output
	secretFile   string        // "" for standard input
	hostVariable string
	within       time.Duration
}

// own takes care of the staged executable as the command line says, and returns
// what else that says.
func own(line []string) (o words, err error) {
	for len(line) >= 2 {
		if line[0] == overlay.AgentWord {
			line = line[1:]
			continue
		}
		switch value := line[1]; line[0] {
		case "--unlink":
			dir := filepath.Dir(value)
			os.Remove(value) // what can't be removed is left, and harms nobody
			os.Remove(dir)
			go stage.RemoveStale(filepath.Dir(dir)) // ends with the list of what is there
		case stage.EmptyWord:
			os.Remove(value) // what others have put there stays
		case "--hash":
			if here, err := stage.Running(); err != nil || here.Hash != value {
				return o, fmt.Errorf("the staged executable is damaged (hash %.12s, want %.12s): %w", here.Hash, value, errors.Join(err, errDamaged))
			}
		case stage.InstalledWord:
			if err := stage.Accept(os.Stdout, value); err != nil {
				return o, err
			}
		case stage.StartWord: // for those who look at command lines
		case overlay.LostAfterWord:
			if o.lostAfter, err = time.ParseDuration(value); err != nil {
				return o, err
			}
		case overlay.WithinWord:
			if o.within, err = time.ParseDuration(value); err != nil {
				return o, err
			}
		case overlay.DialWord:
			o.dial = value
		case overlay.SecretWord:
			o.secretFile = value
		case overlay.HostVariableWord:
			o.hostVariable = value
		default:
			return o, fmt.Errorf("unknown option %q", line[0])
		}
		line = line[2:]
	}
	if len(line) != 0 && line[0] != overlay.AgentWord {
		return o, fmt.Errorf("stray word %q", line[0])
	}
	return o, nil
}

var errDamaged = errors.New("remove it and try again")

// newAgent says hello to the parent on l.
func newAgent(l link.Link) (*Agent, error) {
	return newAgentAt(l, reachedAt(os.Getenv("SSH_CONNECTION")))
}

// newAgentAt does so where the node was reached at an address; "" if none is known.
func newAgentAt(l link.Link, addr string) (*Agent, error) {
	poller, err := unix.NewPoller()
	if err != nil {
		return nil, err
	}
	name, err := os.Hostname()
	if err != nil {
		return nil, err
	}
	a := &Agent{
		hello: overlay.Hello{
			Protocol: overlay.Protocol, OSArch: runtime.GOOS + "/" + runtime.GOARCH,
			Cores: runtime.NumCPU(), HostName: name, Addr: addr,
		},
		poller:      poller,
		self:        overlay.HostEntry{Index: job.NoHost}, // until the range
		now:         time.Now,
		descriptors: newDescriptors(poller),
		requests:    requests{signs: map[uint64]signOrigin{}},
	}
	a.join()
	a.inbox = overlay.NewInbox(poller.Wake)
	a.machine.hostFiles = newHostFileReader()
	a.above = overlay.OfParent()
	a.parent = overlay.NewEdge(l, tree.Up, a.above, a.inbox, func(h tree.Header, body []byte) {
		a.inbox.Put(inputArrived{h, body})
	}, func(h tree.Header, body []byte) {
		if overlay.BetweenServers(h.Kind) {
			a.inbox.Put(overlay.Message{From: tree.Up, Stream: link.Data, Header: h, Body: body})
		} else if j := a.jobs.await(h.Job); j != nil {
			j.TakeFile(h, body)
		}
	})
	if a.cold, err = a.begin(job.Cold); err != nil {
		return nil, err
	}
	a.stamp(phaseHello)
	a.parent.Send(link.Control, tree.Header{Kind: overlay.KindHello, To: tree.Neighbor, From: tree.Launcher}, overlay.Encode(a.hello))
	return a, nil
}

// reachedAt is the server's address in sshd's SSH_CONNECTION ("client port
// server port"): the one at which this node was reached.
func reachedAt(connection string) string {
	if f := strings.Fields(connection); len(f) == 4 {
		return f[2]
	}
	return ""
}
