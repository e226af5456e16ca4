// Package ledger says what jobs of one user in one allocation of a resource manager use of
// a node: slots, CPUs, GPUs. Each agent has an entry, a file whose lock (flock) it holds
// together with its warden. So an entry lives as long as one of the two, and the kernel
// ends it; what a crash leaves is a file without a lock, which counts for nothing and is
// removed by the next who looks.
//
// Not here: what a job is to have (package launcher), and which CPUs and GPUs (package
// agent).
package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	maxEntry  = 1 << 20 // bytes of an entry
	lockEvery = time.Millisecond
	lockName  = "lock" // of the file whose lock (flock) whoever reads or changes entries has
)

// lockWithin bounds the wait for the lock, which others have for less than a millisecond.
// Tests set it.
var lockWithin = 2 * time.Second

// dirs are the directories for ledgers, in this order: directories of the node alone, the same
// for all who come to it, by whatever way.
var dirs = []string{"/dev/shm", "/tmp"}

// Use is the part of a node that a job uses, or several jobs do.
type Use struct {
	Slots int      `json:"slots"`
	CPUs  [][]int  `json:"cpus,omitempty"` // of each rank that is bound
	GPUs  []string `json:"gpus,omitempty"` // as the variables that choose them name them
}

// Entry is the part of one job in the ledger of a node. Its methods belong to one
// goroutine.
type Entry struct {
	dir, key string
	file     *os.File
	own      Use
	closed   bool
}

// Open makes an entry, of a job that uses nothing yet, in the ledger of an allocation on a
// node, in the first directory where that is possible. Names are whatever tells such things
// apart. The error names the directories.
func Open(allocation, node string) (*Entry, error) {
	var texts []string
	for _, parent := range dirs {
		e := &Entry{dir: ledgerIn(parent), key: hash(allocation+"\x00"+node) + "."}
		err := e.locked(e.create)
		if err == nil {
			return e, nil
		}
		if private(e.dir) == nil {
			os.Remove(e.dir) // if nothing is in it
		}
		if texts = append(texts, err.Error()); errors.Is(err, errBusy) {
			break
		}
	}
	return nil, errors.New(strings.Join(texts, "; "))
}

// ledgerIn is the directory of the ledgers of this user.
func ledgerIn(parent string) string {
	return filepath.Join(parent, fmt.Sprintf("golaunch-slots-%d", os.Getuid()))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:12])
}

// create makes the file of the entry.
func (e *Entry) create() (err error) {
	if e.file, err = os.CreateTemp(e.dir, e.key+"*"); err == nil { // 0600
		if err = flock(e.file, syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			err = e.write(Use{})
		}
	}
	if err != nil {
		e.remove()
	}
	return err
}

// remove removes the file of the entry, and what the last one leaves.
func (e *Entry) remove() {
	if e.file != nil {
		os.Remove(e.file.Name())
		e.file.Close()
	}
	if list, err := os.ReadDir(e.dir); err == nil && len(list) == 1 {
		os.Remove(filepath.Join(e.dir, lockName))
	}
}

// File is the entry's file: the entry lasts as long as some process has it open.
func (e *Entry) File() *os.File { return e.file }

// Change has decide say what the job uses from now on, given what others use. Nobody else
// changes anything meanwhile. Where decide fails, or nobody can change anything, all stays
// as it was.
func (e *Entry) Change(decide func(others Use) (Use, error)) error {
	return e.locked(func() error {
		others, err := e.others()
		if err != nil {
			return err
		}
		own, err := decide(others)
		if err != nil {
			return err
		}
		return e.write(own)
	})
}

// Own returns the job's own use.
func (e *Entry) Own() Use { return e.own }

// Close ends the entry, whoever else has its file open. The directory goes with the last.
func (e *Entry) Close() {
	if e.closed {
		return
	}
	e.closed = true
	_ = e.locked(func() error { // else it is without a lock, and counts for nothing
		_ = e.write(Use{})
		e.remove()
		return nil
	})
	e.file.Close()
	os.Remove(e.dir) // unless there are other entries
}

