package ledger

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// claimant is the first word of this program where it is a process that claims slots.
const claimant = "claimant"

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == claimant {
		if err := claimAgainAndAgain(os.Args[2], os.Args[3]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// inDirs has ledgers be in some directories.
func inDirs(t *testing.T, list ...string) {
	old := dirs
	dirs = list
	t.Cleanup(func() { dirs = old })
}

func open(t *testing.T, allocation, node string) *Entry {
	t.Helper()
	e, err := Open(allocation, node)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

// othersOf returns the use of others that an entry sees.
func othersOf(t *testing.T, e *Entry) (sum Use) {
	t.Helper()
	require.NoError(t, e.Change(func(others Use) (Use, error) { sum = others; return e.Own(), nil }))
	return sum
}

func use(t *testing.T, e *Entry, u Use) {
	t.Helper()
	require.NoError(t, e.Change(func(Use) (Use, error) { return u, nil }))
}

func TestEntries(t *testing.T) {
	dir := t.TempDir()
	inDirs(t, dir)
	a, b := open(t, "Slurm 1", "n1"), open(t, "Slurm 1", "n1")
	elsewhere, later := open(t, "Slurm 1", "n2"), open(t, "Slurm 2", "n1")
	require.Equal(t, Use{}, othersOf(t, a))
	mine := Use{Slots: 2, CPUs: [][]int{{0, 4}, {1}}, GPUs: []string{"0"}}
	use(t, a, mine)
	require.Equal(t, mine, othersOf(t, b))
	require.Equal(t, Use{}, othersOf(t, elsewhere), "another node")
	require.Equal(t, Use{}, othersOf(t, later), "another allocation")
	c := open(t, "Slurm 1", "n1")
	use(t, c, Use{Slots: 1, CPUs: [][]int{{2}}})
	require.Equal(t, Use{Slots: 3, CPUs: [][]int{{0, 4}, {1}, {2}}, GPUs: []string{"0"}}, sorted(othersOf(t, b)))

	use(t, a, Use{})
	require.Equal(t, Use{Slots: 1, CPUs: [][]int{{2}}}, othersOf(t, b))
	err := c.Change(func(Use) (Use, error) { return Use{Slots: 9}, errors.New("too many") })
	require.EqualError(t, err, "too many")
	require.Equal(t, 1, othersOf(t, b).Slots, "what fails changes nothing")

	for _, e := range []*Entry{a, b, c, elsewhere, later} {
		e.Close()
		e.Close()
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// sorted brings the CPUs into an order that does not depend on names of files.
func sorted(u Use) Use {
	if len(u.CPUs) == 3 && u.CPUs[0][0] == 2 {
		u.CPUs = [][]int{u.CPUs[1], u.CPUs[2], u.CPUs[0]}
	}
	return u
}

func TestOthersDirectoriesAreRefused(t *testing.T) {
	open, shared := t.TempDir(), t.TempDir()
	name := fmt.Sprintf("golaunch-slots-%d", os.Getuid())
	require.NoError(t, os.Mkdir(filepath.Join(open, name), 0o700))
	require.NoError(t, os.Chmod(filepath.Join(open, name), 0o777))
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(shared, name)))
	inDirs(t, open, shared)
	_, err := Open("1", "n")
	require.ErrorContains(t, err, filepath.Join(open, name)+": it is not a directory of this user alone; have it removed; "+filepath.Join(shared, name)+": ")
	inDirs(t, open, t.TempDir())
	e, err := Open("1", "n")
	require.NoError(t, err, "the next directory")
	e.Close()
}

// Entries in either directory count, as where the first got full or free again, or another
// user's file that was in the way has gone.
func TestEntriesInAnyDirectory(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	inDirs(t, first, second)
	inFirst := open(t, "1", "n")
	use(t, inFirst, Use{Slots: 1})
	dirs = []string{second}
	inSecond := open(t, "1", "n")
	use(t, inSecond, Use{Slots: 2})
	dirs = []string{first, second}
	third := open(t, "1", "n")
	require.Equal(t, 3, othersOf(t, third).Slots)
	require.Equal(t, 1, othersOf(t, inSecond).Slots)
	for _, e := range []*Entry{inFirst, inSecond, third} {
		e.Close()
	}
	for _, dir := range dirs {
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// A lock that is held for ever, as by a golaunch that is stopped just then, is waited for
// once.
func TestLockIsHeld(t *testing.T) {
	old := lockWithin
	lockWithin = 0
	t.Cleanup(func() { lockWithin = old })
	first := t.TempDir()
	inDirs(t, first, t.TempDir())
	a := open(t, "1", "n")
	f, err := lock(a.dir, false)
	require.NoError(t, err)
	_, err = Open("1", "n")
	require.EqualError(t, err, a.dir+": others have had its lock for too long")
	f.Close()
	open(t, "1", "n")
}

// What a killed job of any allocation leaves is removed by the next.
func TestLeftOfOtherAllocations(t *testing.T) {
	dir := t.TempDir()
	inDirs(t, dir)
	a := open(t, "1", "n")
	a.file.Close()
	a.closed = true
	b := open(t, "2", "n")
	require.Equal(t, Use{}, othersOf(t, b))
	b.Close()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// An entry that is killed while it changes says what it said before, or what it was to say.
func TestHalfAChange(t *testing.T) {
	inDirs(t, t.TempDir())
	a, b := open(t, "1", "n"), open(t, "1", "n")
	use(t, a, Use{Slots: 1, CPUs: [][]int{{0, 1, 2}}})
	_, err := a.file.WriteAt([]byte(`{"slots":2}`), 0)
	require.NoError(t, err)
	require.Equal(t, Use{Slots: 2}, othersOf(t, b))
}

// A full disk changes nothing; the next directory is taken by who comes.
func TestFullDisk(t *testing.T) {
	small := t.TempDir()
	err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=4k")
	if errors.Is(err, syscall.EPERM) {
		t.Skip("skipped: only root can mount a small disk")
	}
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(small, 0)) })
	inDirs(t, small, t.TempDir())
	a := open(t, "1", "n")
	use(t, a, Use{Slots: 1})
	huge := Use{Slots: 2}
	for range 1000 {
		huge.CPUs = append(huge.CPUs, []int{1, 2})
	}
	require.ErrorIs(t, a.Change(func(Use) (Use, error) { return huge, nil }), syscall.ENOSPC)
	b := open(t, "1", "n")
	require.Equal(t, Use{Slots: 1}, othersOf(t, b))
	use(t, b, huge)
	require.Equal(t, huge, othersOf(t, a))
	a.Close()
	left, err := os.ReadDir(small)
	require.NoError(t, err)
	require.Empty(t, left)
}

// Entries last as long as somebody has their file, as a warden does whose agent was killed.
func TestWardenHoldsTheEntry(t *testing.T) {
	inDirs(t, t.TempDir())
	a, b := open(t, "1", "n"), open(t, "1", "n")
	use(t, a, Use{Slots: 2})
	warden := exec.Command("cat")
	in, err := warden.StdinPipe()
	require.NoError(t, err)
	warden.ExtraFiles = []*os.File{a.File()}
	require.NoError(t, warden.Start())
	a.file.Close() // as the kernel does where an agent is killed
	require.Equal(t, 2, othersOf(t, b).Slots)
	in.Close()
	require.NoError(t, warden.Wait())
	require.Equal(t, 0, othersOf(t, b).Slots)
	paths, err := entries()
	require.NoError(t, err)
	require.Equal(t, []string{b.file.Name()}, paths, "what nobody holds is removed")
	a.closed = true
}

// Several processes claim slots and CPUs again and again, and are killed at any time: no
// slot is anybody's twice, and nothing is left that counts.
func TestNoSlotIsHeldTwice(t *testing.T) {
	dir := t.TempDir()
	inDirs(t, dir)
	self, err := os.Executable()
	require.NoError(t, err)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	marks := t.TempDir()
	rounds := 0
	for range 24 {
		started := make([]*exec.Cmd, 3)
		for k := range started {
			c := exec.Command(self, claimant, dir, marks)
			c.Stderr = os.Stderr
			out, err := c.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, c.Start())
			started[k] = c
			lines := bufio.NewScanner(out)
			for n := random.IntN(8); n >= 0 && lines.Scan(); n-- {
				require.Equal(t, "ok", lines.Text())
				rounds++
			}
			go func() { // ends with the process
				for lines.Scan() { // what it says does not matter any more
				}
			}()
		}
		for _, c := range started {
			require.NoError(t, c.Process.Kill())
			require.EqualError(t, c.Wait(), "signal: killed")
		}
	}
	require.Positive(t, rounds)
	e := open(t, "1", "n")
	require.Equal(t, Use{}, othersOf(t, e))
	e.Close()
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// claimAgainAndAgain claims one of two slots, each a CPU, and holds the lock of a file of
// that CPU meanwhile, which nobody else may hold.
func claimAgainAndAgain(dir, marks string) error {
	dirs = []string{dir}
	e, err := Open("1", "n")
	if err != nil {
		return err
	}
	for {
		cpu := -1
		err := e.Change(func(others Use) (Use, error) {
			if others.Slots > 2 {
				return Use{}, fmt.Errorf("%d slots of 2", others.Slots)
			}
			cpu = free(others)
			if cpu < 0 {
				return Use{}, nil
			}
			return Use{Slots: 1, CPUs: [][]int{{cpu}}}, nil
		})
		if err != nil {
			return err
		}
		if cpu < 0 {
			continue
		}
		if err := hold(filepath.Join(marks, strconv.Itoa(cpu))); err != nil {
			return err
		}
		if err := e.Change(func(Use) (Use, error) { return Use{}, nil }); err != nil {
			return err
		}
	}
}

// hold holds the lock of a file for a moment. A process that is being killed may still have
// it, when its entry is gone; one that lives adds to the file before it gives the lock back.
func hold(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return err
	}
	if flock(f, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		if err := flock(f, syscall.LOCK_EX); err != nil {
			return err
		}
		if after, err := f.Stat(); err != nil || after.Size() != before.Size() {
			return fmt.Errorf("%s is in use by two", file)
		}
	}
	fmt.Println("ok")
	_, err = f.Write([]byte{'.'})
	return err
}

// free is a CPU that others leave, -1 if there is none.
func free(others Use) int {
	for cpu := range 2 {
		taken := false
		for _, set := range others.CPUs {
			taken = taken || set[0] == cpu
		}
		if !taken {
			return cpu
		}
	}
	return -1
}

// What an agent takes longer for in an allocation.
func BenchmarkEntry(b *testing.B) {
	for b.Loop() {
		e, err := Open("bench", "n")
		require.NoError(b, err)
		require.NoError(b, e.Change(func(Use) (Use, error) { return Use{Slots: 2}, nil }))
		e.Close()
	}
}
