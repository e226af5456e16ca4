package overlay

import (
	"fmt"
	"testing"

	"github.com/golaunch/golaunch/internal/filestest"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/tree"
)

// The pages have the figures of the bounds.
func TestFiguresOfThePages(t *testing.T) {
	of := fmt.Sprintf
	filestest.Says(t, "security.md",
		of("No frame has more than %d MiB, none of the control stream more than %d KiB, and no message more than %d MiB.", link.MaxFrame>>20, link.MaxControlFrame>>10, tree.MaxMessage>>20),
		of("A failure or a note has %d KiB, a message of dead hosts %d KiB and %d KiB for each host, chunks of output and input %d MiB, spawns %d MiB;",
			text.base>>10, causes.base>>10, causes.host>>10, chunk.base>>20, spawns.base>>20),
		of("are %d of most kinds, and %d and %d for each host where hosts are told of.", few.base, records.base, records.host),
		of("texts (%d KiB for a cause, %d KiB for a name, %d bytes for a step), ages, %d steps, and %d tries of %d bytes", maxCause>>10, maxWord>>10, maxStep, maxSpans, maxTries, maxError),
		of("%d MiB may be unfinished, and one of %d MiB in memory twice while it is joined; %d MiB, or one message, may wait to be handled or to be passed on, and %d MiB of the control stream beside them",
			maxUnderway>>20, tree.MaxMessage>>20, roomBytes>>20, controlBytes>>20))
	filestest.Says(t, "protocol-tree.md",
		of("never exceed %d MiB. Its last piece has a message joined, which takes its size once more until the pieces are let go of: %d MiB at most.", maxUnderway>>20, tree.MaxMessage>>20),
		of("are %d MiB or one message; then the neighbor's streams wait.", roomBytes>>20),
		of("%d MiB of its messages may wait beside them.", controlBytes>>20),
		of("can have an agent hold %d MiB", (maxUnderway+tree.MaxMessage+roomBytes+controlBytes)>>20))
}