// locked does something while nobody else does anything in the ledger, wherever there is
// one: a full disk, or somebody else's file that is in the way, has some be elsewhere.
func (e *Entry) locked(do func() error) error {
	for deadline := time.Now().Add(lockWithin); ; time.Sleep(lockEvery) { //nolint:forbidigo // a lock has no event, but to wait without a limit
		locks, err := e.lockAll()
		if err == nil {
			err = do()
		}
		for _, f := range locks {
			f.Close()
		}
		if !errors.Is(err, errBusy) || time.Now().After(deadline) {
			return err
		}
	}
}

// errBusy is the error of a lock that others have, or have just removed.
var errBusy = errors.New("others have had its lock for too long")

// lockAll takes the locks of all ledgers of the user, in the order of dirs; that of the
// entry is made if need be.
func (e *Entry) lockAll() (locks []*os.File, err error) {
	for _, parent := range dirs {
		dir := ledgerIn(parent)
		f, err := lock(dir, dir == e.dir)
		switch {
		case err != nil && (dir == e.dir || errors.Is(err, errBusy)):
			return locks, fmt.Errorf("%s: %w", dir, err)
		case err == nil:
			locks = append(locks, f)
		}
	}
	return locks, nil
}

// lock takes the lock of the ledgers in a directory.
func lock(dir string, create bool) (*os.File, error) {
	how := os.O_RDWR | syscall.O_NOFOLLOW
	if create {
		how |= os.O_CREATE
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	err := private(dir)
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(filepath.Join(dir, lockName), how, 0o600)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && create:
		return nil, errBusy // its last user has just removed it
	case err != nil:
		return nil, err
	}
	var s syscall.Stat_t
	if err = flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		err = syscall.Fstat(int(f.Fd()), &s)
	}
	if errors.Is(err, syscall.EWOULDBLOCK) || err == nil && s.Nlink == 0 {
		err = errBusy
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// private refuses a directory that others could have made, or can write to.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || int(s.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return errors.New("it is not a directory of this user alone; have it removed")
	}
	return nil
}

// entries are the files of entries of this user, in every directory, of all allocations.
func entries() (paths []string, err error) {
	for _, parent := range dirs {
		dir := ledgerIn(parent)
		if private(dir) != nil {
			continue
		}
		list, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, d := range list {
			if d.Name() != lockName {
				paths = append(paths, filepath.Join(dir, d.Name()))
			}
		}
	}
	return paths, nil
}

// others adds up what the other entries use, and removes those that nobody holds.
func (e *Entry) others() (sum Use, err error) {
	paths, err := entries()
	if err != nil {
		return sum, err
	}
	for _, path := range paths {
		if path == e.file.Name() {
			continue
		}
		use, held, err := read(path)
		switch {
		case err == nil && !held:
			os.Remove(path)
		case !strings.HasPrefix(filepath.Base(path), e.key):
		case err != nil:
			return sum, fmt.Errorf("%s: %w", path, err)
		default:
			sum.Slots += use.Slots
			sum.CPUs = append(sum.CPUs, use.CPUs...)
			sum.GPUs = append(sum.GPUs, use.GPUs...)
		}
	}
	return sum, nil
}

// read reads an entry, if somebody holds it.
func read(path string) (use Use, held bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return use, false, err
	}
	defer f.Close()
	switch err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); {
	case err == nil:
		return use, false, nil
	case !errors.Is(err, syscall.EWOULDBLOCK):
		return use, false, err
	}
	if err := json.NewDecoder(io.LimitReader(f, maxEntry)).Decode(&use); err != nil {
		return use, true, err
	}
	if use.Slots < 0 {
		return use, true, fmt.Errorf("%d slots", use.Slots)
	}
	return use, true, nil
}

// write has the entry say what the job uses. Whoever is killed meanwhile, or finds the disk
// full, leaves it saying one thing or the other.
func (e *Entry) write(use Use) error {
	text, err := json.Marshal(use)
	if err != nil {
		return err
	}
	if len(text) > maxEntry {
		return fmt.Errorf("an entry of %d bytes", len(text))
	}
	old, _ := json.Marshal(e.own)
	if _, err := e.file.WriteAt(text, 0); err != nil {
		_, _ = e.file.WriteAt(old, 0) // for which there is room
		return err
	}
	e.own = use
	return e.file.Truncate(int64(len(text))) // what is left behind the first value counts for nothing
}

// flock is the system call, which a signal may interrupt.
func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
