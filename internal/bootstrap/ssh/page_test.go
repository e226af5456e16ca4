package sshboot

import (
	"fmt"
	"testing"

	"github.com/golaunch/golaunch/internal/filestest"
)

// The page has the figures of the bounds.
func TestFiguresOfThePage(t *testing.T) {
	filestest.Says(t, "security.md",
		fmt.Sprintf("the host was not logged in to %d times for this job", defaultLogIns), fmt.Sprintf("It can use up their log-ins, %d for each host", defaultLogIns))
}
