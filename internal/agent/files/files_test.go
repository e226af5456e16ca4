package files

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/stage"
	"github.com/golaunch/golaunch/tree"
)

// child takes what is passed on to it.
type child struct{ arrived chan []byte }

func newChild() child { return child{make(chan []byte, 100)} }

func (c child) SendWait(s link.Stream, h tree.Header, body []byte) error {
	if s != link.Data {
		return fmt.Errorf("on stream %v", s)
	}
	c.arrived <- append([]byte{byte(h.Kind)}, body...)
	return nil
}

// lostChild takes nothing.
type lostChild struct{}

func (lostChild) SendWait(link.Stream, tree.Header, []byte) error { return link.ErrLost }

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
	f := New(func(dir string, err error) { told <- outcome{dir, err} })
	one := newChild()
	early := make(chan struct{})
	go func() { // ends when the files are begun
		f.Take(header(overlay.KindFile), content[:10])
		close(early)
	}()
	f.Begin([]Child{one, lostChild{}}, []stage.File{{Name: "f", Size: int64(len(content)), Exec: true}, {Name: "empty"}}, dirs)
	<-early
	f.Take(header(overlay.KindFile), content[10:])
	f.Take(header(overlay.KindFileEnd), sum[:])
	require.Empty(t, told, "one is still to come")
	none := sha256.Sum256(nil)
	f.Take(header(overlay.KindFileEnd), none[:])
	require.Equal(t, outcome{dirs[0], nil}, <-told)
	got, err := os.ReadFile(filepath.Join(dirs[0], "f"))
	require.NoError(t, err)
	require.Equal(t, content, got)
	for _, want := range [][]byte{
		append([]byte{byte(overlay.KindFile)}, content[:10]...), append([]byte{byte(overlay.KindFile)}, content[10:]...),
		append([]byte{byte(overlay.KindFileEnd)}, sum[:]...), append([]byte{byte(overlay.KindFileEnd)}, none[:]...),
	} {
		require.Equal(t, want, <-one.arrived)
	}
	f.Close()
	require.NoDirExists(t, dirs[0])
}

// A failure here is told once; the children get what is theirs all the same.
func TestFilesThatCannotBeWritten(t *testing.T) {
	var failures []error
	f := New(func(dir string, err error) {
		require.Empty(t, dir)
		failures = append(failures, err)
	})
	one := newChild()
	f.Begin([]Child{one}, []stage.File{{Name: "f", Size: 5}}, []string{filepath.Join(t.TempDir(), "none", "job")})
	f.Take(header(overlay.KindFile), []byte("x"))
	f.Take(header(overlay.KindFile), []byte("y"))
	require.Len(t, failures, 1)
	require.ErrorContains(t, failures[0], "no directory takes 5 bytes: ")
	require.Equal(t, "x", string((<-one.arrived)[1:]))
	require.Equal(t, "y", string((<-one.arrived)[1:]))
	f.Close()
}

// Once the job is ended nothing is written or passed on, and nobody waits.
func TestFilesAreAbandoned(t *testing.T) {
	f := New(func(string, error) { t.Error("nobody is to be told") })
	dir := filepath.Join(t.TempDir(), "job")
	waits := make(chan struct{})
	go func() { // ends with Abandon
		f.Take(header(overlay.KindFile), []byte("x"))
		close(waits)
	}()
	f.Abandon()
	<-waits
	one := newChild()
	f.Begin([]Child{one}, []stage.File{{Name: "f", Size: 1}}, []string{dir})
	f.Take(header(overlay.KindFile), []byte("x"))
	require.NoDirExists(t, dir)
	require.Empty(t, one.arrived)
	f.Close()
}

// What is wrong with the files is said once, and where: a wrong sum, a message that
// has no place among them.
func TestDamagedFiles(t *testing.T) {
	for want, kind := range map[string]tree.Kind{
		"f":                              overlay.KindFileEnd,
		"unexpected message of kind 200": 200,
	} {
		place := t.TempDir()
		require.NoError(t, os.Chmod(place, 0o700))
		var failures []error
		f := New(func(_ string, err error) { failures = append(failures, err) })
		one := newChild()
		f.Begin([]Child{one}, []stage.File{{Name: "f", Size: 1}}, []string{filepath.Join(place, "job")})
		f.Take(header(overlay.KindFile), []byte("x"))
		for range 2 {
			f.Take(header(kind), make([]byte, sha256.Size))
		}
		require.Len(t, failures, 1)
		require.ErrorContains(t, failures[0], want)
		require.Len(t, one.arrived, 3)
		f.Close()
	}
}

// A node that writes nothing passes on all the same.
func TestFilesAreOnlyPassedOn(t *testing.T) {
	f := New(func(string, error) { t.Error("nobody is to be told") })
	one := newChild()
	f.Begin([]Child{one}, []stage.File{{Name: "f", Size: 1}}, nil)
	f.Take(header(overlay.KindFile), []byte("x"))
	require.Equal(t, append([]byte{byte(overlay.KindFile)}, 'x'), <-one.arrived)
	f.Close()
}
