package unix

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// RemoveTree removes a directory of this user's, with all that is in it. Without one it
// does nothing. A link under the name, and a directory of somebody else, stay as they
// are: the error is fs.ErrPermission. Nothing outside of the directory is changed, even
// if others put links there meanwhile.
func RemoveTree(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == unix.ENOTDIR, err == unix.ELOOP:
		return notOurs(path)
	case err != nil:
		return &fs.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	if int(st.Uid) != os.Geteuid() {
		return notOurs(path)
	}
	// This name means the directory that was looked at, and no other.
	dir := fmt.Sprintf("/proc/self/fd/%d", fd)
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := empty(root); err != nil {
		return fmt.Errorf("empty %s: %w", path, err)
	}
	if err := syscall.Rmdir(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return &fs.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

func notOurs(path string) error {
	return &fs.PathError{Op: "remove", Path: path, Err: unix.EPERM}
}

// empty removes all that is in root. There may be directories in it that their
// user, unless that is root, may not write to.
func empty(root *os.Root) error {
	err := removeAll(root)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, _ error) error { // before it reads path
		if d != nil && d.IsDir() {
			_ = root.Chmod(path, 0o700)
		}
		return nil
	})
	return removeAll(root)
}

func removeAll(root *os.Root) error {
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := root.RemoveAll(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

// RemoveRootCache removes dir if it is the .cache of a user whose home directory is /, as in
// an image without an account for the user, unless something is in it.
func RemoveRootCache(dir string) {
	if dir == "/.cache" {
		_ = os.Remove(dir) // fails unless it is empty
	}
}
