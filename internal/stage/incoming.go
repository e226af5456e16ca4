package stage

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/golaunch/golaunch/internal/unix"
)

// ScratchPrefix begins the names of the directories of ScratchDirs. The job's name
// there and a dash follow.
const ScratchPrefix = "golaunch-files-"

// ScratchDirs returns the directories, in the order in which they are tried,
// one of which holds a job's files on this host: in the places where agents
// are staged, each with a name of its own that nobody can know before it is made.
// Whoever cleans up for a dead agent finds it by its beginning, and owner.
func ScratchDirs(job string) []string {
	var dirs []string
	for _, place := range scratchPlaces() {
		dirs = append(dirs, filepath.Join(place, ScratchPrefix+job+"-"+rand.Text()))
	}
	return dirs
}

// scratchPlaces returns the directories in which agents and files are staged.
func scratchPlaces() (places []string) {
	home := os.Getenv("HOME")
	if home != "" {
		home = filepath.Join(home, ".cache")
	}
	for _, place := range []string{os.Getenv("XDG_RUNTIME_DIR"), "/dev/shm", "/tmp", home} {
		if filepath.IsAbs(place) {
			places = append(places, place)
		}
	}
	return places
}

// RemoveScratch removes those of ScratchDirs that a job's dead processes have left, by the
// rules of RemoveScript.
func RemoveScratch(job string) {
	for _, place := range scratchPlaces() {
		entries, _ := os.ReadDir(place) // some are better than none
		for _, e := range entries {
			info, err := e.Info()
			if strings.HasPrefix(e.Name(), ScratchPrefix+job+"-") && err == nil && info.IsDir() && info.Mode()&0o022 == 0 {
				_ = unix.RemoveTree(filepath.Join(place, e.Name())) // another user's stays
			}
		}
		unix.RemoveRootCache(place)
	}
}

// Incoming writes files that arrive one after the other, each followed by its
// SHA-256, into a private directory. It belongs to one goroutine.
type Incoming struct {
	files []File
	dir   string
	next  int      // file that arrives now
	f     *os.File // nil between files
	left  int64    // bytes of it still to come
	sum   hash.Hash
}

// NoDirError says that no directory takes the files.
type NoDirError struct {
	Size    int64    // bytes of all files
	Skipped []string // directories and why not
	// NoExec says that there was room, but nothing may be executed there.
	NoExec bool
}

// Error implements error.
func (e *NoDirError) Error() string {
	hint := "make room in one of them"
	switch {
	case e.NoExec:
		hint = "mount one of them without noexec"
	case mayWriteNone(e.Skipped):
		hint = hintNoWrite
	}
	return fmt.Sprintf("no directory takes %s: %s (%s)", sizeText(e.Size), strings.Join(e.Skipped, "; "), hint)
}

