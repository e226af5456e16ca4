package pmixhelper

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sort"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/pmix"
)

const nodes = 2

// patience is the time for which a cluster waits for a message.
const patience = 2 * time.Minute

// cluster plays the agents of two nodes, with a helper each, and of a job's worlds: it
// does at once, and in one place, what agents do over the tree.
type cluster struct {
	t        *testing.T
	kit      kit
	helpers  []*helper
	messages chan told
	ended    chan ended
	worlds   map[string]*world
	waiting  map[waitKey]func(pmix.Frame) // answers of the helpers
	meets    map[string]*meet
	names    []name
	lookups  []lookup
	context  uint64

	aborts []pmix.Abort
	logs   []pmix.Log
	notes  []string // messages in the order of their arrival
	modex  int      // direct ones
	events []pmix.Event
}

type waitKey struct {
	node    int
	request uint32
}

type world struct {
	name  string
	size  int
	ranks []*rank
}

type rank struct {
	world  *world
	number int
	node   int
	cmd    *exec.Cmd
	out    *output
	over   bool
	code   int
	signal syscall.Signal
	client []bool // Client frames: whether finalized
}

type ended struct {
	rank *rank
	err  error
}

// meet is an operation that nodes meet in.
type meet struct {
	asked map[int]pmix.Frame // by node
}

type name struct {
	entry       pmix.Entry
	persistence pmix.Persistence
}

type lookup struct {
	node    int
	request uint32
	pmix.Lookup
}

func newCluster(t *testing.T, k kit) *cluster {
	c := &cluster{
		t: t, kit: k, messages: make(chan told, 100), ended: make(chan ended, 100),
		worlds: map[string]*world{}, waiting: map[waitKey]func(pmix.Frame){}, meets: map[string]*meet{}, context: 7,
	}
	for node := range nodes {
		h := startHelper(t, k, node, c.messages)
		c.helpers = append(c.helpers, h)
		c.expect(node, h.last, func(f pmix.Frame) {
			ready := f.Body.(pmix.Ready)
			require.NotEmpty(t, ready.Library)
			t.Logf("node %d has %s, PMIx %s", node, ready.Library, ready.Version)
		})
	}
	c.until(func() bool { return len(c.waiting) == 0 })
	return c
}

func (c *cluster) expect(node int, request uint32, answer func(pmix.Frame)) {
	c.waiting[waitKey{node, request}] = answer
}

// until carries out what comes until something is so.
func (c *cluster) until(so func() bool) {
	c.t.Helper()
	deadline := time.After(patience)
	for !so() {
		select {
		case told := <-c.messages:
			require.NoError(c.t, told.err, "helper of node %d: %s", told.node, c.helpers[told.node].stderr)
			c.frame(told.node, told.frame)
		case e := <-c.ended:
			c.rankEnded(e)
		case <-deadline:
			for _, w := range c.worlds {
				for _, r := range w.ranks {
					c.t.Logf("rank %d of %s, clients %v: %s", r.number, w.name, r.client, r.out)
				}
			}
			require.Fail(c.t, "too long", "what came: %v", c.notes)
		}
	}
}

// untilClients carries out what comes until the helpers have told so much of each rank of a
// world, which may have ended before that is read.
func (c *cluster) untilClients(w *world, times int) {
	c.t.Helper()
	c.until(func() bool {
		return !slices.ContainsFunc(w.ranks, func(r *rank) bool { return len(r.client) < times })
	})
}

// start registers a world and starts its ranks when that is done everywhere. Each node
// has a block of it.
func (c *cluster) start(name string, argv []string, dir string, env []string, size int, parent pmix.Proc, started func(err string)) {
	w := &world{name: name, size: size}
	description := pmix.World{
		Namespace: name, Universe: uint32(size),
		Apps:   []pmix.App{{Size: uint32(size), Argv: argv, Dir: dir}},
		Parent: parent, UID: uint32(os.Getuid()), GID: uint32(os.Getgid()),
	}
	first, used := 0, min(nodes, size)
	for node := range used {
		count := size / used
		if node == used-1 {
			count = size - first
		}
		description.Hosts = append(description.Hosts, hostName(node))
		description.Blocks = append(description.Blocks, pmix.Block{First: uint32(first), Count: uint32(count), Host: uint32(node)})
		for i := range count {
			w.ranks = append(w.ranks, &rank{world: w, number: first + i, node: node, out: &output{}})
		}
		first += count
	}
	c.worlds[name] = w
	left := nodes
	for node, h := range c.helpers {
		mine := description
		mine.Self = -1
		if node < used {
			mine.Self, mine.Dir = int32(node), c.t.TempDir()
			b := mine.Blocks[node]
			for i := range b.Count {
				mine.Locals = append(mine.Locals, pmix.Local{Rank: b.First + i, CPUs: "0"})
			}
		}
		c.expect(node, h.ask(mine), func(f pmix.Frame) {
			r := f.Body.(pmix.Registered)
			require.Equal(c.t, pmix.Success, r.Status, r.Text)
			require.Len(c.t, r.Envs, len(mine.Locals))
			for i, l := range mine.Locals {
				w.ranks[l.Rank].cmd = c.command(argv, dir, slices.Concat(env, r.Envs[i], c.shared(node)))
			}
			if left--; left == 0 {
				started(c.run(w))
			}
		})
	}
}

