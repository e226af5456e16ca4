package unix

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// linksAtMost bounds the links that one name may lead through, as for the kernel.
const linksAtMost = 40

// namedPlace holds the directory of a file that a user has named, open so that others
// cannot exchange it, and the last component of the name.
type namedPlace struct {
	path   string // for messages
	dir    int    // O_PATH; AT_FDCWD until a directory was opened
	name   string
	owner  int  // of the directory
	shared bool // others may write in the directory
	asIs   bool // the kernel follows the name to where no name leads
}

// OpenOutput opens a file that a user has named for output, which need not be there
// with O_CREATE. Directories are resolved as the kernel does, but for the last made of
// them, which golaunch has made itself; these, and the last component, are not followed
// through a link in a directory where others may write. A file there has to be this
// user's own, or of the directory's owner, and have one name. The error of others is
// fs.ErrPermission.
func OpenOutput(path string, made, flags int, mode os.FileMode) (*os.File, error) {
	p, err := locate(path, made)
	if err != nil {
		return nil, err
	}
	defer p.close()
	fd, err := p.open(flags|unix.O_CLOEXEC, uint32(mode.Perm()))
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
		_ = unix.SetNonblock(fd, true) // a write that waits takes no thread, as of os.OpenFile
	}
	return os.NewFile(uintptr(fd), path), nil
}

// StatOutput describes the file that OpenOutput would open.
func StatOutput(path string, made int) (fs.FileInfo, error) {
	p, err := locate(path, made)
	if err != nil {
		return nil, err
	}
	defer p.close()
	fd, err := p.look()
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return os.Stat(self(fd))
}

// OpenOutputDir opens a directory by the rule of OpenOutput, and makes it first, with all
// above it, where create is set.
func OpenOutputDir(path string, create bool) (*os.Root, error) {
	path = filepath.Clean(path)
	if create {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return nil, err
		}
	}
	p, err := locate(path, 0)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if create {
		if err := unix.Mkdirat(p.dir, p.name, 0o777); err != nil && err != unix.EEXIST {
			return nil, p.denied("mkdir", err)
		}
	}
	fd, err := p.enter(p.name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	return os.OpenRoot(self(fd))
}

// self returns a path of fd's file, which renames do not change.
func self(fd int) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }

// locate finds the place of a name.
func locate(path string, made int) (*namedPlace, error) {
	p := &namedPlace{path: path, dir: unix.AT_FDCWD, name: path}
	for range linksAtMost {
		above, names := split(p.name, made)
		made = 0
		if err := p.descend(above, names[:len(names)-1]); err != nil {
			p.close()
			return nil, err
		}
		p.name = names[len(names)-1]
		if p.asIs {
			return p, nil
		}
		target := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(p.dir, p.name, target)
		if err != nil { // it is none, or nothing is there
			return p, nil
		}
		if p.shared {
			defer p.close()
			return nil, p.refusedLink(p.name)
		}
		p.name = string(target[:n])
	}
	p.close()
	return nil, p.failed("open", unix.ELOOP)
}

// split takes a name apart: the directories that the kernel resolves, and at least one
// component more, at most made + 1.
func split(path string, made int) (above string, names []string) {
	if path == "" || strings.HasSuffix(path, "/") {
		return path, []string{"."} // no file
	}
	above = path
	for range made + 1 {
		whole := strings.TrimRight(above, "/")
		i := strings.LastIndexByte(whole, '/') + 1
		if whole == "" {
			break
		}
		above, names = above[:i], append([]string{whole[i:]}, names...)
	}
	if above == "" {
		above = "."
	}
	return above, names
}

// descend opens the directory above, and from it one after the other of names.
func (p *namedPlace) descend(above string, names []string) error {
	if err := p.move(unix.Openat(p.dir, above, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)); err != nil {
		return p.failed("open", err)
	}
	// In /dev nobody but root makes anything, though it has another owner in a
	// container.
	p.shared = p.shared && filepath.Clean(above) != "/dev"
	for _, name := range names {
		fd, err := p.enter(name)
		if err != nil {
			return err
		}
		if err := p.move(fd, nil); err != nil {
			return p.failed("open", err)
		}
	}
	return nil
}

// move makes fd the directory, which is the place's from now on.
func (p *namedPlace) move(fd int, err error) error {
	if err != nil {
		return err
	}
	p.close()
	p.dir = fd
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	p.owner = int(st.Uid)
	p.shared = p.owner != 0 && p.owner != os.Geteuid() || st.Mode&0o022 != 0
	var system unix.Statfs_t
	p.asIs = unix.Fstatfs(fd, &system) == nil && system.Type == unix.PROC_SUPER_MAGIC
	return nil
}

