package tlslink_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets the test binary be the agent that TestBulk starts.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == agentCommand {
		os.Exit(agent(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}
