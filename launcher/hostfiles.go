package launcher

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/hostlist"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/pmi"
)

// asked is a request for a spawn, with what the host files that it names say.
type asked struct {
	overlay.SpawnRequest
	files map[string]hostFile // by the name in the request
}

// hostFile is the contents of one, or why it has none.
type hostFile struct {
	hosts []job.Host
	err   error
}

// hostFile is Place.HostFile.
func (q asked) hostFile(name string) ([]job.Host, error) {
	f := q.files[name]
	return f.hosts, f.err
}

// hostFiles are the names of the host files that a spawn needs.
func hostFiles(s *pmi.Spawn) (names []string) {
	for i := range s.Commands {
		h := &s.Commands[i].Hints
		if name := h.HostFile; name != "" && len(h.Hosts) == 0 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// hostFilesRead is the event of a spawn's host files being read.
type hostFilesRead struct{ asked }

// readHostFiles reads them, on this machine, outside of the event loop: of a file
// system that hangs no answer comes, and then the spawn waits, but nothing else.
func (r *run) readHostFiles(q overlay.SpawnRequest, names []string) {
	dir := r.Dir
	go func() { // ends with the reading, or with the process: the job's end does not wait for it
		files := map[string]hostFile{}
		for _, name := range names {
			hosts, err := readHostFile(dir, name)
			files[name] = hostFile{hosts, err}
		}
		r.inbox.Put(hostFilesRead{asked{q, files}})
	}()
}

// maxHostFile bounds the host file of a spawn, in bytes.
const maxHostFile = 16 << 20

// readHostFile reads one that a rank names, relative to dir.
func readHostFile(dir, name string) ([]job.Host, error) {
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	// Of a pipe the end may never come.
	switch info, err := os.Stat(name); {
	case err != nil:
		return nil, fmt.Errorf("hostfile: %w", err)
	case !info.Mode().IsRegular() || info.Size() > maxHostFile:
		return nil, fmt.Errorf("hostfile: %w: not a file of at most %d bytes", &fs.PathError{Op: "read", Path: name, Err: fs.ErrInvalid}, maxHostFile)
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("hostfile: %w", err)
	}
	file, err := hostlist.ParseFile(strings.NewReader(string(data)), name)
	return file.Hosts, err
}
