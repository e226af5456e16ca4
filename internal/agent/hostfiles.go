package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/unix"
)

// The host files that a spawn names are the rank's: its agent reads them, where
// the rank runs and with the rights that the rank has. Nothing of what is in them
// goes anywhere but the names of hosts, which the launcher compares with its own.

const (
	// maxHostFiles bounds the host files of a spawn, in bytes, and the text that
	// their hosts make.
	maxHostFiles = 16 << 20
	maxHostNames = 1 << 20
	// hostFilePatience is how long a spawn waits for its host files: a file
	// system whose server is away gives no answer.
	hostFilePatience = 30 * time.Second
	// hostFileReaders is how many spawns' files are read at a time. One that
	// hangs takes a thread.
	hostFileReaders = 8
)

// hostFileReader reads host files outside of the event loop.
type hostFileReader struct {
	turns    chan struct{} // one for each that reads
	patience time.Duration
}

func newHostFileReader() hostFileReader {
	return hostFileReader{make(chan struct{}, hostFileReaders), hostFilePatience}
}

// start reads files relative to dir and calls done, once, from another goroutine.
func (h hostFileReader) start(dir string, names []string, done func([]overlay.HostFile)) {
	go func() { // ends when patience does, at the latest
		late := time.NewTimer(h.patience)
		defer late.Stop()
		files := []overlay.HostFile{{Name: names[0], Failure: fmt.Sprintf("not read within %v", h.patience)}}
		select {
		case h.turns <- struct{}{}:
		case <-late.C:
			done(files)
			return
		}
		read := make(chan []overlay.HostFile, 1)
		go func() { // ends with the reading, or with the process: nothing waits for it
			read <- readHostFiles(dir, names)
			<-h.turns
		}()
		select {
		case files = <-read:
		case <-late.C:
		}
		done(files)
	}()
}

// readHostFiles reads files until one cannot be read.
func readHostFiles(dir string, names []string) (files []overlay.HostFile) {
	bytes, text := int64(maxHostFiles), maxHostNames
	for _, name := range names {
		hosts, err := readHostFile(dir, name, &bytes)
		if text -= len(hosts); err == nil && text < 0 {
			err = fmt.Errorf("more than %d bytes of hosts", maxHostNames)
		}
		if err != nil {
			return append(files, overlay.HostFile{Name: name, Failure: err.Error()})
		}
		files = append(files, overlay.HostFile{Name: name, Hosts: hosts})
	}
	return files
}

// readHostFile returns the names of hosts in a file as a list. It takes the
// file's size off the bytes that may be read. Its errors repeat nothing of the
// file.
func readHostFile(dir, name string, bytes *int64) (hosts string, err error) {
	f, err := unix.OpenRegular(dir, name)
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return "", path.Err // without naming the file twice
	}
	defer f.Close()
	r := &io.LimitedReader{R: f, N: *bytes + 1}
	file, err := hostlist.ParseFile(r, "hosts")
	if *bytes = r.N - 1; *bytes < 0 {
		return "", fmt.Errorf("more than %d bytes", maxHostFiles)
	}
	if line, ok := errors.AsType[*hostlist.LineError](err); ok {
		return "", fmt.Errorf("line %d is none of a host file", line.Line)
	}
	if err != nil {
		return "", errors.New("it names no host, or contradicts itself")
	}
	names := make([]job.Host, len(file.Hosts))
	for i, h := range file.Hosts {
		names[i].Name = h.Name
	}
	return hostlist.Fold(names), nil
}
