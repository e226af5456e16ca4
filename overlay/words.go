package overlay

import (
	"slices"

	"github.com/golaunch/golaunch/stage"
)

// AgentWord is the first argument that turns golaunch's own executable into an
// agent, so that what is staged is itself.
const AgentWord = "nla-agent"

// IsAgent says whether a command line, without the program's name, is that of an
// agent. What package stage starts has its options first.
func IsAgent(words []string) bool {
	return len(words) > 0 && slices.Contains([]string{AgentWord, "--unlink", "--hash", stage.InstalledWord}, words[0])
}

// LostAfterWord is the agent's option that names its link's LostAfter, which
// both sides must share.
const LostAfterWord = "--lost-after"