// sizeText returns a number of bytes as people read it.
func sizeText(n int64) string {
	switch {
	case n < 1<<20:
		return fmt.Sprint(n, " bytes")
	case n < 1<<30:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
}

// NewIncoming makes the first of dirs that has room for files, and lets those
// be executed that are to be. It is a NoPlaceError if there is none.
func NewIncoming(dirs []string, files []File) (*Incoming, error) {
	if err := checkFiles(files); err != nil {
		return nil, err
	}
	none := &NoDirError{NoExec: len(dirs) > 0}
	for _, f := range files {
		none.Size += f.Size
	}
	for _, dir := range dirs {
		err := occupy(dir, files)
		if err == nil {
			return &Incoming{files: files, dir: dir}, nil
		}
		none.Skipped = append(none.Skipped, fmt.Sprintf("%s: %v", filepath.Dir(dir), err))
		none.NoExec = none.NoExec && errors.Is(err, errNoExec)
	}
	return nil, none
}

// MakePrivate makes the first of dirs whose file system has room for so many bytes, and
// lets only this user in. It is a NoDirError if there is none.
func MakePrivate(dirs []string, room int64) (string, error) {
	none := &NoDirError{Size: room}
	for _, dir := range dirs {
		var st syscall.Statfs_t
		err := syscall.Statfs(filepath.Dir(dir), &st)
		if err == nil && int64(st.Bavail)*st.Bsize < room {
			err = syscall.ENOSPC
		}
		if err == nil {
			err = occupy(dir, nil)
		}
		if err == nil {
			return dir, nil
		}
		none.Skipped = append(none.Skipped, fmt.Sprintf("%s: %v", filepath.Dir(dir), reason(err)))
	}
	return "", none
}

// checkFiles refuses files that a broken peer may send.
func checkFiles(files []File) error {
	if len(files) > MaxFiles {
		return fmt.Errorf("%d files are more than %d", len(files), MaxFiles)
	}
	seen := map[string]bool{}
	total := int64(0)
	for _, f := range files {
		if f.Name == "" || f.Name == "." || f.Name == ".." || strings.ContainsAny(f.Name, "/\x00") || len(f.Name) > 255 || seen[f.Name] {
			return fmt.Errorf("file name %.60q is not usable", f.Name)
		}
		seen[f.Name] = true
		if f.Size < 0 || f.Size > math.MaxInt64-total {
			return fmt.Errorf("file %s has a size of %d bytes", f.Name, f.Size)
		}
		total += f.Size
	}
	return nil
}

// occupy makes dir, private, with empty files of the final sizes and modes. It
// leaves nothing behind where that fails.
func occupy(dir string, files []File) (err error) {
	place := filepath.Dir(dir)
	if filepath.Base(place) == ".cache" {
		_ = os.Mkdir(place, 0o700) // it may be there; if it cannot be, the next step says why
	}
	if err = private(place); err == nil {
		err = os.Mkdir(dir, 0o700)
	}
	if err != nil {
		unix.RemoveRootCache(place)
	}
	switch {
	case errors.Is(err, syscall.EACCES):
		return errNoWrite
	case err != nil:
		return reason(err)
	}
	defer func() {
		if err != nil {
			_ = unix.RemoveTree(dir)
			unix.RemoveRootCache(place)
		}
	}()
	if err := os.Chmod(dir, 0o700); err != nil { // for any umask
		return reason(err)
	}
	for _, f := range files {
		if err := reserve(filepath.Join(dir, f.Name), f); err != nil {
			return reason(err)
		}
	}
	return nil
}

// private refuses a directory in which other users may exchange ours.
func private(place string) error {
	info, err := os.Stat(place)
	if err != nil {
		return reason(err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.IsDir():
		return syscall.ENOTDIR
	case info.Mode()&os.ModeSticky != 0 || ok && int(st.Uid) == os.Geteuid() && info.Mode()&0o022 == 0:
	case !unix.MayWrite(place):
		return errNoWrite
	default:
		return errors.New("others may remove files there")
	}
	return nil
}

// errNoWrite says that the account has no right to write at a place.
var errNoWrite = errors.New("we may not write there")

const hintNoWrite = "give the account the right to write in one of them; /tmp is mostly of mode 1777"

// mayWriteNone reports whether all that keeps directories, "DIR: REASON", from being used
// is that they may not be written, or are not there.
func mayWriteNone(skipped []string) bool {
	found := false
	for _, s := range skipped {
		switch _, reason, _ := strings.Cut(s, ": "); reason {
		case errNoWrite.Error():
			found = true
		case "not set", syscall.ENOENT.Error():
		default:
			return false
		}
	}
	return found
}

// errNoExec says that nothing may be executed at a place.
var errNoExec = errors.New("nothing may be executed there")

// reserve makes an empty file and has the file system keep its room, where it
// knows how to.
func reserve(path string, f File) error {
	w, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer w.Close()
	mode := os.FileMode(0o600)
	if f.Exec {
		mode = 0o700
	}
	if err := w.Chmod(mode); err != nil { // for any umask
		return err
	}
	if f.Exec && unix.Executable(path) != nil {
		return errNoExec
	}
	const step = 64 << 20 // a signal starts one anew
	for off := int64(0); off < f.Size; {
		n := min(f.Size-off, step)
		switch err := syscall.Fallocate(int(w.Fd()), 0, off, n); err {
		case nil:
			off += n
		case syscall.EINTR:
		case syscall.EOPNOTSUPP, syscall.ENOSYS:
			return nil
		default:
			return err
		}
	}
	return nil
}

// reason is the cause of a file error without the file's name.
func reason(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Dir returns the directory of the files.
func (in *Incoming) Dir() string { return in.dir }

// Write takes the next bytes of the file that arrives.
func (in *Incoming) Write(p []byte) (int, error) {
	if err := in.begin(); err != nil {
		return 0, err
	}
	if int64(len(p)) > in.left {
		return 0, fmt.Errorf("%s: more bytes arrived than its size of %d", in.files[in.next].Name, in.files[in.next].Size)
	}
	n, err := in.f.Write(p)
	in.left -= int64(n)
	in.sum.Write(p[:n])
	if err != nil {
		return n, fmt.Errorf("write %s: %w", filepath.Join(in.dir, in.files[in.next].Name), reason(err))
	}
	return n, nil
}

// begin opens the file that arrives, if that has not been done.
func (in *Incoming) begin() (err error) {
	if in.f != nil {
		return nil
	}
	if in.next == len(in.files) {
		return errors.New("bytes arrived after the last file")
	}
	f := in.files[in.next]
	if in.f, err = os.OpenFile(filepath.Join(in.dir, f.Name), os.O_WRONLY|syscall.O_NOFOLLOW, 0); err != nil {
		in.f = nil
		return err
	}
	in.left, in.sum = f.Size, sha256.New()
	return nil
}

// End takes the SHA-256 of the file that has arrived. It reports whether that
// was the last.
func (in *Incoming) End(sum []byte) (last bool, err error) {
	if err := in.begin(); err != nil {
		return false, err
	}
	f := in.files[in.next]
	if in.left > 0 {
		return false, fmt.Errorf("%s: %d of its %d bytes are missing", f.Name, in.left, f.Size)
	}
	if !bytes.Equal(in.sum.Sum(nil), sum) {
		return false, fmt.Errorf("%s was damaged on the way: its SHA-256 is %.12x, want %.12x", f.Name, in.sum.Sum(nil), sum)
	}
	err = in.f.Close() // a rank could not execute it otherwise
	in.f = nil
	in.next++
	if err != nil {
		return false, fmt.Errorf("write %s: %w", filepath.Join(in.dir, f.Name), reason(err))
	}
	return in.next == len(in.files), nil
}

// Close lets go of a file whose end did not come.
func (in *Incoming) Close() {
	if in.f != nil {
		in.f.Close()
		in.f = nil
	}
}
