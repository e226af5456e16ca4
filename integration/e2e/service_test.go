package e2e

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/golaunch/golaunch/integration/cluster"
)

// TestTreeAsAService has ranks do every operation of package client, and of
// libgolaunch, over all of
// them and over halves, with short and long data.
func TestTreeAsAService(t *testing.T) {
	c := theCluster(t)
	for _, x := range []struct {
		program                   string
		nodes, each, degree, size int
	}{
		{"tour", 13, 2, 3, 100}, {"tour", 7, 2, 2, 70_000}, {"tour", 33, 4, 8, 3000},
		{"treetour", 13, 2, 3, 8}, {"treetour", 7, 2, 2, 70_000},
	} {
		t.Run(fmt.Sprintf("%s, %d nodes, %d ranks each, %d bytes", x.program, x.nodes, x.each, x.size), func(t *testing.T) {
			r := over(t, c, x.nodes, "-n", fmt.Sprint(x.nodes*x.each), "-N", fmt.Sprint(x.each), "--degree", fmt.Sprint(x.degree),
				bin(x.program), fmt.Sprint(x.size))
			require.Zero(t, r.code, r.stderr)
			require.Equal(t, fmt.Sprintf("tour of %d ranks on %d nodes: ok\n", x.nodes*x.each, x.nodes), r.stdout)
		})
	}
	nothingLeft(t, c, firstNodes(c, 33)...)
}

// TestTreeInC has ranks in C do what libgolaunch builds of several operations, short and
// long; the last rank leaves.
func TestTreeInC(t *testing.T) {
	c := theCluster(t)
	for _, x := range []struct{ nodes, each, numbers int }{{1, 2, 10}, {5, 2, 10}, {4, 4, 20_000}} {
		size := x.nodes * x.each
		r := over(t, c, x.nodes, "-n", fmt.Sprint(size), "-N", fmt.Sprint(x.each), "--degree", "2", bin("treemore"), fmt.Sprint(x.numbers))
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, fmt.Sprintf("%d ranks on %d nodes, without the last: ok\n", size, x.nodes), r.stdout)
	}
}

// TestGoAndCShareAJob has ranks of both, on the same nodes and on others, do what their
// libraries build of several operations.
func TestGoAndCShareAJob(t *testing.T) {
	inGo, inC := bin("withc"), bin("treemore")
	for _, n := range []string{"10", "20000"} {
		for ranks, ways := range map[int][]string{
			6: {"-n", "3", inGo, n, ":", "-n", "3", inC, n},
			7: {"-n", "3", inC, n, ":", "-n", "4", inGo, n},
			5: {"-n", "1", inC, n, ":", "-n", "1", inGo, n, ":", "-n", "2", inC, n, ":", "-n", "1", inGo, n},
		} {
			r := local(t, "", append([]string{"--nodes", "3"}, ways...)...)
			require.Zero(t, r.code, r.stderr)
			require.Equal(t, fmt.Sprintf("%d ranks on 3 nodes, without the last: ok\n", ranks), r.stdout)
		}
	}
}

// TestWorkQueue gives tasks to ranks that leave in the midst of them.
func TestWorkQueue(t *testing.T) {
	for _, leave := range []string{"0", "30"} {
		r := local(t, "", "-n", "6", "--nodes", "3", bin("workqueue"), "-tasks", "100", "-leave", leave)
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, "100 tasks, results add up to 328350\n", r.stdout)
	}
	// Rank 2 begins when rank 0 has left.
	late := `test $PMI_RANK = 2 || exec "$0" -tasks 20; until test -s "$1" && ! kill -0 $(cat "$1") 2>/dev/null; do sleep 0.1; done; exec "$0"`
	pid := filepath.Join(t.TempDir(), "pid")
	r := local(t, "", "-n", "3", "sh", "-c", `test $PMI_RANK != 0 || echo $$ >"$1"; `+late, bin("workqueue"), pid)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "20 tasks, results add up to 2470\n", r.stdout)
	r = local(t, "", "-n", "6", "--nodes", "3", bin("workqueue"), "-tasks", "100", "-leave", "5")
	require.Equal(t, 1, r.code)
	require.Regexp(t, `^workqueue: 80 tasks are not done: rank \d on \S+ has left\n`, r.stderr)
}

