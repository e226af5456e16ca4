package e2e

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// sharing is an allocation of two slots on each of some nodes, in which several golaunch
// run beside each other.
type sharing struct {
	*cluster.Cluster
	t     *testing.T
	id    string
	nodes int
}

// holder is a golaunch whose ranks say where they are, and end when they are let go.
type holder struct {
	t   *testing.T
	cmd *cluster.Cmd
	in  io.WriteCloser

	stdout, stderr saidSoFar
}

// hold is a rank that says on which host and CPUs it is, and ends with its input.
const hold = `echo $(hostname) $(sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status); cat`

// start starts golaunch with these arguments before a program.
func (s *sharing) start(args ...string) *holder {
	s.t.Helper()
	argv := slices.Concat([]string{"env", "SLURM_JOB_ID=" + s.id, "SLURM_JOB_NODELIST=" + hostsArg(s.nodes), fmt.Sprintf("SLURM_TASKS_PER_NODE=2(x%d)", s.nodes),
		bin("golaunch"), "--bootstrap", "ssh", "--ssh-config", s.SSHConfig(), "--stdin", "all"}, args, []string{"sh", "-c", hold})
	h := &holder{t: s.t, cmd: s.Command(cluster.Head, argv...)}
	h.cmd.Stdout, h.cmd.Stderr = &h.stdout, &h.stderr
	var err error
	h.in, err = h.cmd.StdinPipe()
	require.NoError(s.t, err)
	begin(s.t, h.cmd, h.cmd.Cmd)
	return h
}

// until waits until it has printed so many lines, and words among its own.
func (h *holder) until(lines int, words string) []string {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		return strings.Count(h.stdout.String(), "\n") >= lines && strings.Contains(h.stderr.String(), words)
	}, limit, 10*time.Millisecond, "%d lines and %q: it said %v%v", lines, words, &h.stdout, &h.stderr)
	return strings.Split(strings.TrimSuffix(h.stdout.String(), "\n"), "\n")
}

// release lets its ranks end, and golaunch with them.
func (h *holder) release() {
	h.t.Helper()
	require.NoError(h.t, h.in.Close())
	h.ends(0)
}

// ends waits for its end and checks its exit status, which is -1 where it was killed.
func (h *holder) ends(code int) {
	h.t.Helper()
	_ = h.cmd.Wait() // the state tells
	require.Equal(h.t, code, h.cmd.ProcessState.ExitCode(), &h.stderr)
}

// Several golaunch of one allocation use different slots; one for which there are too few
// waits, and says so; --overlap does not; of one that is killed nothing is left.
func TestSlotsOfAnAllocation(t *testing.T) {
	t.Parallel()
	s := &sharing{Cluster: ownCluster(t, 3), t: t, id: "77", nodes: 3}
	a := s.start("-n", "2")
	require.Equal(t, []string{"n001", "n001"}, hostsOf(a.until(2, "")))
	b := s.start("-n", "3")
	require.Equal(t, []string{"n002", "n002", "n003"}, hostsOf(b.until(3, "")))
	small := s.start("-n", "1")
	require.Equal(t, []string{"n003"}, hostsOf(small.until(1, "")))
	small.release()

	waits := s.start("-n", "3")
	waits.until(0, "golaunch: waiting for 2 of 5 slots that other golaunch of allocation 77 use (--overlap shares them)\n")
	late := s.start("-n", "2", "--timeout", "1s") // looks at more hosts, and ends by itself
	interrupted := s.start("-n", "6")
	interrupted.until(0, "golaunch: waiting for 5 of 5 slots that other golaunch of allocation 77 use")
	require.NoError(t, interrupted.cmd.Signal(syscall.SIGINT))
	interrupted.ends(130)
	shares := s.start("-n", "6", "--overlap")
	require.Equal(t, []string{"n001", "n001", "n002", "n002", "n003", "n003"}, hostsOf(shares.until(6, "")))
	shares.release()
	elsewhere := &sharing{Cluster: s.Cluster, t: t, id: "78", nodes: 3}
	other := elsewhere.start()
	other.until(6, "")
	other.release()

	late.ends(124)
	require.Contains(t, late.stderr.String(), "golaunch: the job has not ended within 1s: it is killed\n")
	require.Empty(t, waits.stdout.String(), "it waits")
	require.NoError(t, a.cmd.Signal(syscall.SIGKILL))
	a.ends(-1)
	require.Equal(t, []string{"n001", "n001", "n003"}, hostsOf(waits.until(3, "")))
	waits.release()
	b.release()
	all := s.start()
	all.until(6, "")
	require.Empty(t, all.stderr.String())
	all.release()
	for _, node := range firstNodes(s.Cluster, 3) {
		require.Empty(t, shell(t, s.Cluster, node, "ls -d /dev/shm/golaunch-slots-* /tmp/golaunch-slots-* 2> /dev/null; true"), node)
	}
}

