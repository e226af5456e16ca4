package trees

import (
	"fmt"
	"testing"

	"github.com/golaunch/golaunch/internal/filestest"
)

// The page has the figures of the bounds.
func TestFiguresOfThePage(t *testing.T) {
	filestest.Says(t, "security.md", fmt.Sprintf("for the launcher's answer wait %d requests for each host of the job", maxAnswers))
}
