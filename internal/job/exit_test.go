package job

import (
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
