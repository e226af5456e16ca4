package pmixhelper

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/internal/unix"
)

// helper is a golaunch-pmix of one node, from the agent's side.
type helper struct {
	node   int
	conn   net.Conn
	cmd    *exec.Cmd
	dir    string // of Init
	stderr *output
	last   uint32 // request
	ended  chan error
}

// output is the output of a process.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// startHelper starts a helper, with an Init on the way, and has what it says put into a
// channel, with an error as the last, when it has closed its socket.
func startHelper(t *testing.T, k kit, node int, messages chan<- told) *helper {
	t.Helper()
	h := launchHelper(t, k, node, messages)
	h.ask(pmix.Init{Version: pmix.Version, Namespace: "golaunch-test", Node: uint32(node), Host: hostName(node), Dir: h.dir})
	return h
}

// launchHelper is startHelper without the Init.
func launchHelper(t *testing.T, k kit, node int, messages chan<- told) *helper {
	t.Helper()
	ours, theirs, err := unix.StreamPair()
	require.NoError(t, err)
	file := os.NewFile(uintptr(ours), "agent")
	conn, err := net.FileConn(file)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	end := os.NewFile(uintptr(theirs), "helper")

	h := &helper{node: node, conn: conn, dir: t.TempDir(), stderr: &output{}, ended: make(chan error, 1)}
	argv := append(append([]string{}, k.loader...), k.helper, "--library", k.library)
	h.cmd = exec.Command(argv[0], argv[1:]...)
	h.cmd.ExtraFiles = []*os.File{end} // descriptor 3
	h.cmd.Stdout, h.cmd.Stderr = h.stderr, h.stderr
	h.cmd.Env = append(os.Environ(), k.env...)
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	require.NoError(t, h.cmd.Start())
	require.NoError(t, end.Close())
	t.Cleanup(func() {
		conn.Close()
		select {
		case <-h.ended:
		case <-time.After(patience):
			t.Errorf("the helper of node %d stays when its agent has gone", node)
			_ = h.cmd.Process.Kill()
			<-h.ended
		}
		if t.Failed() {
			t.Logf("helper of node %d: %s", node, h.stderr)
		}
	})
	go h.read(messages)
	go func() { h.ended <- h.cmd.Wait(); close(h.ended) }()
	return h
}

func hostName(node int) string { return fmt.Sprintf("node%d", node) }

// told is a frame of a helper, or the end of them.
type told struct {
	node  int
	frame pmix.Frame
	err   error
}

func (h *helper) read(messages chan<- told) {
	var b []byte
	chunk := make([]byte, 64<<10)
	for {
		n, err := h.conn.Read(chunk)
		b = append(b, chunk[:n]...)
		for {
			f, length, bad := pmix.Next(b)
			if bad != nil {
				messages <- told{h.node, pmix.Frame{}, bad}
				return
			}
			if length == 0 {
				break
			}
			b = b[length:]
			messages <- told{node: h.node, frame: f}
		}
		if err != nil {
			messages <- told{h.node, pmix.Frame{}, err}
			return
		}
	}
}

// send sends a frame. Where the helper has gone, reading says so.
func (h *helper) send(request uint32, body any) {
	_, _ = h.conn.Write(pmix.Append(nil, request, body))
}

// ask sends a request and says its number.
func (h *helper) ask(body any) uint32 {
	h.last++
	h.send(h.last, body)
	return h.last
}

// left lists the leftovers of a helper in its directory.
func (h *helper) left(t *testing.T) []string {
	names, err := filepath.Glob(filepath.Join(h.dir, "*"))
	require.NoError(t, err)
	return names
}
