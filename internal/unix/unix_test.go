package unix

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// helperWord makes the test binary do what the next word says, or print what
// Rlimits and Umask return.
const helperWord = "unix-test-helper"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == helperWord {
		os.Exit(helperMain())
	}
	goleak.VerifyTestMain(m)
}

func helperMain() int {
	if len(os.Args) == 5 {
		do := map[string]func(a, b string) error{"remove": removeHelper, "swap": swapHelper}[os.Args[2]]
		if err := do(os.Args[3], os.Args[4]); err != nil {
			fmt.Println(err)
			return 1
		}
		return 0
	}
	limits, err := Rlimits()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	for _, l := range limits {
		fmt.Println(ResourceName(l.Resource), l.Cur, l.Max)
	}
	fmt.Printf("umask %04o\n", Umask())
	fmt.Printf("umask %04o\n", Umask()) // reading must not change it
	return 0
}

func pipe(t *testing.T) (r, w int) {
	t.Helper()
	r, w, err := Pipe()
	require.NoError(t, err)
	require.NoError(t, SetNonblock(r))
	require.NoError(t, SetNonblock(w))
	return r, w
}

func TestReadWrite(t *testing.T) {
	t.Run("a pipe", func(t *testing.T) {
		r, w := pipe(t)
		testReadWrite(t, r, w, Read, Write)
	})
	// No descriptor is assumed to be nonblocking: the holder of a duplicate could take
	// that back.
	t.Run("a socket", func(t *testing.T) {
		r, w, err := StreamPair()
		require.NoError(t, err)
		testReadWrite(t, r, w, TryRecv, TrySend)
	})
}

func testReadWrite(t *testing.T, r, w int, Read, Write func(int, []byte) (int, error)) {
	buf := make([]byte, 8)
	_, err := Read(r, buf)
	assert.Equal(t, EAGAIN, err)
	n, err := Write(w, []byte("abc"))
	require.NoError(t, err)
	assert.Equal(t, 3, n)
	n, err = Read(r, buf)
	require.NoError(t, err)
	assert.Equal(t, "abc", string(buf[:n]))
	big := make([]byte, 1<<20)
	n, err = Write(w, big)
	require.NoError(t, err)
	assert.Less(t, n, len(big), "what fits")
	_, err = Write(w, big)
	assert.Equal(t, EAGAIN, err)
	for err = nil; err == nil; {
		_, err = Read(r, big)
	}
	assert.Equal(t, EAGAIN, err)
	Close(w)
	_, err = Read(r, buf)
	assert.Equal(t, io.EOF, err)
	Close(r)
}

func TestWriteToNobody(t *testing.T) {
	r, w := pipe(t)
	Close(r)
	_, err := Write(w, []byte("x"))
	assert.Equal(t, syscall.EPIPE, err)
	Close(w)
	r, w, err = StreamPair()
	require.NoError(t, err)
	Close(r)
	_, err = TrySend(w, []byte("x"))
	assert.Equal(t, syscall.EPIPE, err)
	Close(w)
}

func TestPoller(t *testing.T) {
	t.Run("wait", func(t *testing.T) {
		testPoller(t, func(p *Poller, buf []Ready) (int, error) { return p.Wait(buf, time.Minute) })
	})
	t.Run("park", func(t *testing.T) { testPoller(t, (*Poller).Park) })
}

func testPoller(t *testing.T, waitFor func(*Poller, []Ready) (int, error)) {
	p, err := NewPoller()
	require.NoError(t, err)
	defer p.Close()
	r, w := pipe(t)
	const rTag, wTag = 1<<63 | 5, 6
	require.NoError(t, p.Add(r, rTag))
	require.Error(t, p.Add(r, rTag), "twice")
	require.Error(t, p.Add(w, wakeTag), "reserved")
	buf := make([]Ready, 4)
	wait := func() []Ready {
		t.Helper()
		n, err := waitFor(p, buf)
		require.NoError(t, err)
		return buf[:n]
	}
	n, err := p.Wait(buf, 0)
	require.NoError(t, err)
	assert.Zero(t, n)

	require.NoError(t, p.AddWrite(w, wTag))
	assert.Equal(t, []Ready{{Tag: wTag, Writable: true}}, wait())
	require.NoError(t, p.Modify(w, wTag, false, false))
	_, err = Write(w, []byte("x"))
	require.NoError(t, err)
	assert.Equal(t, []Ready{{Tag: rTag, Readable: true}}, wait())
	assert.Equal(t, []Ready{{Tag: rTag, Readable: true}}, wait(), "level triggered")

	// Descriptors that were ready before a wake-up come first.
	p.Wake()
	n, err = p.Wait(buf[:1], 0)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	_, err = Read(r, make([]byte, 8))
	require.NoError(t, err)
	p.Wake()
	p.Wake()
	assert.Empty(t, wait())
	n, err = p.Wait(buf, 0)
	require.NoError(t, err)
	assert.Zero(t, n, "wake-ups are counted once")

	Close(w)
	assert.Equal(t, []Ready{{Tag: rTag, Readable: true, HangUp: true}}, wait())
	require.NoError(t, p.Remove(r))
	n, err = p.Wait(buf, 0)
	require.NoError(t, err)
	assert.Zero(t, n)
	Close(r)
	_, err = p.Wait(nil, 0)
	assert.Error(t, err)
	assert.Error(t, p.Add(r, 1), "closed descriptor")
}

