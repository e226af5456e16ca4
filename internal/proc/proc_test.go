package proc

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also the warden, and the programs that tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == helperWord {
		os.Exit(helperMain(os.Args[2:]))
	}
	// Under the race detector every exit would wait a second for others' reports.
	if err := os.Setenv("GORACE", "atexit_sleep_ms=0"); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}
