package mpi

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

// askingWorld is a world whose ranks ask when MPI begins.
func askingWorld(t *testing.T, ranks int) (*fakeAgent, *World, *fakeRanks) {
	t.Helper()
	a, w, x := newWorld(t, ranks)
	w.libraries = map[int]*appLibrary{0: {pmix: &pmixUse{later: true}}}
	w.view.Launch.MPICHFix = overlay.FixAffected
	return a, w, x
}

// ask has a process ask on a rank's behalf, and returns the pipe for the answer.
func ask(t *testing.T, w *World, r *serve.Rank) *os.File {
	t.Helper()
	mine, its, err := unix.Pipe()
	require.NoError(t, err)
	answer := os.NewFile(uintptr(mine), "the answer")
	t.Cleanup(func() { answer.Close() })
	w.question(question{its, os.Getpid(), r})
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
	pmix5 := begun{library: "Open MPI 5", pmix: &pmixUse{uses: "Open MPI 5", plan: helperPlan{library: "/libpmix"}}}
	for name, x := range map[string]struct {
		ranks     int
		result    begun
		meanwhile func(a *fakeAgent, w *World, x *fakeRanks) // before it is known
		want      string
		told      string // to the user; "" for nothing
	}{
		"PMI":                      {2, begun{library: "/libmpich"}, nil, "", ""},
		"PMI that hangs":           {2, begun{library: "/libmpich", hangs: "MPICH 4.0"}, nil, finalizeWord, "whose hang in MPI_Finalize is cured"},
		"none, alone":              {1, begun{library: "Open MPI 5", why: "no helper"}, nil, "", "app runs alone: Open MPI 5: no helper"},
		"none":                     {2, begun{library: "Open MPI 5", why: "no helper"}, nil, "!", "Open MPI 5: no helper"},
		"not known, alone":         {1, begun{why: "process 7 cannot be seen"}, nil, "", "app runs alone: process 7 cannot be seen"},
		"not known":                {2, begun{why: "process 7 cannot be seen"}, nil, "!", "process 7 cannot be seen"},
		"the world is forgotten":   {2, pmix5, func(_ *fakeAgent, w *World, _ *fakeRanks) { w.Close() }, "", ""},
		"its ranks have ended":     {2, pmix5, func(_ *fakeAgent, _ *World, x *fakeRanks) { x.living = 0 }, "", ""},
		"its ranks are to end":     {2, pmix5, func(a *fakeAgent, _ *World, _ *fakeRanks) { a.ending = true }, "", ""},
		"over, and nobody is told": {2, begun{why: "process 7 cannot be seen"}, func(a *fakeAgent, _ *World, _ *fakeRanks) { a.ending = true }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, w, ranks := askingWorld(t, x.ranks)
			answer := ask(t, w, w.view.Ranks[0])
			if x.meanwhile != nil {
				x.meanwhile(a, w, ranks)
			}
			w.begunKnown(x.result)
			require.Equal(t, x.want, answered(t, answer))
			require.Empty(t, a.helped, "a helper for nobody")
			told := a.notes
			for _, f := range a.failures {
				told = append(told, f.Text)
			}
			if x.told == "" {
				require.Empty(t, told)
				return
			}
			require.Len(t, told, 1)
			require.Contains(t, told[0], x.told)
		})
	}
}

// Those who ask while the helper starts are answered with the first, also where it fails.
func TestQuestionsWhileTheHelperStarts(t *testing.T) {
	_, w, _ := askingWorld(t, 2)
	first := ask(t, w, w.view.Ranks[0])
	use := &pmixUse{uses: "Open MPI 5", plan: helperPlan{library: "/libpmix"}}
	w.begunKnown(begun{library: "Open MPI 5", pmix: use})
	require.Len(t, w.l.Helpers.running, 1)
	second := ask(t, w, w.view.Ranks[1])
	require.False(t, w.begun.known)
	w.l.Helpers.running[1].done(-1, errors.New("no memory"))
	for _, answer := range []*os.File{first, second} {
		require.Equal(t, "!", answered(t, answer))
	}
	require.Equal(t, "!", answered(t, ask(t, w, w.view.Ranks[0])))
}

// A process without MPI, as one that has ended, decides nothing for others, of which the next
// is looked at that asks, or has asked.
func TestAProcessWithoutMPIDecidesNothing(t *testing.T) {
	_, w, _ := askingWorld(t, 3)
	first, second, third := ask(t, w, w.view.Ranks[0]), ask(t, w, w.view.Ranks[1]), ask(t, w, w.view.Ranks[2])
	w.begunKnown(begun{})
	require.Empty(t, answered(t, first))
	require.Len(t, w.begun.asked, 2)
	w.begunKnown(begun{library: "/libmpich", hangs: "MPICH 4.0"})
	for _, answer := range []*os.File{second, third} {
		require.Equal(t, finalizeWord, answered(t, answer))
	}

	_, w, _ = askingWorld(t, 1)
	first = ask(t, w, w.view.Ranks[0])
	w.begunKnown(begun{})
	require.Empty(t, answered(t, first))
	require.Nil(t, w.begun)
}

// A process that has ended is none that cannot be seen.
func TestLookAtAProcessThatHasEnded(t *testing.T) {
	c := exec.Command("/bin/true")
	require.NoError(t, c.Run())
	require.Equal(t, begun{}, lookAtProcess(t.Context(), c.Process.Pid, "", ""))
}

// Ranks that ask mostly do so at once, each with a pipe for the answer.
func TestFilesForAnswers(t *testing.T) {
	_, w, _ := newWorld(t, 4)
	w.view.Ranks[3].App, w.view.Ranks[2].Exited = 1, true
	w.libraries = map[int]*appLibrary{0: {pmix: &pmixUse{later: true}}, 1: {}}
	require.Equal(t, 2+beginsFiles, w.Files())
	w.libraries[0].pmix.alone = true
	require.Zero(t, w.Files())
}