func TestPollerWriterHangUp(t *testing.T) {
	p, err := NewPoller()
	require.NoError(t, err)
	defer p.Close()
	r, w := pipe(t)
	defer Close(w)
	require.NoError(t, p.AddWrite(w, 1))
	require.NoError(t, p.Modify(w, 1, false, false))
	Close(r)
	buf := make([]Ready, 1)
	n, err := p.Wait(buf, time.Minute)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	assert.True(t, buf[0].HangUp)
}

// Close ends a Wait in another goroutine, and later calls say so.
func TestPollerClose(t *testing.T) {
	t.Run("wait", func(t *testing.T) {
		testPollerClose(t, func(p *Poller, buf []Ready) (int, error) { return p.Wait(buf, -1) })
	})
	t.Run("park", func(t *testing.T) { testPollerClose(t, (*Poller).Park) })
}

func testPollerClose(t *testing.T, waitFor func(*Poller, []Ready) (int, error)) {
	p, err := NewPoller()
	require.NoError(t, err)
	done := make(chan error)
	go func() { // ends with the Close below
		for {
			if _, err := waitFor(p, make([]Ready, 1)); err != nil {
				done <- err
				return
			}
		}
	}()
	p.Close()
	assert.ErrorIs(t, <-done, os.ErrClosed)
	p.Close()
	p.Wake()
	assert.ErrorIs(t, p.Add(0, 1), os.ErrClosed)
	_, err = waitFor(p, make([]Ready, 1))
	assert.ErrorIs(t, err, os.ErrClosed)
}

// No byte and no wake-up of several writers is slept through.
func TestPollerParkMissesNothing(t *testing.T) {
	p, err := NewPoller()
	require.NoError(t, err)
	defer p.Close()
	const writers, bytes = 4, 5000
	ends := map[uint64]int{}
	var writing sync.WaitGroup
	for i := range writers {
		r, w := pipe(t)
		ends[uint64(i)] = r
		require.NoError(t, p.Add(r, uint64(i)))
		writing.Go(func() {
			for range bytes {
				for { // the pipe is full at times
					if _, err := Write(w, []byte{1}); err == nil {
						break
					}
					p.Wake()
					runtime.Gosched()
				}
			}
			Close(w)
		})
	}
	got, buf, one := 0, make([]Ready, 2), make([]byte, 1)
	for len(ends) > 0 {
		n, err := p.Park(buf)
		require.NoError(t, err)
		for _, ready := range buf[:n] {
			// Not all that is there: the rest must be reported again.
			switch n, err := Read(ends[ready.Tag], one); err {
			case io.EOF:
				require.NoError(t, p.Remove(ends[ready.Tag]))
				Close(ends[ready.Tag])
				delete(ends, ready.Tag)
			case nil:
				got += n
			}
		}
	}
	writing.Wait()
	require.Equal(t, writers*bytes, got)
}

func TestMillis(t *testing.T) {
	for d, want := range map[time.Duration]int{
		-1: -1, -time.Hour: -1, 0: 0, 1: 1, time.Millisecond: 1, time.Millisecond + 1: 2,
		1<<63 - 1: 1<<31 - 1,
	} {
		assert.Equal(t, want, millis(d), d)
	}
}