// TestMPIAndTheTree runs a program that uses both.
func TestMPIAndTheTree(t *testing.T) {
	needBuilt(t, "mpitree", "libmpich-dev mpich")
	c := theCluster(t)
	r := over(t, c, 5, "-n", "10", "-N", "2", "--degree", "2", bin("mpitree"))
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "MPI and the tree agree on 10 ranks\n", r.stdout)
}

// TestServiceRefuses shows what a program learns that is no rank, or one that
// breaks the protocol.
func TestServiceRefuses(t *testing.T) {
	r := local(t, "", "-n", "1", "sh", "-c", "unset GOLAUNCH_FD; "+bin("tour"))
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "$GOLAUNCH_FD is not set: not a rank of a golaunch job")
	for _, program := range []string{"tour", "treetour"} {
		r = local(t, "", "-n", "1", "sh", "-c", "unset PMI_RANK; "+bin(program))
		require.Equal(t, 1, r.code)
		require.Contains(t, r.stderr, "$PMI_RANK is not set: not a rank of a golaunch job")
		r = local(t, "", "-n", "1", "sh", "-c", "PMI_RANK=1x "+bin(program))
		require.Equal(t, 1, r.code)
		require.Contains(t, r.stderr, `$PMI_RANK is "1x", no rank: not a rank of a golaunch job`)
	}
	r = local(t, "", "-n", "1", "sh", "-c", "PMI_RANK=7 "+bin("treetour"))
	require.Equal(t, 1, r.code)
	require.Contains(t, r.stderr, "rank 7 is not on this node")
	r = local(t, "", "-n", "2", bin("treebreak"), "fences")
	require.Equal(t, 125, r.code)
	require.Regexp(t, `rank 0 on .* \(pid \d+\) broke the protocol of the tree's service: it enters a fence while another`, r.stderr)
	r = local(t, "", "-n", "2", bin("treebreak"), "barrier and fence")
	require.Equal(t, 125, r.code)
	require.Regexp(t, `rank 0 on .* \(pid \d+\) broke the .*: it enters a fence while another`, r.stderr)
	r = local(t, "", "-n", "2", bin("treebreak"), "calls")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 1, strings.Count(r.stderr, "was refused"), r.stderr)
	r = local(t, "", "-n", "2", bin("treebreak"), "empty call")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, 1, strings.Count(r.stderr, "0 bytes with 0 descriptors are no hello"), r.stderr)
	r = local(t, "", "-n", "1", bin("treebreak"), "pipe")
	require.Equal(t, 1, r.code, r.stderr)
	require.Contains(t, r.stderr, "a call for the tree's service was refused: what came with the hello is no local stream socket")
	r = local(t, "", "-n", "2", bin("treebreak"), "arguments")
	require.Zero(t, r.code, "a bad argument is no reason to end the job: %s", r.stderr)
	require.Equal(t, 24, strings.Count(r.stdout, "\n"), r.stdout)
	require.Contains(t, r.stdout, "put: put: key of 299999 bytes, at most 64 are allowed\n")
	require.Contains(t, r.stdout, "sum of half an element: allreduce: 1 bytes are no whole number of int64, of 8 bytes each\n")
	require.Contains(t, r.stdout, "bits of doubles: scan: exclusive or of double: bitwise operations are for integers\n")
}

// TestServiceKnowsItsRanks has ranks call as each other, by what they are or start: they
// are refused, and the user is told who did it.
func TestServiceKnowsItsRanks(t *testing.T) {
	for _, command := range []string{"exec %s", "%s; exit $?", "setsid -w %s", "(%s & wait $!)"} {
		as := fmt.Sprintf("PMI_RANK=$((1 - PMI_RANK)); export PMI_RANK; "+command, bin("treetour"))
		r := local(t, "", "-n", "2", "sh", "-c", as)
		require.Equal(t, 1, r.code, "%s: %s", command, r.stderr)
		require.Regexp(t, `a call for the tree's service was refused: pid \d+ calls as rank [01], and is a process of rank [01]: has it changed PMI_RANK\?`, r.stderr, command)
		r = local(t, "", "-n", "2", "sh", "-c", fmt.Sprintf(command, bin("treetour")))
		require.Zero(t, r.code, "%s: %s", command, r.stderr)
	}
}

