package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/network/routing/tii"
)

// service runs golaunch topo serve until the test ends; it returns its place, and its
// further words, line by line.
func service(t *testing.T, socket string, args ...string) (addr string, said *bufio.Scanner) {
	t.Helper()
	read, write := io.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		stdio := launcher.IO{Stdout: io.Discard, Stderr: write}
		status := run(ctx, append([]string{"topo", "serve", "--socket", socket}, args...), stdio, nil)
		_ = write.Close()
		ended <- status
	}()
	t.Cleanup(func() {
		stop()
		go func() { _, _ = io.Copy(io.Discard, read) }()
		assert.Zero(t, <-ended)
	})
	said = bufio.NewScanner(read)
	require.True(t, said.Scan(), "the service said nothing")
	_, addr, ok := strings.Cut(said.Text(), " at ")
	require.True(t, ok, said.Text())
	return addr, said
}

// client asks a service lines.
type client struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func dial(t *testing.T, kind, addr string) client {
	conn, err := net.Dial(kind, addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return client{t, conn, bufio.NewReader(conn)}
}

func (c client) ask(line string) string {
	_, err := io.WriteString(c.conn, line+"\n")
	require.NoError(c.t, err)
	return c.read()
}

func (c client) read() string {
	answer, err := c.in.ReadString('\n')
	require.NoError(c.t, err)
	return strings.TrimSuffix(answer, "\n")
}

func TestServe(t *testing.T) {
	const fabrics = "../../network/topology/ibnet/testdata/"
	socket := filepath.Join(t.TempDir(), "s")
	addr, _ := service(t, socket, "--topology", fabrics+"pgft_16.opensm-subnet.lst", "--tables", fabrics+"pgft_16.opensm-lfts.dump")
	require.Equal(t, socket, addr)
	info, err := os.Stat(socket)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "for this user alone")

	const line, route = "query h0000:h0015", "h0000_HCA-1 0x0002c90201000004 0x0002c90202000008 0x0002c90201000010 h0015_HCA-1"
	var group sync.WaitGroup
	for range 64 {
		group.Go(func() {
			c := dial(t, "unix", addr)
			for range 10 {
				assert.Equal(t, route, c.ask(line))
				assert.Equal(t, "depth 2", c.ask("depth"))
			}
		})
	}
	group.Wait()

	c := dial(t, "unix", addr)
	assert.Equal(t, `error: host "far" is not in the network`, c.ask("query far:h0000"))
	assert.Equal(t, "sharing 0", c.ask("sharing *"), "OpenSM spreads destinations over all links")
	assert.Equal(t, "routes 16", c.ask("query h0000:*"))
	for range 16 {
		assert.True(t, strings.HasPrefix(c.read(), "h0000_HCA-1 "))
	}
	_, err = io.WriteString(c.conn, "depth\nclusters 2 *\nleaf h000[0-3]\r\n")
	require.NoError(t, err)
	assert.Equal(t, []string{"depth 2", "clusters 4", "leaf 4.000 switches 1 balance 1.000"}, []string{c.read(), c.read(), c.read()})

	// An answer does not wait for the rest of another line.
	_, err = io.WriteString(c.conn, "depth\ndep")
	require.NoError(t, err)
	assert.Equal(t, "depth 2", c.read())
	assert.Equal(t, "depth 2", c.ask("th"))

	// The last line needs no end.
	_, err = io.WriteString(c.conn, "depth")
	require.NoError(t, err)
	require.NoError(t, c.conn.(*net.UnixConn).CloseWrite())
	assert.Equal(t, "depth 2", c.read())

	// A line without end costs no memory, and its client.
	long := dial(t, "unix", addr)
	go func() {
		for {
			if _, err := io.WriteString(long.conn, strings.Repeat("x", 1<<12)); err != nil {
				return
			}
		}
	}()
	assert.Equal(t, fmt.Sprintf("error: a line of more than %d bytes", tii.MaxLine), long.read())

	var out, errs strings.Builder
	ask := func(args ...string) int {
		out.Reset()
		errs.Reset()
		return run(t.Context(), append([]string{"topo", "route", "--socket", socket}, args...), launcher.IO{Stdout: &out, Stderr: &errs}, nil)
	}
	assert.Zero(t, ask("h0000", "h0015"))
	assert.Equal(t, route+"\n", out.String())
	assert.Equal(t, exitProblem, ask("h0000", "far"))
	assert.Equal(t, "golaunch: topo: host \"far\" is not in the network\n", errs.String())

	// A second service does not take its place.
	assert.Equal(t, 2, run(t.Context(), []string{"topo", "serve", "--topology", "torus:4x4", "--socket", socket}, launcher.IO{Stderr: &errs}, nil))
	assert.Contains(t, errs.String(), "a service is there already")
}