// shared returns the variables that the agent adds: Open MPI's segments apart for each
// node, and a launcher that Open MPI 4 knows.
func (c *cluster) shared(node int) []string {
	dir := c.helpers[node].dir
	return []string{
		"FLUX_JOB_ID=1", "OMPI_MCA_btl_vader_backing_directory=" + dir, "OMPI_MCA_btl_sm_backing_directory=" + dir,
		"OMPI_MCA_osc_sm_backing_directory=" + dir, "OMPI_MCA_osc_rdma_backing_directory=" + dir,
	}
}

func (c *cluster) command(argv []string, dir string, env []string) *exec.Cmd {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = dir, env
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return cmd
}

func (c *cluster) run(w *world) (failed string) {
	for _, r := range w.ranks {
		r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
		if err := r.cmd.Start(); err != nil {
			r.over = true
			failed = err.Error()
			continue
		}
		c.t.Cleanup(func() { _ = r.cmd.Process.Kill() })
		go func() { c.ended <- ended{r, r.cmd.Wait()} }()
	}
	return failed
}

func (c *cluster) rankEnded(e ended) {
	r := e.rank
	r.over = true
	var exit *exec.ExitError
	if errors.As(e.err, &exit) {
		status := exit.Sys().(syscall.WaitStatus)
		r.code, r.signal = exit.ExitCode(), status.Signal()
		if !status.Signaled() {
			r.signal = 0
		}
	}
	c.note("%s:%d ends %d", r.world.name, r.number, r.code)
	c.helpers[r.node].send(0, pmix.Gone{Proc: pmix.Proc{Namespace: r.world.name, Rank: uint32(r.number)}})
	for _, other := range r.world.ranks {
		if !other.over {
			return
		}
	}
	for _, h := range c.helpers {
		h.send(0, pmix.Forget{Namespace: r.world.name})
	}
}

func (c *cluster) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// over says whether all ranks of all worlds have ended.
func (c *cluster) over() bool {
	for _, w := range c.worlds {
		for _, r := range w.ranks {
			if !r.over {
				return false
			}
		}
	}
	return true
}

func (c *cluster) kill(w *world) {
	for _, r := range w.ranks {
		if !r.over {
			_ = r.cmd.Process.Kill()
		}
	}
}

// output returns the output of all ranks of a world, in rank order.
func (w *world) output() string {
	var b bytes.Buffer
	for _, r := range w.ranks {
		b.WriteString(r.out.String())
	}
	return b.String()
}

// good asserts that all ranks of a world exited 0.
func (c *cluster) good(w *world) {
	c.t.Helper()
	for _, r := range w.ranks {
		require.Zero(c.t, r.code, "%s: rank %d: %s\n%v", w.name, r.number, w.output(), c.notes)
		require.Zero(c.t, r.signal, "%s: rank %d: %s", w.name, r.number, w.output())
	}
}

// close ends the helpers and asserts that they leave nothing.
func (c *cluster) close() {
	for _, h := range c.helpers {
		h.send(0, pmix.End{})
	}
	for _, h := range c.helpers {
		require.NoError(c.t, <-h.ended, "%s", h.stderr)
		require.Empty(c.t, h.left(c.t))
	}
	for range c.helpers {
		for {
			if told := <-c.messages; told.err != nil {
				require.ErrorIs(c.t, told.err, io.EOF)
				break
			}
		}
	}
}

// onNodes lists the nodes of some processes.
func (c *cluster) onNodes(procs []pmix.Proc) []int {
	found := map[int]bool{}
	for _, p := range procs {
		w := c.worlds[p.Namespace]
		require.NotNil(c.t, w, "an unknown namespace %s", p.Namespace)
		for _, r := range w.ranks {
			if p.Rank == pmix.Wildcard || int(p.Rank) == r.number {
				found[r.node] = true
			}
		}
	}
	var list []int
	for node := range found {
		list = append(list, node)
	}
	sort.Ints(list)
	return list
}
