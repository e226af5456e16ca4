package launcher

import (
	"io"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/stdio"
)

// A directory of a rank's own, which shows only when the ranks are placed, has to be
// there.
func TestOutputIntoADirectoryThatIsMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "rank0")
	s := newFiles(stdio.AssemblerConfig{Ranks: 1, LineMax: 100}, &reporter{w: io.Discard})
	require.EqualError(t, s.create(dir+"/out"), "open "+dir+"/out: no such file or directory; make the directory first")
}