// TestMisuseInC has programs of the C library make mistakes: each is an error that says
// so, and what is right goes on. The same where mistakes with memory end the program.
func TestMisuseInC(t *testing.T) {
	for fault, want := range map[string]string{"requests": wrongRequests, "pointers": wrongPointers, "threads": wrongThreads, "child": wrongChild, "end": wrongEnd} {
		for _, program := range []string{"treebreak", "treebreak.sanitized"} {
			t.Run(fault+", "+program, func(t *testing.T) {
				r := local(t, "", "-n", "1", bin(program), fault)
				require.Zero(t, r.code, r.stderr)
				require.Empty(t, r.stderr)
				require.Equal(t, want, regexp.MustCompile(`process \d+`).ReplaceAllString(r.stdout, "process N"))
			})
		}
	}
}

// TestSanitizedTours has every operation of the C library done where mistakes with memory
// end the program.
func TestSanitizedTours(t *testing.T) {
	for _, n := range []int{10, 20_000} {
		r := local(t, "", "-n", "5", "--nodes", "3", bin("treetour.sanitized"), fmt.Sprint(8*n))
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, "tour of 5 ranks on 3 nodes: ok\n", r.stdout)
		r = local(t, "", "-n", "5", "--nodes", "3", bin("treemore.sanitized"), fmt.Sprint(n))
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, "5 ranks on 3 nodes, without the last: ok\n", r.stdout)
	}
}

// TestProgress has a message move while its sender computes.
func TestProgress(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "word")
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	r := local(t, "", "-n", "2", "--nodes", "2", bin("treecompute"), fifo)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "it moved while rank 0 computed\n", r.stdout)
}

// TestWhatWasSentIsThere has a rank end as soon as its last call has returned.
func TestWhatWasSentIsThere(t *testing.T) {
	for range 5 {
		r := local(t, "", "-n", "8", "--nodes", "3", bin("treeleave"), "data", "exit")
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, 7, strings.Count(r.stdout, ": 15 of 15\n"), r.stdout)
	}
}

// TestSharedDescriptors has a rank make all open files that it may share with its
// agent such that calls wait, and end while a child holds them open. The rank reads
// none of its input. Its agent serves the other rank, and the job ends in order.
func TestSharedDescriptors(t *testing.T) {
	r := local(t, strings.Repeat("input\n", 100_000), "-n", "2", bin("treebreak"), "wait")
	require.Zero(t, r.code, r.stderr)
	require.Empty(t, r.stderr)
}

// TestSecondCall has a second program of a rank call the agent: it is told that
// this does not go.
func TestSecondCall(t *testing.T) {
	tour := bin("treetour")
	r := local(t, "", "-n", "1", "sh", "-c", tour+" && exec "+tour)
	require.Equal(t, 1, r.code)
	require.Equal(t, "tour of 1 ranks on 1 nodes: ok\n", r.stdout)
	require.Contains(t, r.stderr, "rank 0 has called already")
}

// TestRoomAtEveryOtherSend has ranks whose sockets have room for the rest of what
// they say as soon as they were found full: nobody waits for more to come then.
func TestRoomAtEveryOtherSend(t *testing.T) {
	r := local(t, "", "-n", "4", "--nodes", "2", "--timeout", "60s", bin("treeroom"))
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "4 ranks: ok\n", r.stdout)
}

// TestServiceUnderLoad has ranks send more than sockets and links hold.
func TestServiceUnderLoad(t *testing.T) {
	c := theCluster(t)
	r := over(t, c, 8, "-n", "32", "-N", "4", "--degree", "2", bin("treebench"), "0.001")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "\ntree pingpong 1048576 ")
}

