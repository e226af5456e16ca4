package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/link/tlslink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/overlay/rendezvous"
	"github.com/golaunch/golaunch/internal/unix"
)

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
		unix.GrowPipe(moved)
		files[fd] = os.NewFile(uintptr(moved), "link to the parent")
	}
	if err := discardStdio(); err != nil {
		return nil, err
	}
	return stdioPipe{files[0], files[1]}, nil
}

// discardStdio has standard input and output mean nothing.
func discardStdio() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for fd := range 2 {
		if err := syscall.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}

// calls is what an agent has that came by its parent by calling: with the same
// secret it is called by those below it.
type calls struct {
	secret tlslink.Secret
	addr   string                 // of this node, on the network of its parent
	taken  *rendezvous.Rendezvous // nil while nobody is to call
}

// reachedAt is the address at which the parent reaches this node, or "".
func (c *calls) reachedAt() string {
	if c == nil {
		return reachedAt(os.Getenv("SSH_CONNECTION"))
	}
	return c.addr
}

// runCalling runs an agent that calls the launcher. If it loses its parent before
// the launch it begins anew: there may be another for it.
func runCalling(o words, begun time.Time) error {
	secret, err := readSecret(o.secretFile)
	if err != nil {
		return err
	}
	if err := discardStdio(); err != nil {
		return err
	}
	host, err := callingHost(o.hostVariable)
	if err != nil {
		return err
	}
	caller := rendezvous.Caller{
		Secret: secret, Launcher: o.dial, Host: host, Within: cmp.Or(o.within, tlslink.DialTimeout),
		Note: func(line string) { fmt.Fprintln(os.Stderr, "golaunch agent:", line) },
	}
	conn, err := caller.Link(context.Background())
	if err != nil {
		return fmt.Errorf("host %s: %w", host, err)
	}
	a, err := runOn(conn, o, begun, &calls{secret: secret, addr: localIP(conn)})
	switch {
	case err != nil:
		return err
	case a.life.unfit != nil:
		return a.life.unfit // for who waits for this process: the parent had no standard error to read
	case !a.life.end.Lost(), a.life.end.HadLaunch():
		return nil
	}
	return beginAnew(secret, o.secretFile == "")
}

// beginAnew makes this process the agent that it was at first, so that nothing of
// what it has begun goes on: it ends with its descriptors.
func beginAnew(secret tlslink.Secret, onStdin bool) error {
	if onStdin {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		defer r.Close()
		defer w.Close()
		if _, err := io.Copy(w, secret.Reader()); err != nil { // a pipe has room for it
			return err
		}
		if err := syscall.Dup3(int(r.Fd()), 0, 0); err != nil {
			return err
		}
	}
	return fmt.Errorf("begin anew: %w", syscall.Exec("/proc/self/exe", os.Args, os.Environ()))
}

func readSecret(file string) (tlslink.Secret, error) {
	if file != "" {
		return tlslink.ReadSecretFile(file)
	}
	return tlslink.ReadSecret(os.Stdin)
}

// callingHost is the name that the launcher has for this machine.
func callingHost(variable string) (string, error) {
	if variable == "" {
		return os.Hostname()
	}
	if host := os.Getenv(variable); host != "" {
		return host, nil
	}
	return "", fmt.Errorf("the environment has no %s, which is to name this host", variable)
}

// localIP is this node's address on a connection.
func localIP(conn net.Conn) string {
	if tcp, ok := conn.LocalAddr().(*net.TCPAddr); ok {
		return tcp.IP.String()
	}
	return ""
}

// callers makes the bootstrap of agents that are to call this one: it listens while
// there are any, at the address at which the parent reaches this node.
func (a *Agent) callers(r overlay.Range) (bootstrap.Piper, error) {
	if a.calls == nil {
		return nil, errors.New("the agents below are to call, and this one did not")
	}
	p := &rendezvous.Piper{Within: r.ConnectTimeout, Summon: a.requests.summon}
	if len(r.Hosts) == 0 {
		return p, nil
	}
	hosts := make([]string, len(r.Hosts))
	for i, h := range r.Hosts {
		hosts[i] = h.Name
	}
	var err error
	p.Here, err = rendezvous.Listen(a.ctx, rendezvous.Config{
		Secret: a.calls.secret, Addr: net.JoinHostPort(a.calls.addr, "0"), Hosts: hosts,
		Log: func(line string) { a.inbox.Put(callRefused{line}) },
	})
	a.calls.taken = p.Here
	return p, err
}

// callRefused is the event of a call that was refused.
type callRefused struct{ line string }

// noMoreCalls stops listening: no agent is to be started from here any more.
func (a *Agent) noMoreCalls() {
	if a.calls != nil && a.calls.taken != nil {
		a.calls.taken.Close()
		a.calls.taken = nil
	}
}
