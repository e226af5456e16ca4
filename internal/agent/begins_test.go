package agent

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
)

// helpingWarden takes helpers, of which it says nothing.
type helpingWarden struct{ willingWarden }

func (helpingWarden) Help(job.Number, proc.Helper) error { return nil }

// askingWorld is a world of so many ranks, which are this process, and ask when MPI begins.
func askingWorld(t *testing.T, ranks int) (*Agent, *world, <-chan overlay.Message) {
	t.Helper()
	a, w, said := agentOf(t, helpingWarden{})
	w.ranks, w.living = nil, ranks
	for i := range ranks {
		w.ranks = append(w.ranks, &rank{Rank: serve.Rank{Number: job.Rank(i), PID: os.Getpid()}})
	}
	w.Apps = []job.App{{Argv: []string{"/bin/app"}}}
	w.libraries = map[int]*appLibrary{0: {pmix: &pmixUse{known: true, later: true}}}
	a.end = endOf(0, ranks)
	a.common.Verbose, a.launch.MPICHFix = 1, overlay.FixAffected
	served(t, a, w)
	w.pmix.Open(func(err error) { require.NoError(t, err) })
	return a, w, said
}

// asks has a process ask on a rank's behalf, and returns the pipe for the answer.
func asks(t *testing.T, a *Agent, r *rank) *os.File {
	t.Helper()
	mine, its, err := unix.Pipe()
	require.NoError(t, err)
	answer := os.NewFile(uintptr(mine), "the answer")
	t.Cleanup(func() { answer.Close() })
	a.question(question{its, os.Getpid(), r})
	return answer
}

// answered reads an answer, behind which there is nothing.
func answered(t *testing.T, answer *os.File) string {
	t.Helper()
	all, err := io.ReadAll(answer)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 4)
	require.Len(t, all, 4+int(binary.NativeEndian.Uint32(all)))
	return strings.TrimSuffix(string(all[4:]), "\x00")
}

// What ranks are answered, and the user is told, once it is known what they use.
func TestAnswersWhenMPIBegins(t *testing.T) {
	pmix5 := begun{library: "Open MPI 5", pmix: &pmixUse{known: true, uses: "Open MPI 5", plan: helperPlan{library: "/libpmix"}}}
	for name, x := range map[string]struct {
		ranks     int
		result    begun
		meanwhile func(a *Agent, w *world) // before it is known
		want      string
		told      string // to the user; "" for nothing
	}{
		"PMI":                      {2, begun{library: "/libmpich"}, nil, "", ""},
		"PMI that hangs":           {2, begun{library: "/libmpich", hangs: "MPICH 4.0"}, nil, finalizeWord, "whose hang in MPI_Finalize is cured"},
		"none, alone":              {1, begun{library: "Open MPI 5", why: "no helper"}, nil, "", "app runs alone: Open MPI 5: no helper"},
		"none":                     {2, begun{library: "Open MPI 5", why: "no helper"}, nil, "!", "Open MPI 5: no helper"},
		"not known, alone":         {1, begun{why: "process 7 cannot be seen"}, nil, "", "app runs alone: process 7 cannot be seen"},
		"not known":                {2, begun{why: "process 7 cannot be seen"}, nil, "!", "process 7 cannot be seen"},
		"the world is forgotten":   {2, pmix5, func(a *Agent, w *world) { w.closeServers(); delete(a.worlds, w.id) }, "", ""},
		"its ranks have ended":     {2, pmix5, func(_ *Agent, w *world) { w.living = 0 }, "", ""},
		"its ranks are to end":     {2, pmix5, func(_ *Agent, w *world) { w.killed = true }, "", ""},
		"the job is to end":        {2, pmix5, func(a *Agent, _ *world) { a.end.KillOrdered(0) }, "", ""},
		"over, and nobody is told": {2, begun{why: "process 7 cannot be seen"}, func(_ *Agent, w *world) { w.killed = true }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, w, said := askingWorld(t, x.ranks)
			answer := asks(t, a, w.ranks[0])
			if x.meanwhile != nil {
				x.meanwhile(a, w)
			}
			a.begunKnown(begunKnown{w, x.result})
			require.Equal(t, x.want, answered(t, answer))
			require.Empty(t, a.helpers.started, "a helper for nobody")
			if x.told == "" {
				a.note(0, "nothing")
			}
			m := <-said
			if m.Header.Kind == overlay.KindFailure {
				f, err := overlay.Decode[job.Failure](m.Body)
				require.NoError(t, err)
				require.Equal(t, x.told, f.Text)
				return
			}
			n, err := overlay.Decode[overlay.Note](m.Body)
			require.NoError(t, err)
			require.Contains(t, n.Text, cmp.Or(x.told, "nothing"))
		})
	}
}

