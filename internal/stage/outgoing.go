package stage

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// File is a file that travels to every node of a job.
type File struct {
	Name string `cbor:"1,keyasint"` // without a directory
	Size int64  `cbor:"2,keyasint"` // bytes
	Exec bool   `cbor:"3,keyasint"` // may be executed
}

// Limits of the files of one job.
const (
	MaxFiles  = 1024
	chunkSize = 256 << 10 // bytes that travel at a time
)

// Outgoing are files of this machine that are to travel. Send and Close belong
// to one goroutine.
type Outgoing struct {
	list  []File
	paths []string
	files []*os.File
}

// OpenFiles opens the files at paths. They stay open, so that the named files are sent
// even if others replace them meanwhile. The error is for the user.
func OpenFiles(paths []string) (*Outgoing, error) {
	o := &Outgoing{}
	if len(paths) > MaxFiles {
		return nil, fmt.Errorf("%d files are more than %d; put them into one archive", len(paths), MaxFiles)
	}
	for _, path := range paths {
		if err := o.add(path); err != nil {
			o.Close()
			return nil, err
		}
	}
	return o, nil
}

func (o *Outgoing) add(path string) error {
	info, err := os.Stat(path) // before it is opened: opening a pipe would wait
	var pe *fs.PathError
	switch {
	case errors.As(err, &pe):
		return fmt.Errorf("%s: %w", path, pe.Err)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory; name its files, or put it into one archive", path)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is no regular file", path)
	}
	file := File{Name: filepath.Base(path), Size: info.Size(), Exec: info.Mode()&0o111 != 0}
	for i, f := range o.list {
		if f.Name == file.Name {
			return fmt.Errorf("%s and %s would both be %s on the nodes; rename one", o.paths[i], path, file.Name)
		}
	}
	f, err := os.Open(path)
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	o.list, o.paths, o.files = append(o.list, file), append(o.paths, path), append(o.files, f)
	return nil
}

// List describes the files, in the order in which they are sent.
func (o *Outgoing) List() []File { return o.list }

// Named returns the name under which the file at path travels, "" if it is
// none of these.
func (o *Outgoing) Named(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	for i, f := range o.files {
		if own, err := f.Stat(); err == nil && os.SameFile(own, info) {
			return o.list[i].Name
		}
	}
	return ""
}

// ErrStopped ends Send where its caller wants no more.
var ErrStopped = errors.New("stopped")

// Send gives the content of all files, in order, to chunk, and after each file
// its SHA-256 to end. A chunk is valid until the next. An error of theirs ends
// it and is returned as it is; its own name the file.
func (o *Outgoing) Send(chunk, end func([]byte) error) error {
	buf := make([]byte, chunkSize)
	for i, f := range o.files {
		sum := sha256.New()
		for left := o.list[i].Size; left > 0; {
			n, err := f.Read(buf[:min(left, chunkSize)])
			switch {
			case errors.Is(err, io.EOF):
				return fmt.Errorf("%s became shorter while it was read", o.paths[i])
			case err != nil:
				return fmt.Errorf("%s: %w", o.paths[i], err)
			}
			left -= int64(n)
			sum.Write(buf[:n])
			if err := chunk(buf[:n]); err != nil {
				return err
			}
		}
		if n, _ := f.Read(buf[:1]); n > 0 {
			return fmt.Errorf("%s grew while it was read", o.paths[i])
		}
		if err := end(sum.Sum(nil)); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the files.
func (o *Outgoing) Close() {
	for _, f := range o.files {
		f.Close()
	}
}
