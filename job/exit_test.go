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
	for f, code := range map[Failure]int{
		{Class: CauseSignal, Signal: 9}:    137,
		{Class: CauseSignal, Signal: -128}: ExitLauncher,
		{Class: CauseExit, Code: 3}:        3,
		{Class: CauseAbort, Code: 256}:     1,
		{Class: CauseAbort, Code: -1}:      255,
		{Class: CauseStart, Code: 127}:     127,
		{Class: CauseStart}:                ExitLauncher,
		{Class: CauseNoFinalize}:           1,
		{Class: CauseNodeLost}:             ExitLauncher,
		{Class: 99}:                        ExitLauncher,
	} {
		require.Equal(t, code, f.ExitCode(), "%+v", f)
	}
}
