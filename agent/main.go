package agent

import (
	"crypto/sha256"
	"encoding/hex"
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

	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/link/yamuxlink"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/stage"
	"github.com/golaunch/golaunch/tree"
)

// Main is the whole of an agent process; words are the command line after the
// program's name, beginning with overlay.AgentWord or with an option. It returns
// the exit status. A warden never gets to main: see package proc.
//
// An agent talks to its parent over its standard input and output. It takes
// three options from package stage, to remove the staged executable, and its
// directory, at once, to refuse to run a damaged one and to tell of an installed
// one, and one from its parent: overlay.LostAfterWord.
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

// ownFiles is how many files an agent may have open before it has ranks.
const ownFiles = 32

func runAgent(words []string) error {
	begun := time.Now()
	oneProcessor()
	lostAfter, err := own(words)
	if err != nil {
		return err
	}
	if err := unix.NeedFiles(ownFiles, "an agent"); err != nil {
		return err
	}
	// A parent that goes away shows on the link; nothing else ends an agent.
	signal.Ignore(syscall.SIGPIPE, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)
	if err := unix.Subreaper(); err != nil {
		return err
	}
	pipe, err := parentPipe()
	if err != nil {
		return err
	}
	l, err := yamuxlink.New(pipe, yamuxlink.Config{LostAfter: lostAfter})
	if err != nil {
		return err
	}
	a, err := newAgent(l)
	if err != nil {
		return err
	}
	a.begun = begun
	err = a.run()
	if a.unfit != nil {
		fmt.Fprintln(os.Stderr, "golaunch agent:", a.unfit) // before the link breaks
	}
	a.close()
	return err
}

// own takes care of the staged executable as the command line says, and returns
// after what silence the parent counts as lost.
func own(words []string) (lostAfter time.Duration, err error) {
	for len(words) >= 2 {
		if words[0] == overlay.AgentWord {
			words = words[1:]
			continue
		}
		switch value := words[1]; words[0] {
		case "--unlink":
			os.Remove(value) // what can't be removed is left, and harms nobody
			os.Remove(filepath.Dir(value))
		case "--hash":
			if got, err := selfHash(); err != nil || got != value {
				return 0, fmt.Errorf("the staged executable is damaged (hash %.12s, want %.12s): %w", got, value, errors.Join(err, errDamaged))
			}
		case stage.InstalledWord:
			if err := stage.Accept(os.Stdout, value); err != nil {
				return 0, err
			}
		case overlay.LostAfterWord:
			if lostAfter, err = time.ParseDuration(value); err != nil {
				return 0, err
			}
		default:
			return 0, fmt.Errorf("unknown option %q", words[0])
		}
		words = words[2:]
	}
	if len(words) != 0 && words[0] != overlay.AgentWord {
		return 0, fmt.Errorf("stray word %q", words[0])
	}
	return lostAfter, nil
}

var errDamaged = errors.New("remove it and try again")

func selfHash() (string, error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// stdioPipe is the byte pipe to the parent.
type stdioPipe struct{ in, out *os.File }

func (p stdioPipe) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p stdioPipe) Write(b []byte) (int, error) { return p.out.Write(b) }

// Close ends both directions.
func (p stdioPipe) Close() error { return errors.Join(p.in.Close(), p.out.Close()) }

// parentPipe moves standard input and output out of the way, so that nothing
// else can write into the link.
func parentPipe() (io.ReadWriteCloser, error) {
	var files [2]*os.File
	for fd := range files {
		moved, err := syscall.Dup(fd)
		if err != nil {
			return nil, fmt.Errorf("standard input and output must be the parent's link: %w", err)
		}
		syscall.CloseOnExec(moved)
		if err := syscall.SetNonblock(moved, true); err != nil {
			return nil, err
		}
		files[fd] = os.NewFile(uintptr(moved), "link to the parent")
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	for fd := range files {
		if err := syscall.Dup3(int(null.Fd()), fd, 0); err != nil {
			return nil, err
		}
	}
	return stdioPipe{files[0], files[1]}, nil
}

// newAgent says hello to the parent on l.
func newAgent(l link.Link) (*Agent, error) {
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
			Cores: runtime.NumCPU(), HostName: name, Addr: reachedAt(os.Getenv("SSH_CONNECTION")),
		},
		poller:  poller,
		now:     time.Now,
		signs:   map[uint64]signOrigin{},
		worlds:  map[int]*world{},
		watched: map[int]watched{},
		service: service{shared: -1, callers: map[job.Rank]*caller{}, left: map[job.Rank]bool{}, gets: map[uint64]fence{}},
	}
	a.inbox = overlay.NewInbox(poller.Wake)
	a.files = newFiles(func(dir string, err error) { a.inbox.Put(filesHere{dir, err}) })
	a.parent = overlay.NewEdge(l, tree.Up, a.inbox, func(h tree.Header, body []byte) {
		a.inbox.Put(inputArrived{h, body})
	}, func(h tree.Header, body []byte) {
		if h.Kind == overlay.KindRecords {
			a.inbox.Put(overlay.Message{From: tree.Up, Stream: link.Data, Header: h, Body: body})
		} else {
			a.files.take(h, body)
		}
	})
	a.output, err = newOutput(a.parent, func() { a.inbox.Put(outputIdle{}) })
	if err != nil {
		return nil, err
	}
	a.stamp(nil, phaseHello)
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
