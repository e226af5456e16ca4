package launcher

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/internal/unix"
)

// filesOpen bounds how many output files are open at a time: the launcher's
// descriptors do not grow with the job.
const filesOpen = 128

// files are the destinations of --out and --err, opened when they are written
// to and closed when others are.
type files struct {
	config stdio.AssemblerConfig
	report *reporter
	byPath map[string]*file
	open   []*file // longest unused first
	more   bool    // files that are there are added to
	made   int     // the number of the directories above that golaunch has made
}

// file is one output file. It is the stdio.Output of its Assembler.
type file struct {
	set  *files
	path string
	dest *stdio.Assembler
	f    *os.File // nil while closed
	pipe bool     // a named one: its reader takes a close for the end
}

func newFiles(config stdio.AssemblerConfig, report *reporter) *files {
	config.ShowAfter = -1 // nobody waits for a prompt in a file
	return &files{config: config, report: report, byPath: map[string]*file{}}
}

// create makes an empty file at path, once. To open a named pipe would wait for its
// reader: that is left to the first write.
func (s *files) create(path string) error {
	if s.byPath[path] != nil {
		return nil
	}
	pipe, err := isPipe(path, s.made)
	if err != nil {
		return err
	}
	f := &file{set: s, path: path, pipe: pipe}
	if !f.pipe {
		flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
		if s.more {
			flags &^= os.O_TRUNC
		}
		fh, err := unix.OpenOutput(path, s.made, flags, 0o666)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w; make the directory first", err)
		}
		if err != nil {
			return err
		}
		if err := fh.Close(); err != nil {
			return err
		}
	}
	config := s.config
	config.Out = f
	if f.dest, err = stdio.NewAssembler(config); err != nil {
		return err
	}
	s.byPath[path] = f
	return nil
}

// dest returns the Assembler in front of the file at path.
func (s *files) dest(path string) (*stdio.Assembler, error) {
	if err := s.create(path); err != nil {
		return nil, err
	}
	return s.byPath[path].dest, nil
}

// flush ends every file.
func (s *files) flush() error {
	var first error
	for _, f := range s.byPath {
		if err := f.dest.EndAll(); first == nil {
			first = err
		}
		if f.pipe && f.f == nil { // nothing was written: its reader sees an end all the same
			f.f, _ = unix.OpenOutput(f.path, s.made, os.O_WRONLY|syscall.O_NONBLOCK, 0) // fails if nobody does
		}
		if err := f.shut(); first == nil {
			first = err
		}
	}
	s.open = nil
	return first
}

// Write implements stdio.Output: it appends to the file.
func (f *file) Write(_ stdio.Stream, p []byte) error {
	if f.f == nil {
		if err := f.open(); err != nil {
			return err
		}
	}
	_, err := f.f.Write(p)
	return err
}

// open opens the file to append to it, and closes another if too many are open.
func (f *file) open() (err error) {
	if f.pipe {
		f.f, err = openPipe("output file", f.path, f.set.made, f.set.report)
		return err
	}
	if len(f.set.open) == filesOpen {
		if err := f.set.open[0].shut(); err != nil {
			return err
		}
		f.set.open = f.set.open[1:]
	}
	if f.f, err = unix.OpenOutput(f.path, f.set.made, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666); err == nil {
		f.set.open = append(f.set.open, f)
	}
	return err
}

func (f *file) shut() error {
	if f.f == nil {
		return nil
	}
	err := f.f.Close()
	f.f = nil
	return err
}

// NewSpill implements stdio.Output.
func (f *file) NewSpill() (stdio.Spill, error) { return newSpill() }

// LineCut implements stdio.Output.
func (f *file) LineCut(c stdio.LineCut) { f.set.report.lineCut(c) }
