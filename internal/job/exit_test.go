package job

import (
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// No failure makes a job end with 0, whatever it says.
func TestExitCodeOfAnyFailure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.OneOf(rapid.IntRange(-300, 300), rapid.Int())
		f := Failure{Class: CauseClass(rapid.Byte().Draw(t, "class")), Code: numbers.Draw(t, "code"), Signal: numbers.Draw(t, "signal")}
		code := f.ExitCode()
		require.Positive(t, code)
		require.LessOrEqual(t, code, 255)
	})
	for _, x := range []struct {
		f    Failure
		code int
	}{
		{Failure{Class: CauseSignal, Signal: 9}, 137},
		{Failure{Class: CauseSignal, Signal: -128}, ExitLauncher},
		{Failure{Class: CauseExit, Code: 3}, 3},
		{Failure{Class: CauseAbort, Code: 256}, 1},
		{Failure{Class: CauseAbort, Code: -1}, 255},
		{Failure{Class: CauseStart, Code: 127}, 127},
		{Failure{Class: CauseStart}, ExitLauncher},
		{Failure{Class: CauseNoFinalize}, 1},
		{Failure{Class: CauseNodeLost}, ExitLauncher},
		{Failure{Class: 99}, ExitLauncher},
	} {
		require.Equal(t, x.code, x.f.ExitCode(), "%+v", x.f)
	}
}

// Of failures of one moment the one that weighs least is the cause: what ranks do because
// a peer has ended never outweighs what made that peer end.
func TestWeights(t *testing.T) {
	const (
		sigQuit = 3
		sigBus  = 7
		sigKill = 9
		sigSegv = 11
	)
	for _, x := range []struct {
		name   string
		f      Failure
		weight int
	}{
		{"a broken protocol", Failure{Class: CauseProtocol}, WeightSeen},
		{"killed", Failure{Class: CauseSignal, Signal: sigKill}, WeightFault},
		{"a segmentation fault", Failure{Class: CauseSignal, Signal: sigSegv}, WeightFault},
		{"a bus error", Failure{Class: CauseSignal, Signal: sigBus}, WeightFault},
		{"a quit", Failure{Class: CauseSignal, Signal: sigQuit}, WeightFault},
		{"an assertion", Failure{Class: CauseSignal, Signal: sigAbort}, WeightOwn},
		{"terminated by somebody", Failure{Class: CauseSignal, Signal: sigTerm}, WeightOwn},
		{"an exit", Failure{Class: CauseExit, Code: 3}, WeightOwn},
		{"an exit without finalize", Failure{Class: CauseNoFinalize}, WeightOwn},
		{"not started", Failure{Class: CauseStart, Code: ExitNotFound}, WeightOwn},
		{"a lost node", Failure{Class: CauseNodeLost, Rank: -1}, WeightOwn},
		{"an abort", Failure{Class: CauseAbort, Code: 1}, WeightAbort},
		{"an exit of one that was told of an end", Failure{Class: CauseExit, Code: 5, Told: true}, WeightAbort},
		{"a fault of one that was told", Failure{Class: CauseSignal, Signal: sigSegv, Told: true}, WeightAbort},
		{"a broken protocol of one that was told", Failure{Class: CauseProtocol, Told: true}, WeightAbort},
		{"a write to one that has ended", Failure{Class: CauseSignal, Signal: sigPipe}, WeightPipe},
		{"the same, told", Failure{Class: CauseSignal, Signal: sigPipe, Told: true}, WeightPipe},
		{"an exit after MPI_Finalize", Failure{Class: CauseExit, Code: 1, Finalized: true}, WeightAfter},
		{"killed after MPI_Finalize", Failure{Class: CauseSignal, Signal: sigKill, Finalized: true}, WeightAfter},
	} {
		require.Equal(t, x.weight, x.f.Weight(), x.name)
		require.Less(t, x.f.Weight(), Weights, x.name)
	}
}

// The bounds of what a process can end with: beyond them it is golaunch's own failure, but
// for codes, which are cut as the kernel cuts them.
func TestExitCodesAtTheirBounds(t *testing.T) {
	for _, x := range []struct {
		f    Failure
		code int
	}{
		{Failure{Class: CauseSignal, Signal: 1}, 129},
		{Failure{Class: CauseSignal, Signal: MaxSignal}, 192},
		{Failure{Class: CauseSignal, Signal: MaxSignal + 1}, ExitLauncher},
		{Failure{Class: CauseSignal}, ExitLauncher},
		{Failure{Class: CauseStart, Code: MaxCode}, MaxCode},
		{Failure{Class: CauseStart, Code: MaxCode + 1}, ExitLauncher},
		{Failure{Class: CauseExit, Code: MaxCode}, MaxCode},
		{Failure{Class: CauseExit, Code: MaxCode + 1}, 1},
		{Failure{Class: CauseExit, Code: 259}, 3},
		{Failure{Class: CauseExit}, 1},
		{Failure{Class: CauseAbort}, 1},
		{Failure{Class: CauseNoFinalize, Code: 7}, 1},
		{Failure{Class: CauseProtocol, Code: 7}, ExitLauncher},
	} {
		require.Equal(t, x.code, x.f.ExitCode(), "%+v", x.f)
	}
}

// An error keeps its code, and its text and cause, whatever is said around it.
func TestExitOf(t *testing.T) {
	cause := errors.New("disk full")
	err := Exit(ExitLauncher, "the output cannot be written: %w", cause)
	require.EqualError(t, err, "the output cannot be written: disk full")
	for _, x := range []struct {
		err  error
		code int
	}{
		{nil, 0},
		{cause, ExitUsage},
		{err, ExitLauncher},
		{fmt.Errorf("topo: %w", err), ExitLauncher},
		{Exit(ExitNotFound, "no program: %w", err), ExitNotFound},
	} {
		require.Equal(t, x.code, ExitOf(x.err, ExitUsage), "%v", x.err)
	}
	require.ErrorIs(t, fmt.Errorf("topo: %w", err), cause)
}

// Each code that golaunch itself returns is told of once, in one line.
func TestExitStatuses(t *testing.T) {
	told := map[string]bool{}
	for _, s := range ExitStatuses() {
		require.False(t, told[s.Code], s.Code)
		require.NotContains(t, s.Text, "\n")
		told[s.Code] = true
	}
	for _, code := range []int{0, ExitUsage, ExitTimeout, ExitLauncher, ExitNotExecutable, ExitNotFound, ExitHUP, ExitINT, ExitPIPE, ExitTERM} {
		require.True(t, told[strconv.Itoa(code)], code)
	}
}