// A file of another user where the ledgers of slots are to be stops nobody: the other
// directory is taken, or else the job runs, and says that it counts for nothing.
func TestPlantedLedgers(t *testing.T) {
	t.Parallel()
	s := &sharing{Cluster: ownCluster(t, 1), t: t, id: "80", nodes: 1}
	plant := func(format, dir string) {
		path := fmt.Sprintf("%s/golaunch-slots-%d", dir, os.Getuid())
		shell(t, s.Cluster, "n001", fmt.Sprintf("rm -rf %s; "+format, path)+fmt.Sprintf("; chown -h %d %s", stranger, path))
	}
	plant("mkdir -m 777 %[1]s", "/dev/shm")
	a := s.start("-n", "1")
	a.until(1, "")
	shell(t, s.Cluster, "n001", "rmdir /dev/shm/golaunch-slots-*") // the next one has the first again
	b := s.start("-n", "2")
	b.until(0, "golaunch: waiting for 1 of 1 slot that other golaunch of allocation 80 use")
	a.release()
	b.until(2, "")
	b.release()
	for _, format := range []string{"mkdir -m 777 %[1]s", "mkfifo -m 666 %[1]s", "ln -s /run %[1]s", "ln -s %[1]s %[1]s"} {
		plant(format, "/dev/shm")
		plant(format, "/tmp")
		h := s.start("-n", "1")
		h.until(1, "golaunch: host n001: the slots that other golaunch of the allocation use there are unknown, ranks may share them: /dev/shm/golaunch-slots-")
		require.Regexp(t, `/dev/shm/\S+: it is not a directory of this user alone; have it removed; /tmp/\S+: it is not a directory of this user alone; have it removed\n`, h.stderr.String())
		h.release()
	}
}

// A golaunch that is stopped with the lock of the ledger has no other wait for ever.
func TestLedgerIsHeld(t *testing.T) {
	t.Parallel()
	s := &sharing{Cluster: ownCluster(t, 1), t: t, id: "81", nodes: 1}
	a := s.start("-n", "2")
	a.until(2, "")
	b := s.start("-n", "1")
	b.until(0, "golaunch: waiting for 1 of 2 slots that other golaunch of allocation 81 use")
	lock := s.Command("n001", "flock", fmt.Sprintf("/dev/shm/golaunch-slots-%d/lock", os.Getuid()), "cat")
	in, err := lock.StdinPipe()
	require.NoError(t, err)
	begin(t, lock, lock.Cmd)
	b.until(1, "golaunch: host n001: the slots that other golaunch of the allocation use there are unknown, ranks may share them: /dev/shm/golaunch-slots-")
	require.NoError(t, in.Close())
	require.NoError(t, lock.Wait())
	b.release()
	a.release()
}

// hostsOf are the first words of lines, sorted.
func hostsOf(lines []string) (hosts []string) {
	for _, line := range lines {
		host, _, _ := strings.Cut(line, " ")
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	return hosts
}

// Ranks of two golaunch on one node are bound to different cores.
func TestCoresOfAnAllocation(t *testing.T) {
	t.Parallel()
	cores := coresOf(t, ours(t))
	if len(cores) < 2 {
		t.Skipf("skipped: this machine has one core")
	}
	s := &sharing{Cluster: ownCluster(t, 1), t: t, id: "79", nodes: 1}
	a := s.start("-n", "1", "--bind-to", "core")
	first := a.until(1, "")
	b := s.start("-n", "1", "--bind-to", "core")
	second := b.until(1, "")
	require.ElementsMatch(t, []string{"n001 " + cores[0], "n001 " + cores[1]}, append(first, second...))
	c := s.start("-n", "1", "--bind-to", "core", "--overlap")
	require.Equal(t, []string{"n001 " + cores[0]}, c.until(1, ""))
	c.release()
	a.release()
	again := s.start("-n", "1", "--bind-to", "core")
	require.Equal(t, first, again.until(1, ""))
	again.release()
	b.release()
}
