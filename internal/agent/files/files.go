// Package files is a node's part in bringing the job's files to all nodes: they are
// passed on to the children while they are written here.
package files

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/stage"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// Child is the link to one.
type Child interface {
	// SendWait returns when the child has taken a message, or is lost.
	SendWait(s link.Stream, h tree.Header, body []byte) error
}

// Files passes the job's files on to the children and writes them here, chunk by
// chunk, in the goroutine that reads the data stream. A child, or a disk,
// that is slow holds up that stream and nothing else, so at most a chunk and
// what the links hold is in memory.
type Files struct {
	done func(dir string, err error) // told once, from that goroutine

	mu       sync.Mutex
	changed  sync.Cond
	begun    bool
	over     bool // what is still to come is dropped
	children []Child
	list     []stage.File
	dirs     []string // none: nothing is written here

	disk   sync.Mutex // held while something is written
	in     *stage.Incoming
	failed bool
}

// New returns files that tell done once, from the goroutine of Take: that all are
// in dir, or what is in the way. Close releases them.
func New(done func(dir string, err error)) *Files {
	f := &Files{done: done}
	f.changed.L = &f.mu
	return f
}

// Begin has the files of list passed on to children, and written into one of
// dirs, which may be none. What has come before waits for it.
func (f *Files) Begin(children []Child, list []stage.File, dirs []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun, f.children, f.list, f.dirs = true, children, list, dirs
	f.changed.Broadcast()
}

// Abandon drops what is still to come.
func (f *Files) Abandon() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.changed.Broadcast()
}

// wanted waits for Begin and reports whether the files are wanted still.
func (f *Files) wanted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.begun && !f.over {
		f.changed.Wait()
	}
	return !f.over
}

// Take is the sink of the data stream.
func (f *Files) Take(h tree.Header, body []byte) {
	if !f.wanted() {
		return
	}
	var sends sync.WaitGroup
	for i, child := range f.children {
		if child == nil {
			continue
		}
		sends.Go(func() { // ends when the child takes it, or is lost
			if child.SendWait(link.Data, h, body) != nil {
				f.children[i] = nil // its loss is reported where its streams are read
			}
		})
	}
	f.disk.Lock()
	f.write(h.Kind, body)
	f.disk.Unlock()
	sends.Wait()
}

// write takes a message for this node.
func (f *Files) write(kind tree.Kind, body []byte) {
	if len(f.dirs) == 0 || f.failed || !f.wanted() {
		return
	}
	var err error
	if f.in == nil {
		f.in, err = stage.NewIncoming(f.dirs, f.list)
	}
	last := false
	switch {
	case err != nil:
	case kind == overlay.KindFile:
		_, err = f.in.Write(body)
	case kind == overlay.KindFileEnd:
		last, err = f.in.End(body)
	default:
		err = fmt.Errorf("unexpected message of kind %d among files", kind)
	}
	if err != nil {
		f.failed = true
		f.done("", err)
	} else if last {
		f.done(f.in.Dir(), nil)
	}
}

// Close removes what the warden has not.
func (f *Files) Close() {
	f.Abandon()
	f.disk.Lock()
	defer f.disk.Unlock()
	if f.in != nil {
		f.in.Close()
	}
	for _, dir := range f.dirs {
		_ = unix.RemoveTree(dir) // those that were not made are not there, or not ours
		unix.RemoveRootCache(filepath.Dir(dir))
	}
}