// An empty message is not the end of its sender.
func TestEmptyMessages(t *testing.T) {
	a, b, err := PacketPair()
	require.NoError(t, err)
	defer Close(b)
	rc := NewRights(16)
	_, err = Write(a, nil)
	require.NoError(t, err)
	require.NoError(t, SendRights(a, []byte("one"), nil))
	for _, want := range []string{"", "one"} {
		msg, fds, err := rc.Recv(b)
		require.NoError(t, err)
		require.Equal(t, want, string(msg))
		require.Empty(t, fds)
	}
	_, _, err = rc.Recv(b)
	require.ErrorIs(t, err, EAGAIN)
	Close(a)
	_, _, err = rc.Recv(b)
	require.ErrorIs(t, err, io.EOF)
}

func TestRights(t *testing.T) {
	a, b, err := PacketPair()
	require.NoError(t, err)
	assert.True(t, IsPacketSocket(a))
	rc := NewRights(16)
	_, _, err = rc.Recv(b)
	assert.ErrorIs(t, err, EAGAIN)

	r, w := pipe(t)
	require.NoError(t, SendRights(a, []byte("one"), []int{w, r}))
	require.NoError(t, SendRights(a, []byte("two"), nil))
	Close(w)
	msg, fds, err := rc.Recv(b)
	require.NoError(t, err)
	assert.Equal(t, "one", string(msg))
	require.Len(t, fds, 2)
	_, err = Write(fds[0], []byte("through"))
	require.NoError(t, err)
	buf := make([]byte, 16)
	n, err := Read(r, buf)
	require.NoError(t, err)
	assert.Equal(t, "through", string(buf[:n]))
	Close(fds[0])
	Close(fds[1])
	msg, fds, err = rc.Recv(b)
	require.NoError(t, err)
	assert.Equal(t, "two", string(msg))
	assert.Empty(t, fds)

	require.NoError(t, SendRights(a, []byte("longer than the receiver's buffer"), []int{r}))
	before := countFDs(t)
	_, _, err = rc.Recv(b)
	assert.ErrorIs(t, err, ErrTruncated)
	// The collector may have closed descriptors of an earlier test by now.
	assert.LessOrEqual(t, countFDs(t), before, "descriptors of a message refused are closed")

	many := slices.Repeat([]int{r}, MaxRights)
	require.NoError(t, SendRights(a, []byte("x"), many))
	_, fds, err = rc.Recv(b)
	require.NoError(t, err)
	assert.Len(t, fds, MaxRights)
	for _, fd := range fds {
		Close(fd)
	}
	assert.Error(t, SendRights(a, []byte("x"), append(many, r)))
	assert.Error(t, SendRights(a, nil, nil), "an empty message would look like the end")

	Close(a)
	_, _, err = rc.Recv(b)
	assert.ErrorIs(t, err, io.EOF)
	err = SendRights(b, []byte("x"), nil)
	assert.ErrorIs(t, err, syscall.EPIPE)
	Close(b)
	Close(r)
	assert.False(t, IsPacketSocket(b))
	assert.False(t, IsStreamSocket(b))
	s, u, err := StreamPair()
	require.NoError(t, err)
	assert.False(t, IsPacketSocket(s))
	assert.True(t, IsStreamSocket(s))
	p, q := pipe(t)
	assert.False(t, IsStreamSocket(p))
	Close(p)
	Close(q)
	Close(s)
	Close(u)
}

func countFDs(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(entries)
}

// Rlimits and Umask see what the program was started with, not what the Go
// runtime made of it.
func TestInheritedAttributes(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command("/bin/sh", "-c", `umask 027; ulimit -Sn 333; ulimit -Hn 4444; ulimit -Sc 0; exec "$0" "$1"`, exe, helperWord)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	text := string(out)
	assert.Contains(t, text, "nofile 333 4444\n")
	assert.Contains(t, text, "core 0 ")
	assert.Equal(t, 2, strings.Count(text, "umask 0027\n"))
	assert.Equal(t, len(resourceNames)+2, strings.Count(text, "\n"))
}

func TestRlimitValid(t *testing.T) {
	assert.NoError(t, Rlimit{Resource: syscall.RLIMIT_NOFILE, Cur: 1, Max: Unlimited}.Valid())
	assert.ErrorContains(t, Rlimit{Resource: 77}.Valid(), "resource 77")
	assert.ErrorContains(t, Rlimit{Resource: syscall.RLIMIT_NOFILE, Cur: 2, Max: 1}.Valid(), "nofile")
	_, err := SetRlimit(Rlimit{Resource: -1})
	assert.Error(t, err)
}

