package jobs

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// The state of each rank is told by how far it has come, and by what its process did.
func TestStatesOfRanks(t *testing.T) {
	a, w, _ := nodeOf(t, lostWarden{})
	w.ranks = nil
	for i := range 8 {
		w.ranks = append(w.ranks, &rank{world: w, Rank: serve.Rank{Number: job.Rank(i), PID: 100 + i}})
	}
	served(t, a, w)
	poller, err := unix.NewPoller()
	require.NoError(t, err)
	t.Cleanup(poller.Close)
	a.poller = poller
	speaks := func(number int, lines string) {
		fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_NONBLOCK, 0)
		require.NoError(t, err)
		t.Cleanup(func() { syscall.Close(fds[1]) })
		require.NoError(t, w.giveSocket(w.ranks[number], fds[0]))
		_, err = syscall.Write(fds[1], []byte(lines))
		require.NoError(t, err)
		w.hear(&w.ranks[number].Rank)
	}
	const begin = "cmd=init pmi_version=1 pmi_subversion=1\n"
	before := time.Now()
	speaks(0, begin+"cmd=barrier_in\n")
	speaks(1, begin)
	w.ranks[3].Exited, w.ranks[3].record.ExitCode = true, 3
	w.ranks[4].Exited, w.ranks[4].record.Signal = true, 9
	w.ranks[5].PID = 0
	moments := map[int]proc.Moment{
		100: {Took: time.Second, Own: true, Name: "app", Before: 'S', State: 'S', Channel: "unix_stream_read_generic"},
		101: {Used: 990 * time.Millisecond, Took: time.Second, Name: "a\x1bpp", Before: 'R', State: 'R'},
		102: {Used: 220 * time.Millisecond, Took: time.Second, Own: true, Before: 'R', State: 'R'},
		103: {Used: time.Second, Took: time.Second, Before: 'R', State: 'R'}, // a number used anew
		106: {Used: 4 * time.Second, Took: time.Second, Own: true, Before: 'S', State: 'S', Channel: "futex_wait_queue"},
		107: {Took: time.Second, Own: true, Before: 'T', State: 'T', Channel: "do_signal_stop"},
	}
	got := w.states(moments, before.Add(4*time.Second))
	state := func(rank int, call string, seconds overlay.Span, process, kernel string, cpu overlay.Span) overlay.State {
		return overlay.State{Call: call, For: seconds, Process: process, Kernel: kernel, CPU: cpu, Ranks: []overlay.WaitRun{{First: rank, Count: 1}}}
	}
	never := overlay.Unknown
	require.Equal(t, []overlay.State{
		state(0, "in MPI_Init: in PMI's barrier number 1 of the world", overlay.One(4), "", "asleep (unix_stream_read_generic)", overlay.One(0)),
		state(1, "in MPI_Init, in no call of PMI", overlay.One(4), "a?pp", "running", overlay.One(100)),
		state(2, "before MPI_Init", never, "", "runnable", overlay.One(20)),
		state(3, "ended with code 3", never, "", "", never),
		state(4, "ended by signal 9 (killed)", never, "", "", never),
		state(5, "not started", never, "", "", never),
		state(6, "before MPI_Init", never, "", "its main thread asleep (futex_wait_queue)", overlay.One(400)),
		state(7, "before MPI_Init", never, "", "stopped (kill -CONT has it go on)", overlay.One(0)),
	}, got)
}

// Of what goes to and fro between two states that is told in which it mostly is.
func TestStatesOfProcesses(t *testing.T) {
	for _, x := range []struct {
		before, state byte
		percent       int
		want          string
	}{
		{'R', 'R', 100, "running"}, {'S', 'R', 100, "running"}, {'R', 'S', 50, "running"}, {'S', 'S', 50, "its main thread asleep (ep_poll)"},
		{'R', 'R', 40, "runnable"}, {'S', 'R', 0, "asleep (ep_poll)"}, {'R', 'S', 0, "asleep (ep_poll)"}, {'S', 'S', 0, "asleep (ep_poll)"},
		{'R', 'D', 0, "blocked in the kernel (ep_poll)"}, {'D', 'R', 0, "runnable"}, {'R', 't', 0, "stopped by a debugger (ep_poll)"},
		{'R', 'T', 90, "stopped (kill -CONT has it go on)"}, {'S', 'I', 0, "asleep (ep_poll)"}, {'S', '?', 0, "in state ? (ep_poll)"},
	} {
		require.Equal(t, x.want, kernelText(proc.Moment{Before: x.before, State: x.state, Channel: "ep_poll"}, x.percent), "%c %c %d", x.before, x.state, x.percent)
	}
}