// Those who ask while the helper starts are answered with the first, also where it fails.
func TestQuestionsWhileTheHelperStarts(t *testing.T) {
	a, w, _ := askingWorld(t, 2)
	first := asks(t, a, w.ranks[0])
	use := &pmixUse{known: true, uses: "Open MPI 5", plan: helperPlan{library: "/libpmix"}}
	a.begunKnown(begunKnown{w, begun{library: "Open MPI 5", pmix: use}})
	require.Len(t, a.helpers.started, 1)
	second := asks(t, a, w.ranks[1])
	require.False(t, w.begun.known)
	a.helpers.started[1].done(-1, errors.New("no memory"))
	for _, answer := range []*os.File{first, second} {
		require.Equal(t, "!", answered(t, answer))
	}
	require.Equal(t, "!", answered(t, asks(t, a, w.ranks[0])))
}

// A process without MPI, as one that has ended, decides nothing for others, of which the next
// is looked at that asks, or has asked.
func TestAProcessWithoutMPIDecidesNothing(t *testing.T) {
	a, w, _ := askingWorld(t, 3)
	first, second, third := asks(t, a, w.ranks[0]), asks(t, a, w.ranks[1]), asks(t, a, w.ranks[2])
	a.begunKnown(begunKnown{w, begun{}})
	require.Empty(t, answered(t, first))
	require.Len(t, w.begun.asked, 2)
	a.begunKnown(begunKnown{w, begun{library: "/libmpich", hangs: "MPICH 4.0"}})
	for _, answer := range []*os.File{second, third} {
		require.Equal(t, finalizeWord, answered(t, answer))
	}

	a, w, _ = askingWorld(t, 1)
	first = asks(t, a, w.ranks[0])
	a.begunKnown(begunKnown{w, begun{}})
	require.Empty(t, answered(t, first))
	require.Nil(t, w.begun)
}

// A process that has ended is none that cannot be seen.
func TestLookAtAProcessThatHasEnded(t *testing.T) {
	c := exec.Command("/bin/true")
	require.NoError(t, c.Run())
	require.Equal(t, begun{}, lookAtProcess(t.Context(), c.Process.Pid, "", ""))
}

// Whose a process is that asks before the warden has told of all ranks is known when it tells of
// that one, or has told of all.
func TestWhoseProcessAsks(t *testing.T) {
	type found struct {
		some bool
		r    *rank
	}
	a, w, _, _ := waitingWorld(t)
	own, other := found{}, found{}
	a.withRank(os.Getpid(), func(r *rank) { own = found{true, r} })
	a.withRank(os.Getppid(), func(r *rank) { other = found{true, r} })
	require.Equal(t, [2]found{}, [2]found{own, other})
	a.byPID = map[int]*rank{os.Getpid(): w.ranks[0]}
	a.born(os.Getpid())
	require.Equal(t, found{true, w.ranks[0]}, own)
	require.False(t, other.some)
	require.NoError(t, a.endWorld(w)) // so that no rank is unborn
	require.Equal(t, found{true, nil}, other)
	require.Empty(t, a.ownerless)

	a, _, _, _ = waitingWorld(t)
	a.end.KillOrdered(0)
	other = found{}
	a.withRank(os.Getppid(), func(r *rank) { other = found{true, r} })
	require.Equal(t, found{true, nil}, other, "nobody waits at the end")
}