func TestServeOnLoopback(t *testing.T) {
	addr, _ := service(t, "127.0.0.1:0", "--topology", "fattree:2,2/1,1/1,1")
	assert.Equal(t, "h0 s0 s2 s1 h3", dial(t, "tcp", addr).ask("query h0:h3"))
}

// A service that has no time for another caller keeps its place.
func TestServeBesideABusyService(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	address := &syscall.SockaddrUnix{Name: socket}
	open := func() int {
		fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK|syscall.SOCK_CLOEXEC, 0)
		require.NoError(t, err)
		t.Cleanup(func() { _ = syscall.Close(fd) })
		return fd
	}
	busy := open()
	require.NoError(t, syscall.Bind(busy, address))
	require.NoError(t, syscall.Listen(busy, 0))
	var err error
	for err == nil { // until no more callers may wait
		err = syscall.Connect(open(), address)
	}
	require.ErrorIs(t, err, syscall.EAGAIN)
	_, err = listen(socket)
	require.ErrorContains(t, err, "a service may be there already: ")
	_, _, err = syscall.Accept(busy)
	require.NoError(t, err, "it has its callers still")
	require.FileExists(t, socket)
}

// Another program in the place of a service, which answers without end or not at all,
// is not heard for ever.
func TestAskingWhatIsNoService(t *testing.T) {
	for name, x := range map[string]struct {
		answer func(conn net.Conn, stop func())
		want   string
	}{
		"without end": {func(conn net.Conn, _ func()) {
			for err := error(nil); err == nil; {
				_, err = io.WriteString(conn, strings.Repeat("x", 1<<16))
			}
		}, "an answer of more than 1048576 bytes"},
		"not at all":   {func(_ net.Conn, stop func()) { stop() }, "no answer of the service"},
		"no whole one": {func(conn net.Conn, _ func()) { _, _ = io.WriteString(conn, "h0 "); _ = conn.Close() }, "no answer of the service: EOF"},
	} {
		t.Run(name, func(t *testing.T) {
			socket := filepath.Join(t.TempDir(), "s")
			listener, err := net.Listen("unix", socket)
			require.NoError(t, err)
			defer listener.Close()
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var server sync.WaitGroup
			defer server.Wait()
			server.Go(func() { // ends with its client
				conn, err := listener.Accept()
				if assert.NoError(t, err) {
					_, err = bufio.NewReader(conn).ReadString('\n')
					assert.NoError(t, err)
					x.answer(conn, stop)
				}
			})
			var errs strings.Builder
			args := []string{"topo", "route", "a", "b", "--socket", socket}
			assert.Equal(t, 2, run(ctx, args, launcher.IO{Stdout: io.Discard, Stderr: &errs}, nil))
			assert.Contains(t, errs.String(), x.want)
		})
	}
}

// A socket that a service left behind is used again.
func TestServeAfterACrash(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	left, err := net.ListenUnix("unix", &net.UnixAddr{Name: socket, Net: "unix"})
	require.NoError(t, err)
	left.SetUnlinkOnClose(false)
	require.NoError(t, left.Close())
	addr, _ := service(t, socket, "--topology", "torus:4x4")
	assert.Equal(t, "depth", strings.Fields(dial(t, "unix", addr).ask("depth"))[0])
}

// Files that have changed are read again; wrong ones leave the network as it was.
func TestServeReadsAgain(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "topology.conf")
	write := func(text string) {
		next := filepath.Join(dir, "next")
		require.NoError(t, os.WriteFile(next, []byte(text), 0o600))
		require.NoError(t, os.Rename(next, file))
	}
	write("SwitchName=s0 Nodes=a[1-2]\nSwitchName=s1 Nodes=b[1-2]\nSwitchName=s2 Switches=s[0-1]\n")
	addr, said := service(t, filepath.Join(dir, "s"), "--topology", file, "--refresh", "10ms")
	c := dial(t, "unix", addr)
	assert.Equal(t, "a1 s0 s2 s1 b1", c.ask("query a1:b1"))
	before := c.ask("network")

	write("SwitchName=s0 Nodes=a[1-2\n")
	require.True(t, said.Scan())
	assert.Contains(t, said.Text(), "the network stays as it was: --topology: "+file+":1: ")
	assert.Equal(t, before, c.ask("network"))

	write("SwitchName=s0 Nodes=a[1-2],b1\nSwitchName=s1 Nodes=b2\nSwitchName=s2 Switches=s[0-1]\n")
	require.True(t, said.Scan())
	assert.Equal(t, "golaunch: topo: the network has changed: 4 hosts", said.Text())
	assert.Equal(t, "a1 s0 b1", c.ask("query a1:b1"))
	assert.NotEqual(t, before, c.ask("network"))
}
