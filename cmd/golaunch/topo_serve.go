package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/network/routing/tii"
)

const (
	// maxClients bounds the clients of a service.
	maxClients = 4096
	// idle bounds the silence of a client, or of a service that is asked, stuck the time
	// in which a client does not read.
	idle  = 10 * time.Minute
	stuck = 30 * time.Second
	// maxAnswer bounds the line that a service answers with, in bytes.
	maxAnswer = 1 << 20
)

// serve answers queries at a socket until it is interrupted.
func (t *topoFlags) serve(e env, _ []string) (int, error) {
	if t.socket == "" {
		return 0, errors.New("say where, with --socket: a path, or 127.0.0.1:PORT")
	}
	if t.mapFile != "" || t.hostfile != "" || len(t.hosts) > 0 {
		return 0, errors.New("it answers about all hosts, by the network's own names; leave --map, --hosts and --hostfile out")
	}
	if t.topology == "-" || t.tables == "-" {
		return 0, errors.New("standard input is read once, and files are read again when they change; give files")
	}
	s := &server{flags: t, said: e.stdio.Stderr, busy: make(chan struct{}, runtime.GOMAXPROCS(0)), guests: newGuests(maxClients)}
	stamp := t.stamp()
	service, err := s.load()
	if err != nil {
		return 0, err
	}
	s.cache = tii.NewCache(service)
	listener, err := listen(t.socket)
	if err != nil {
		return 0, fmt.Errorf("--socket: %w", err)
	}
	ctx, stop := signal.NotifyContext(e.ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	fmt.Fprintf(s.said, "golaunch: topo: %s at %s\n", count(service.Network().Graph().Hosts(), "host"), listener.Addr())
	var group sync.WaitGroup
	group.Go(func() { s.watch(ctx, stamp) })
	s.accept(ctx, listener)
	group.Wait()
	return 0, nil
}

// server is a query service. Its network may be put in another's place while it
// answers.
type server struct {
	flags  *topoFlags
	said   io.Writer
	busy   chan struct{} // has an entry for each query that is computed
	guests *guests

	mu    sync.Mutex
	cache *tii.Cache
}

// load reads the files.
func (s *server) load() (*tii.Service, error) {
	n, err := s.flags.load(s.said)
	if err != nil {
		return nil, err
	}
	known, err := tii.Discover(n.router, progress(s.said, "routes"))
	if err != nil {
		return nil, err
	}
	for _, problem := range known.Problems() {
		fmt.Fprintf(s.said, "golaunch: topo: %v\n", problem)
	}
	return tii.NewService(known, parallel), nil
}

// stamp changes if a file is written.
func (t *topoFlags) stamp() string {
	var stamp strings.Builder
	for _, name := range []string{t.topology, t.tables} {
		if info, err := os.Stat(name); err == nil {
			fmt.Fprintf(&stamp, "%s %d %d ", name, info.Size(), info.ModTime().UnixNano())
		}
	}
	return stamp.String()
}

// watch reads the files again when they have changed, or on SIGHUP.
func (s *server) watch(ctx context.Context, stamp string) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	var tick <-chan time.Time
	if s.flags.refresh > 0 {
		ticker := time.NewTicker(s.flags.refresh)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-hup:
			stamp = s.flags.stamp()
			s.reload()
		case <-tick:
			if now := s.flags.stamp(); now != stamp {
				stamp = now
				s.reload()
			}
		}
	}
}

// reload reads the files again. If they are wrong, the network stays.
func (s *server) reload() {
	service, err := s.load()
	if err != nil {
		fmt.Fprintf(s.said, "golaunch: topo: the network stays as it was: %v\n", err)
		return
	}
	s.mu.Lock()
	changed := s.cache.Update(service)
	s.mu.Unlock()
	if changed {
		fmt.Fprintf(s.said, "golaunch: topo: the network has changed: %s\n", count(service.Network().Graph().Hosts(), "host"))
	}
}

