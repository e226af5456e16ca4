package agent

import (
	"bytes"
	"crypto/sha256"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/link/memlink"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/stage"
	"github.com/golaunch/golaunch/tree"
)

// child is an edge to a child and what arrives there.
func child(t *testing.T) (edge *overlay.Edge, arrived <-chan []byte, far *overlay.Edge) {
	t.Helper()
	near, remote := memlink.Pair()
	c := make(chan []byte, 100)
	inbox := overlay.NewInbox(func() {})
	far = overlay.NewEdge(remote, tree.Up, inbox, nil, func(h tree.Header, body []byte) {
		c <- append([]byte{byte(h.Kind)}, body...)
	})
	edge = overlay.NewEdge(near, 0, inbox, nil, nil)
	t.Cleanup(func() { edge.Close(); far.Close() })
	return edge, c, far
}

func header(kind tree.Kind) tree.Header {
	return tree.Header{Kind: kind, To: tree.Everyone, From: tree.Launcher}
}

func TestFilesArePassedOnAndWritten(t *testing.T) {
	place := t.TempDir()
	require.NoError(t, os.Chmod(place, 0o700))
	dirs := []string{filepath.Join(place, "job")}
	content := bytes.Repeat([]byte("content"), 1000)
	sum := sha256.Sum256(content)
	type outcome struct {
		dir string
		err error
	}
	told := make(chan outcome, 10)
	f := newFiles(func(dir string, err error) { told <- outcome{dir, err} })
	one, atOne, _ := child(t)
	two, _, gone := child(t)
	gone.Close() // a lost child holds nobody up
	early := make(chan struct{})
	go func() { // ends when the files are begun
		f.take(header(overlay.KindFile), content[:10])
		close(early)
	}()
	f.begin([]*overlay.Edge{one, two}, []stage.File{{Name: "f", Size: int64(len(content)), Exec: true}, {Name: "empty"}}, dirs)
	<-early
	f.take(header(overlay.KindFile), content[10:])
	f.take(header(overlay.KindFileEnd), sum[:])
	require.Empty(t, told, "one is still to come")
	none := sha256.Sum256(nil)
	f.take(header(overlay.KindFileEnd), none[:])
	require.Equal(t, outcome{dirs[0], nil}, <-told)
	got, err := os.ReadFile(filepath.Join(dirs[0], "f"))
	require.NoError(t, err)
	require.Equal(t, content, got)
	for _, want := range [][]byte{
		append([]byte{byte(overlay.KindFile)}, content[:10]...), append([]byte{byte(overlay.KindFile)}, content[10:]...),
		append([]byte{byte(overlay.KindFileEnd)}, sum[:]...), append([]byte{byte(overlay.KindFileEnd)}, none[:]...),
	} {
		require.Equal(t, want, <-atOne)
	}
	f.close()
	require.NoDirExists(t, dirs[0])
}

// A failure here is told once; the children get what is theirs all the same.
func TestFilesThatCannotBeWritten(t *testing.T) {
	var failures []error
	f := newFiles(func(dir string, err error) {
		require.Empty(t, dir)
		failures = append(failures, err)
	})
	one, atOne, _ := child(t)
	f.begin([]*overlay.Edge{one}, []stage.File{{Name: "f", Size: 5}}, []string{filepath.Join(t.TempDir(), "none", "job")})
	f.take(header(overlay.KindFile), []byte("x"))
	f.take(header(overlay.KindFile), []byte("y"))
	require.Len(t, failures, 1)
	require.ErrorContains(t, failures[0], "no directory takes 5 bytes: ")
	require.Equal(t, "x", string((<-atOne)[1:]))
	require.Equal(t, "y", string((<-atOne)[1:]))
	f.close()
}

// Once the job is ended nothing is written or passed on, and nobody waits.
func TestFilesAreAbandoned(t *testing.T) {
	f := newFiles(func(string, error) { t.Error("nobody is to be told") })
	dir := filepath.Join(t.TempDir(), "job")
	waits := make(chan struct{})
	go func() { // ends with abandon
		f.take(header(overlay.KindFile), []byte("x"))
		close(waits)
	}()
	f.abandon()
	<-waits
	one, atOne, _ := child(t)
	f.begin([]*overlay.Edge{one}, []stage.File{{Name: "f", Size: 1}}, []string{dir})
	f.take(header(overlay.KindFile), []byte("x"))
	require.NoDirExists(t, dir)
	require.NoError(t, one.SendWait(link.Data, header(overlay.KindFileEnd), nil))
	require.Equal(t, []byte{byte(overlay.KindFileEnd)}, <-atOne, "nothing came before it")
	f.close()
}