// TestSplit has ranks of the C library split by colour and key, look every member
// of what came of it up, broadcast, split again and free.
func TestSplit(t *testing.T) {
	c := theCluster(t)
	for _, x := range []struct{ nodes, each, degree, colors int }{{32, 16, 4, 7}, {13, 2, 3, 1}, {5, 3, 2, 100}} {
		t.Run(fmt.Sprintf("%d ranks, %d nodes, %d colours", x.nodes*x.each, x.nodes, x.colors), func(t *testing.T) {
			r := over(t, c, x.nodes, "-n", fmt.Sprint(x.nodes*x.each), "-N", fmt.Sprint(x.each), "--degree", fmt.Sprint(x.degree),
				bin("treesplit"), fmt.Sprint(x.colors))
			require.Zero(t, r.code, r.stderr)
			require.Equal(t, fmt.Sprintf("%d ranks on %d nodes, %d colors: ok\n", x.nodes*x.each, x.nodes, x.colors), r.stdout)
		})
	}
	nothingLeft(t, c, firstNodes(c, 32)...)
}

// TestLostNodeIsNamed kills an agent while ranks use the tree: those elsewhere
// learn which node was lost before the job is ended.
func TestLostNodeIsNamed(t *testing.T) {
	lostIsNamed(t, `treebench: rank [0-3]: host n005: lost: the link to its agent broke`, bin("treebench")+" 0.5")
}

// TestLookUpOnALostNode is the same for look-ups in a communicator that a split
// made.
func TestLookUpOnALostNode(t *testing.T) {
	lostIsNamed(t, `treesplit: rank [0-3]: locate: host n005: lost: the link to its agent broke`, bin("treesplit")+" -l")
}

func lostIsNamed(t *testing.T, output, program string) {
	const n = 5
	c := theCluster(t)
	cmd := c.Command(cluster.Head, bin("golaunch"), "-H", hostsArg(n), "--ssh-config", c.SSHConfig(), "-n", fmt.Sprint(n), "--degree", "2",
		"--grace", "1m", "sh", "-c", "trap '' TERM; exec "+program) // it ends by itself, or is killed
	var stderr strings.Builder
	cmd.Stderr = &stderr
	pipe, err := cmd.StdoutPipe()
	require.NoError(t, err)
	begin(t, cmd, cmd.Cmd)
	out := bufio.NewReader(pipe)
	_, err = out.ReadString('\n') // operations are under way
	require.NoError(t, err)
	kill(t, c, "n005", "nla-agent")
	_, err = io.Copy(io.Discard, out)
	require.NoError(t, err)
	require.Error(t, cmd.Wait())
	require.Equal(t, 125, cmd.ProcessState.ExitCode(), stderr.String())
	require.Regexp(t, output, stderr.String())
	nothingLeft(t, c, firstNodes(c, n)...)
}

// TestLeaverIsNamed has a rank leave while others wait for it, in a collective
// operation or for its message: they learn which one it was, and go on without it.
func TestLeaverIsNamed(t *testing.T) {
	const n = 3
	c := theCluster(t)
	for _, operation := range []string{"barrier", "recv"} {
		for _, exit := range []string{"close", "exit", "never"} {
			t.Run(operation+", "+exit, func(t *testing.T) {
				r := over(t, c, n, "-n", "6", "-N", "2", "--degree", "1", bin("treeleave"), operation, exit)
				require.Zero(t, r.code, r.stderr)
				var want []string
				for rank := range 5 {
					want = append(want, fmt.Sprintf("rank %d: rank 5 on n003 has left", rank))
				}
				require.ElementsMatch(t, want, strings.Split(strings.TrimSpace(r.stdout), "\n"))
			})
		}
	}
}

// TestLeaverOfAFenceIsNamed is the same for fences: ranks that wait in one when a rank
// leaves, or enter one after that, are told. A rank that uses PMI may still enter when
// it has said goodbye to the tree.
func TestLeaverOfAFenceIsNamed(t *testing.T) {
	const n, message = 3, "rank 5 on n003 has left"
	c := theCluster(t)
	for _, x := range []struct {
		exit, first, again string
		code               int
	}{
		{"close", message, message, 0}, {"exit", message, message, 0}, {"never", message, message, 0}, {"kill", message, message, 137},
		{"pmi", "no error", message, 0},
	} {
		t.Run(x.exit, func(t *testing.T) {
			r := over(t, c, n, "-n", "6", "-N", "2", "--degree", "1", "--keep-going", bin("treeleave"), "fence", x.exit)
			require.Equal(t, x.code, r.code, r.stderr)
			var want []string
			for rank := range 5 {
				want = append(want, fmt.Sprintf("rank %d: %s", rank, x.first), fmt.Sprintf("rank %d again: %s", rank, x.again))
			}
			require.ElementsMatch(t, want, strings.Split(strings.TrimSpace(r.stdout), "\n"))
		})
	}
}