// client answers the questions of one client, line by line, until it has no more.
func (s *server) client(x *guest) {
	conn := x.conn
	in := bufio.NewReaderSize(conn, 4096)
	out := bufio.NewWriter(conn)
	for {
		_ = conn.SetReadDeadline(time.Now().Add(idle))
		line, err := readLine(in)
		if err != nil && (line == "" || !errors.Is(err, io.EOF)) {
			if errors.Is(err, errLongLine) {
				_ = conn.SetWriteDeadline(time.Now().Add(stuck))
				fmt.Fprintf(conn, "error: %v\n", err)
			}
			return
		}
		s.guests.hears(x)
		lines := s.answer(line)
		for _, text := range lines {
			_ = conn.SetWriteDeadline(time.Now().Add(stuck))
			if _, err := out.WriteString(text + "\n"); err != nil {
				return
			}
		}
		more, _ := in.Peek(in.Buffered())
		if bytes.IndexByte(more, '\n') < 0 && out.Flush() != nil || err != nil {
			return
		}
	}
}

var errLongLine = fmt.Errorf("a line of more than %d bytes", tii.MaxLine)

// readLine reads a line without its end. Text behind the last end of line is a line,
// too, and comes with io.EOF.
func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > tii.MaxLine+2 {
			return "", errLongLine
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return strings.TrimRight(string(line), "\r\n"), err
		}
	}
}

// answer returns the answer to a line.
func (s *server) answer(line string) []string {
	q, err := tii.ParseQuery(line)
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	s.mu.Lock()
	lines, ok := s.cache.Get(q)
	service := s.cache.Service()
	s.mu.Unlock()
	if ok {
		return lines
	}
	s.busy <- struct{}{}
	lines, err = service.Answer(q)
	<-s.busy
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	s.mu.Lock()
	s.cache.Put(service, q, lines)
	s.mu.Unlock()
	return lines
}

// isAddress reports whether socket is an address, such as 127.0.0.1:0, and no path.
func isAddress(socket string) bool {
	return !strings.Contains(socket, "/") && strings.Contains(socket, ":")
}

// listen opens a socket: at a path, for this user only, or at an address of this
// machine's own.
func listen(socket string) (entrance, error) {
	if isAddress(socket) {
		address, err := net.ResolveTCPAddr("tcp", socket)
		if err != nil {
			return nil, err
		}
		if !address.IP.IsLoopback() {
			return nil, fmt.Errorf("%s: anybody could ask there; give a path, or 127.0.0.1:PORT", socket)
		}
		l, err := net.ListenTCP("tcp", address)
		if err != nil {
			return nil, err
		}
		calls, err := unix.NewListener(l)
		return public{calls}, err
	}
	if info, err := os.Lstat(socket); err == nil {
		if info.Mode()&os.ModeSocket == 0 {
			return nil, fmt.Errorf("%s is there already and is no socket; give another path", socket)
		}
		conn, err := net.Dial("unix", socket)
		switch {
		case err == nil:
			_ = conn.Close()
			return nil, fmt.Errorf("%s: a service is there already", socket)
		case !errors.Is(err, syscall.ECONNREFUSED): // one that has too many callers, or is another user's
			return nil, fmt.Errorf("a service may be there already: %w; end it, or give another path", err)
		}
		if err := os.Remove(socket); err != nil {
			return nil, err
		}
	}
	mask := syscall.Umask(0o177)
	defer syscall.Umask(mask)
	l, err := net.Listen("unix", socket)
	return private{l}, err
}

// ask has a service answer a line, and prints the answer.
func (t *topoFlags) ask(e env, line string) (int, error) {
	kind := "unix"
	if isAddress(t.socket) {
		kind = "tcp"
	}
	conn, err := net.DialTimeout(kind, t.socket, stuck)
	if err != nil {
		return 0, fmt.Errorf("--socket: nobody answers: %w; start golaunch topo serve", err)
	}
	defer conn.Close()
	defer context.AfterFunc(e.ctx, func() { _ = conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(idle))
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return 0, fmt.Errorf("--socket: %w", err)
	}
	answer, err := bufio.NewReader(io.LimitReader(conn, maxAnswer)).ReadString('\n')
	switch {
	case len(answer) == maxAnswer:
		return 0, fmt.Errorf("--socket: an answer of more than %d bytes: is it golaunch topo serve?", maxAnswer)
	case err != nil:
		return 0, fmt.Errorf("--socket: no answer of the service: %w", err)
	}
	if text, wrong := strings.CutPrefix(answer, "error: "); wrong {
		fmt.Fprintf(e.stdio.Stderr, "golaunch: topo: %s", text)
		return exitProblem, nil
	}
	return e.print(answer)
}
