package servepmix

import (
	"fmt"
	"testing"

	"github.com/golaunch/golaunch/internal/filestest"
)

// The page has the figures of the bounds.
func TestFiguresOfThePage(t *testing.T) {
	filestest.Says(t, "security.md", fmt.Sprintf("does not say within %.0f s that it is itself", claimPatience.Seconds()))
}