// TestSilentLeaverIsNamed has a rank close its descriptors and live on.
func TestSilentLeaverIsNamed(t *testing.T) {
	r := local(t, "", "-n", "2", bin("treeleave"), "barrier", "silent")
	require.Contains(t, r.stdout, "rank 0: rank 1 on ")
	require.Contains(t, r.stdout, " has left\n")
}

const (
	wrongRequests = `wait for nothing: golaunch_wait: NULL is no request
wait for NULL: golaunch_wait: NULL is no request
put: put: empty key
wait for NULL after an error of another call: golaunch_wait: NULL is no request
wait for what could not begin: bcast: member -1 of a communicator of 1
wait for NULL after that: golaunch_wait: NULL is no request
test of NULL: golaunch_test: NULL is no request
wait for any of none: golaunch_waitany: no request among 1
wait for any of NULL: golaunch_waitany: the requests are NULL
test of any of none: golaunch_testany: no request among 1
wait twice: golaunch_wait: NULL is no request
wait for a copy: golaunch_wait: no request, or one that was waited for already
test of a copy: golaunch_test: no request, or one that was waited for already
wait for any with a copy: golaunch_waitany: no request, or one that was waited for already
wait for the copy of another: golaunch_wait: no request, or one that was waited for already
close: golaunch_close: NULL is no job
`
	wrongPointers = `world of no job: golaunch_world: NULL is no job
nodes of no job: golaunch_nodes: NULL is no job
descriptor of no job: golaunch_fd: NULL is no job
progress of no job: golaunch_progress: NULL is no job
fence of no job: fence: NULL is no job
board of no job: board: NULL is no job
rank in nothing: golaunch_rank: NULL is no communicator
barrier of nothing: barrier: NULL is no communicator
scan of nothing: scan: NULL is no communicator
split of nothing: split: NULL is no communicator
locate in nothing: locate: NULL is no communicator
free of nothing: free: NULL is no communicator
free of NULL: free: NULL is no communicator
free of the world: free: the world cannot be freed
barrier of what was freed: barrier: NULL is no communicator
send of nothing: send: 1 bytes without a buffer
recv to nothing: recv: 1 bytes without a buffer
bcast of nothing: bcast: 1 bytes without a buffer to send
alltoall in place: alltoall: the buffers share memory
type and operation the wrong way round: allreduce: 0x1 is no type
an operation that there is not: allreduce: 0x63 is no operation
`
	busyThread   = ": another thread waits in a call of this job; threads call one at a time, by a lock of the program's\n"
	wrongThreads = "barrier of another thread: barrier" + busyThread + "barrier that begins: barrier" + busyThread +
		"test: golaunch_test" + busyThread + "test of any: golaunch_testany" + busyThread + "wait: golaunch_wait" + busyThread +
		"progress: golaunch_progress" + busyThread + "fence: fence" + busyThread + "close: golaunch_close" + busyThread
	aChild     = ": process N has opened the job, and this is a child of it; only that one may call\n"
	wrongChild = "barrier of a child: barrier" + aChild + "put of a child: put" + aChild +
		"test of a child: golaunch_test" + aChild + "wait of a child: golaunch_wait" + aChild +
		"wait of a child that has closed: golaunch_wait: no request, or one that was waited for already\n"
	waitAfterClose = "wait after close: golaunch_wait: no request, or one that was waited for already\n"
	wrongEnd       = waitAfterClose + waitAfterClose + waitAfterClose + waitAfterClose + waitAfterClose +
		"open once more: golaunch_open: a process opens the job once, and this one, or the one that it was forked from, has done so\n"
)
