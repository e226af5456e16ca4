package stage

import (
	"fmt"
	"testing"

	"github.com/golaunch/golaunch/internal/filestest"
)

// The page has the figures of the bounds.
func TestFiguresOfThePage(t *testing.T) {
	filestest.Says(t, "security.md", fmt.Sprintf("its shell after %d MiB, who speaks in the script's name after %d lines or %d KiB in one", maxNoise>>20, maxSaid, maxReason>>10))
}