func TestRaiseNoFile(t *testing.T) {
	var before syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	defer func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before)) }()
	got, err := SetRlimit(Rlimit{Resource: syscall.RLIMIT_NOFILE, Cur: 100, Max: before.Max})
	require.NoError(t, err)
	assert.EqualValues(t, 100, got.Cur)
	soft, err := RaiseNoFile(50)
	require.NoError(t, err)
	assert.EqualValues(t, 100, soft, "never lowered")
	soft, err = RaiseNoFile(200)
	require.NoError(t, err)
	assert.EqualValues(t, 200, soft)
	// Above the hard limit it depends on privileges, but it is told what came out.
	soft, err = RaiseNoFile(before.Max + 1)
	require.NoError(t, err)
	assert.Contains(t, []uint64{before.Max, before.Max + 1}, soft)
	var after syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &after))
	assert.Equal(t, after.Cur, soft)
}

func TestCloseOnExecFrom(t *testing.T) {
	r, w, err := Pipe()
	require.NoError(t, err)
	defer Close(r)
	defer Close(w)
	flags := func(fd int) uintptr {
		got, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		require.Zero(t, errno)
		return got
	}
	for _, fd := range []int{r, w} {
		_, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_SETFD, 0)
		require.Zero(t, errno)
	}
	require.NoError(t, CloseOnExecFrom(max(r, w)))
	assert.Zero(t, flags(min(r, w)))
	assert.EqualValues(t, syscall.FD_CLOEXEC, flags(max(r, w)))
}

func TestReadFile(t *testing.T) {
	name := t.TempDir() + "/file"
	for _, size := range []int{0, 1, 4095, 4096, 100_000} {
		want := bytes.Repeat([]byte("x"), size)
		require.NoError(t, os.WriteFile(name, want, 0o600))
		got, err := ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(want), string(got))
	}
	_, err := ReadFile(name + " no more")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = ReadFile("/")
	require.ErrorIs(t, err, syscall.EISDIR)
}

func TestReap(t *testing.T) {
	_, _, _, err := Reap(os.Getpid())
	assert.ErrorIs(t, err, syscall.ECHILD)
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", "exit 7"}, nil)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		got, ws, ru, err := Reap(pid)
		require.NoError(t, err)
		if got == 0 {
			return false
		}
		assert.Equal(t, pid, got)
		assert.Equal(t, 7, ws.ExitStatus())
		assert.Positive(t, ru.Maxrss)
		return true
	}, time.Minute, time.Millisecond)
}

func TestExecutable(t *testing.T) {
	assert.NoError(t, Executable("/bin/sh"))
	assert.ErrorIs(t, Executable("/no/such"), syscall.ENOENT)
	f := t.TempDir() + "/plain"
	require.NoError(t, os.WriteFile(f, nil, 0o644))
	assert.ErrorIs(t, Executable(f), syscall.EACCES)
}

func TestQuickAck(t *testing.T) {
	l := listener(t, "127.0.0.1:0")
	dial(t, "tcp", l.Addr().String(), nil)
	fd := take(t, l, 1)[0].FD
	require.NoError(t, unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 0))
	QuickAckFD(fd)
	on, err := unix.GetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK)
	require.NoError(t, err)
	assert.Equal(t, 1, on)
}

// A file without a name is there for other processes, which may execute but not
// change it, until it is closed.
func TestMemFile(t *testing.T) {
	program, err := os.ReadFile("/bin/echo")
	require.NoError(t, err)
	f, err := MemFile("tool", program)
	require.NoError(t, err)
	path := DescriptorPath(f)
	out, err := exec.Command(path, "hello").Output()
	require.NoError(t, err)
	assert.Equal(t, "hello\n", string(out))
	assert.Error(t, os.WriteFile(path, []byte("x"), 0o700))
	require.NoError(t, f.Close())
	_, err = os.Stat(path)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

// A process that maps others' memory can write there, and not cut it from under its
// readers.
func TestSharedMemory(t *testing.T) {
	f, err := SharedMemory("counters", []byte("head"), 1<<20)
	require.NoError(t, err)
	defer f.Close()
	other, err := os.OpenFile(DescriptorPath(f), os.O_RDWR, 0)
	require.NoError(t, err)
	defer other.Close()
	require.ErrorIs(t, other.Truncate(0), syscall.EPERM)
	require.ErrorIs(t, other.Truncate(1<<21), syscall.EPERM)
	_, err = other.WriteAt([]byte("HE"), 0)
	require.NoError(t, err)
	got := make([]byte, 5)
	_, err = f.ReadAt(got, 0)
	require.NoError(t, err)
	require.Equal(t, "HEad\x00", string(got))
}
