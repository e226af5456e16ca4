package overlay

import (
	"slices"

	"github.com/golaunch/golaunch/internal/stage"
)

// AgentWord is the first argument that turns golaunch's own executable into an agent,
// so that it stages itself.
const AgentWord = "nla-agent"

// IsAgent reports whether a command line, without the program's name, is that of an
// agent. Agents that package stage starts have its options first.
func IsAgent(words []string) bool {
	return len(words) > 0 && slices.Contains([]string{AgentWord, "--unlink", "--hash", stage.InstalledWord, stage.StartWord, stage.EndStartWord, SweepWord}, words[0])
}

// Options of an agent that is to call the launcher. It reads the job's secret from
// its standard input, or from a file.
const (
	DialWord         = "--dial"            // the launcher's address
	SecretWord       = "--secret-file"     // the secret, in a file that nobody else can read
	HostVariableWord = "--host-variable"   // the environment variable that names its host
	WithinWord       = "--connect-timeout" // time that it tries to reach its parent
)

// LostAfterWord is the agent's option that names its link's LostAfter, which
// both sides must share.
const LostAfterWord = "--lost-after"

// SweepWord is the option of an agent that is to end, on its node, the remains of a job
// whose agent and warden are dead: the next word is NodeJob.
const SweepWord = "--sweep"
