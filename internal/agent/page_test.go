package agent

import (
	"fmt"
	"testing"

	"github.com/golaunch/golaunch/internal/filestest"
)

// The page has the figures of the bounds.
func TestFiguresOfThePage(t *testing.T) {
	filestest.Says(t, "security.md",
		fmt.Sprintf("the files of a spawn have %d MiB at most. A file system that gives no answer holds up one spawn for %.0f s, and those of %d spawns are read at a time", maxHostFiles>>20, hostFilePatience.Seconds(), hostFileReaders))
}
