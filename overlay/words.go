package overlay

import (
	"slices"

	"github.com/golaunch/golaunch/stage"
)

// AgentWord and WardenWord are the first argument that turns golaunch's own
// executable into an agent or a warden, so that what is staged is itself.
const (
	AgentWord  = "nla-agent"
	WardenWord = "nla-warden"
)

// IsAgent says whether a command line, without the program's name, is that of an
// agent or a warden. What package stage starts has its options first.
func IsAgent(words []string) bool {
	return len(words) > 0 && slices.Contains([]string{AgentWord, WardenWord, "--unlink", "--hash", stage.InstalledWord}, words[0])
}

// LostAfterWord is the agent's option that names its link's LostAfter, which
// both sides must share.
const LostAfterWord = "--lost-after"