// enter opens a directory below.
func (p *namedPlace) enter(name string) (fd int, err error) {
	how := unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC
	if p.shared {
		how |= unix.O_NOFOLLOW
	}
	fd, err = unix.Openat(p.dir, name, how, 0)
	if err == unix.ENOTDIR && p.shared && p.isLink(name) {
		return -1, p.refusedLink(name)
	}
	if err != nil {
		return -1, p.failed("open", err)
	}
	return fd, nil
}

func (p *namedPlace) isLink(name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(p.dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// open opens the file at the place. Where others may write, a file that exists is
// looked at before: a pipe of theirs would have us wait, a file be theirs to read.
func (p *namedPlace) open(flags int, mode uint32) (fd int, err error) {
	if p.asIs || !p.shared {
		if !p.asIs {
			flags |= unix.O_NOFOLLOW // links are resolved by now
		}
		return p.retry(p.dir, p.name, flags, mode)
	}
	for range linksAtMost { // others may make and remove it all the time
		old, err := p.look()
		switch {
		case err == nil:
			defer unix.Close(old)
			return p.retry(unix.AT_FDCWD, self(old), flags&^(unix.O_CREAT|unix.O_EXCL), 0)
		case !errors.Is(err, fs.ErrNotExist) || flags&unix.O_CREAT == 0:
			return -1, err
		}
		fd, err = p.retry(p.dir, p.name, flags|unix.O_EXCL|unix.O_NOFOLLOW, mode)
		if !errors.Is(err, fs.ErrExist) {
			return fd, err
		}
	}
	return -1, p.failed("open", unix.EEXIST)
}

// retry opens, as often as a signal comes between.
func (p *namedPlace) retry(dir int, name string, flags int, mode uint32) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, mode)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return -1, p.denied("open", err)
		}
		return fd, nil
	}
}

// denied is failed for a file that cannot be opened or made at the place: it names the
// missing right of this user.
func (p *namedPlace) denied(op string, err error) error {
	if err != unix.EACCES || p.asIs {
		return p.failed(op, err)
	}
	var st unix.Stat_t
	if unix.Fstatat(p.dir, p.name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		return p.failed(op, denial(fmt.Sprintf("you may not write that file, which is %s's", userName(int(st.Uid)))))
	}
	return p.failed(op, denial(fmt.Sprintf("you may not make files in that directory, which is %s's", userName(p.owner))))
}

// denial is an error: the user has no right to something.
type denial string

func (d denial) Error() string        { return string(d) }
func (d denial) Is(target error) bool { return target == fs.ErrPermission }

// look opens the file there for no more than to look at it (O_PATH), and refuses it by
// the rule.
func (p *namedPlace) look() (fd int, err error) {
	how := unix.O_PATH | unix.O_CLOEXEC
	if !p.asIs {
		how |= unix.O_NOFOLLOW
	}
	if fd, err = unix.Openat(p.dir, p.name, how, 0); err != nil {
		return -1, p.failed("open", err)
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	kind, own := st.Mode&unix.S_IFMT, int(st.Uid)
	switch {
	case err != nil:
		err = p.failed("stat", err)
	case !p.shared || p.asIs:
	case kind == unix.S_IFLNK:
		err = p.refusedLink(p.name)
	case kind != unix.S_IFREG && kind != unix.S_IFIFO: // devices only root makes
	case own != os.Geteuid() && own != p.owner:
		err = p.refused("it is " + userName(own) + "'s")
	case kind == unix.S_IFREG && st.Nlink > 1:
		err = p.refused("it has another name besides")
	}
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// refusedLink returns the error of a link that is not followed.
func (p *namedPlace) refusedLink(name string) error {
	var st unix.Stat_t
	whose := ""
	if unix.Fstatat(p.dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
		whose = " of " + userName(int(st.Uid))
	}
	what := "it is a link" + whose
	if name != filepath.Base(p.path) {
		what = name + " is a link" + whose
	}
	return p.refused(what)
}

// refused is an error of the rule of OpenOutput.
func (p *namedPlace) refused(what string) error {
	return &fs.PathError{Op: "open", Path: p.path, Err: refusal(what)}
}

// refusal is the error of an unsafe file in a directory where others may write.
type refusal string

func (r refusal) Error() string {
	return string(r) + ", in a directory where others may write: remove it, or name a file in a directory of your own"
}

func (r refusal) Is(target error) bool { return target == fs.ErrPermission }

func (p *namedPlace) failed(op string, err error) error {
	return &fs.PathError{Op: op, Path: p.path, Err: err}
}

func (p *namedPlace) close() {
	if p.dir >= 0 {
		unix.Close(p.dir)
		p.dir = unix.AT_FDCWD
	}
}

// userName returns a user's name, or the number if there is none.
func userName(uid int) string {
	number := strconv.Itoa(uid)
	if u, err := user.LookupId(number); err == nil {
		return u.Username
	}
	return "user " + number
}
