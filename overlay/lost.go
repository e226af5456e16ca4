package overlay

import (
	"strings"

	"github.com/golaunch/golaunch/link"
)

// LostText says that the link to a host's agent broke, and why. Where its agent has
// said nothing itself, it says what to look at.
func LostText(cause error) string {
	why := strings.TrimPrefix(cause.Error(), link.ErrLost.Error()+": ")
	text := "lost: the link to its agent broke: " + why
	if !strings.Contains(why, saidMark) && !strings.HasPrefix(why, protocolMark) {
		text += " (is the host up, and reached from the others? was the agent there killed? dmesg there may tell)"
	}
	return text
}

// saidMark begins what an agent has printed, protocolMark what it may not send.
const (
	saidMark     = "; it said: "
	protocolMark = "protocol error: "
)