// An agent that is asked looks at the processes of its ranks, and answers.
func TestAnAgentTellsTheStatesOfItsRanks(t *testing.T) {
	a, w, said := nodeOf(t, lostWarden{})
	sleep := exec.Command("sleep", "1000")
	require.NoError(t, sleep.Start())
	t.Cleanup(func() { _ = sleep.Process.Kill(); _ = sleep.Wait() })
	w.ranks = []*rank{{world: w, Rank: serve.Rank{PID: sleep.Process.Pid}}, {world: w, Rank: serve.Rank{Number: 1, PID: os.Getpid()}}}
	served(t, a, w)
	woken := make(chan bool, 100)
	a.inbox = overlay.NewInbox(func() { woken <- true })
	a.job.stalls.ask(overlay.WaitQuestion{Number: 7, Now: true})
	for {
		select {
		case <-woken:
			a.turn()
			continue
		case m := <-said:
			answer, err := overlay.As[overlay.Waits](m)
			require.NoError(t, err)
			require.Equal(t, 7, answer.Number)
			require.NotEmpty(t, answer.States)
			require.Regexp(t, "^asleep", answer.States[0].Kernel)
			require.Equal(t, "before MPI_Init", answer.States[0].Call)
		}
		break
	}
}

// A child that does not answer in time is named, and what the others say goes up without
// it; nor is it asked what follows from that.
func TestASilentChildIsNotWaitedFor(t *testing.T) {
	a, _, said := nodeOf(t, lostWarden{})
	starter := overlay.NewStarter(t.Context(), nil, nil, overlay.Common{}, a.inbox, nil)
	a.subtree = overlay.NewSubtree(starter, overlay.Common{}, a.inbox, a.outputOf)
	for h := range job.HostIndex(2) {
		near, remote := memlink.Pair()
		far := overlay.NewEdge(remote, tree.Up, overlay.OfParent(), overlay.NewInbox(func() {}), func(tree.Header, []byte) {}, nil)
		t.Cleanup(far.Close)
		a.subtree.Join(overlay.Joined{Link: near, Pipe: noPipe{}, Host: overlay.HostEntry{Index: h}})
	}
	delete(a.job.worlds, 0)
	heard := func() overlay.Waits {
		answer, err := overlay.As[overlay.Waits](<-said)
		require.NoError(t, err)
		return answer
	}
	a.job.stalls.ask(overlay.WaitQuestion{Number: 1, Now: true})
	state := overlay.State{Call: "x", For: overlay.Unknown, CPU: overlay.Unknown, Ranks: []overlay.WaitRun{{First: 0, Count: 1}}}
	require.NoError(t, a.job.stalls.fromChild(1, overlay.Waits{Number: 1, States: []overlay.State{state}}))
	a.job.stalls.statesLate(0) // of an older question
	require.Empty(t, said)
	a.job.stalls.statesLate(1) // before its own part, too
	require.Equal(t, overlay.Waits{Number: 1, Living: 1, States: []overlay.State{state}, Silent: []job.HostIndex{0}}, heard())
	a.job.stalls.momentsSeen(1, nil)
	a.job.stalls.statesLate(1)
	require.NoError(t, a.job.stalls.fromChild(0, overlay.Waits{Number: 1}), "late")
	require.Empty(t, said)

	a.job.stalls.ask(overlay.WaitQuestion{Number: 2, Now: true, Of: []overlay.WaitID{{Seq: 3}}})
	require.NoError(t, a.job.stalls.fromChild(1, overlay.Waits{Number: 2}))
	require.Equal(t, 2, heard().Number)
}
