package unix

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// another is a user that is none of ours.
const another = 65534

// listener returns one of Go's that was taken over, or skips the test.
func listener(t testing.TB, address string) *Listener {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	taken, err := NewListener(l.(*net.TCPListener))
	require.NoError(t, err)
	t.Cleanup(func() { taken.Close() })
	return taken
}

// dial calls, from a socket whose options are set.
func dial(t testing.TB, network, to string, set func(fd int) error) net.Conn {
	t.Helper()
	d := net.Dialer{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		if set == nil {
			return nil
		}
		if cerr := raw.Control(func(fd uintptr) { err = set(int(fd)) }); cerr != nil {
			return cerr
		}
		return err
	}}
	c, err := d.Dial(network, to)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// take takes so many calls.
func take(t testing.TB, l *Listener, n int) (calls []Call) {
	t.Helper()
	require.NoError(t, l.file.SetReadDeadline(time.Now().Add(time.Minute)))
	for len(calls) < n {
		some, _, err := l.Take(n - len(calls))
		require.NoError(t, err)
		calls = append(calls, some...)
	}
	t.Cleanup(func() {
		for _, c := range calls {
			Close(c.FD)
		}
	})
	return calls
}

// Whoever calls, by whatever kind of address, is known by its owner, to the kernel
// and to its table alike; nobody owns what was closed.
func TestOwnersOfCalls(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("skipped: only root can give a socket to another user")
	}
	given := func(fd int) error { return unix.Fchown(fd, another, -1) }
	bound := func(fd int) error {
		if err := unix.BindToDevice(fd, "lo"); err != nil {
			return err
		}
		return given(fd)
	}
	for _, x := range []struct{ listen, network, host string }{
		{"127.0.0.1:0", "tcp4", "127.0.0.1"}, {"[::1]:0", "tcp6", "::1"}, {"[::]:0", "tcp4", "127.0.0.1"},
		{"[::]:0", "tcp6", "::1"}, {"0.0.0.0:0", "tcp4", "127.0.0.7"}, {"127.0.0.1:0", "tcp", "::ffff:127.0.0.1"},
	} {
		t.Run(x.listen+" from "+x.host, func(t *testing.T) {
			l := listener(t, x.listen)
			to := net.JoinHostPort(x.host, fmt.Sprint(l.Addr().(*net.TCPAddr).Port))
			want := map[netip.AddrPort]int{}
			call := func(set func(int) error, uid int) *net.TCPConn {
				c := dial(t, x.network, to, set).(*net.TCPConn)
				want[unmapped(c.LocalAddr().(*net.TCPAddr).AddrPort())] = uid
				return c
			}
			call(nil, 0)
			call(given, another)
			call(bound, another)
			require.NoError(t, call(given, another).CloseWrite())
			require.NoError(t, call(nil, -1).Close())
			require.NoError(t, call(given, -1).Close())
			calls := take(t, l, len(want))
			for name, lookUp := range map[string]func([]Call) error{
				"asked":  func(calls []Call) error { return diagOwners(l.Addr().(*net.TCPAddr).AddrPort(), calls) },
				"listed": tableOwners,
			} {
				got := map[netip.AddrPort]int{}
				for i := range calls {
					calls[i].UID = -1
				}
				require.NoError(t, lookUp(calls), name)
				for _, c := range calls {
					got[unmapped(c.Peer)] = c.UID
					assert.True(t, c.Here)
				}
				assert.Equal(t, want, got, name)
			}
		})
	}
}

// Calls wait for whoever takes them, and are taken together; a closed listener has none.
func TestTakeCalls(t *testing.T) {
	fd, at, err := ListenLoopback()
	require.NoError(t, err)
	defer Close(fd)
	calls, rest, err := TakeCalls(fd, 10)
	require.NoError(t, err)
	require.Empty(t, calls)
	require.Zero(t, rest)

	l := listener(t, "127.0.0.1:0")
	for range 5 {
		dial(t, "tcp", l.Addr().String(), nil)
	}
	calls = take(t, l, 5)
	conn, err := calls[0].Conn()
	require.NoError(t, err)
	defer conn.Close()
	require.Equal(t, calls[0].Peer.String(), conn.RemoteAddr().String())
	calls[0].FD, err = unix.Dup(calls[1].FD) // of which the test closes one
	require.NoError(t, err)
	for _, c := range calls {
		require.Equal(t, os.Getuid(), c.UID)
	}
	ended := make(chan error, 1)
	go func() {
		_, _, err := l.Take(1)
		ended <- err
	}()
	l.Close()
	require.ErrorIs(t, <-ended, os.ErrClosed)

	// Out of descriptors, the listener is left alone.
	c := dial(t, "tcp", at.String(), nil)
	defer c.Close()
	var old unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &old))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 3, Max: old.Max}))
	calls, rest, err = TakeCalls(fd, 10)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &old))
	require.Empty(t, calls)
	require.True(t, IsExhausted(err), "%v", err)
	require.Positive(t, rest)
}

// A kernel that lacks this part of sock_diag says of all sockets that they are not there. That
// is not believed.
func TestNobodyIsThereIsNotBelieved(t *testing.T) {
	fd, at, err := ListenLoopback()
	require.NoError(t, err)
	defer Close(fd)
	nowhere := netip.AddrPortFrom(at.Addr(), 1) // where nobody listens, as to such a kernel
	calls := []Call{{UID: -1, Peer: nowhere, own: at, Here: true}}
	require.NoError(t, diagOwners(at, calls))
	require.Equal(t, -1, calls[0].UID)
	require.ErrorIs(t, diagOwners(nowhere, calls), errNoDiag)
}

func TestAnswersOfSockDiag(t *testing.T) {
	ne, be := binary.NativeEndian, binary.BigEndian
	b := make([]byte, nlHeader+diagAnswer)
	ne.PutUint16(b[4:], sockDiagByFamily)
	ne.PutUint32(b[8:], 7)
	m := b[nlHeader:]
	m[1] = 1
	be.PutUint16(m[4:], 1000)
	be.PutUint16(m[6:], 2000)
	ne.PutUint32(m[64:], 5)
	ne.PutUint32(m[68:], 9)
	a, err := readDiag(b)
	require.NoError(t, err)
	require.Equal(t, diagSocket{sequence: 7, found: true, state: 1, port: 1000, toPort: 2000, uid: 5, inode: 9}, a)
	for n := range b {
		_, err := readDiag(b[:n])
		require.Error(t, err)
	}
	failed := func(errno unix.Errno) []byte {
		ne.PutUint16(b[4:], unix.NLMSG_ERROR)
		ne.PutUint32(b[nlHeader:], uint32(-int32(errno)))
		return b
	}
	a, err = readDiag(failed(unix.ENOENT))
	require.NoError(t, err)
	require.False(t, a.found)
	_, err = readDiag(failed(unix.EPERM))
	require.ErrorIs(t, err, unix.EPERM)
}

func FuzzReadDiag(f *testing.F) {
	f.Add(make([]byte, nlHeader+diagAnswer))
	f.Fuzz(func(_ *testing.T, b []byte) { _, _ = readDiag(b) })
}

// socketOwner finds one socket in a table; -1 if it is not there.
func socketOwner(table string, at, to netip.AddrPort) (uid int, err error) {
	c := Call{UID: -1}
	err = socketOwners(strings.NewReader(table), map[ends]*Call{{at, to}: &c})
	return c.UID, err
}

func TestSocketOwner(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the table below is of a little-endian machine")
	}
	const heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	const good = "   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20\n"
	const mapped = "   1: 0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 4711 1 0 20\n"
	at, to := netip.MustParseAddrPort("127.0.0.1:50000"), netip.MustParseAddrPort("127.0.0.1:8080")
	for name, x := range map[string]struct {
		table string
		uid   int // -1: nobody
	}{
		"the socket":      {heading + good, 1000},
		"an IPv6 socket":  {heading + mapped, 1001},
		"half closed":     {strings.Replace(good, " 01 ", " 05 ", 1), 1000},
		"nothing":         {heading, -1},
		"the other end":   {"   1: 0100007F:1F90 0100007F:C350 01 0:0 00:0 0  0  0 4711 1\n", -1},
		"another port":    {strings.Replace(good, "C350", "C351", 1), -1},
		"another peer":    {strings.Replace(good, ":1F90", ":1F91", 1), -1},
		"another address": {strings.Replace(good, "0100007F:C350", "0200007F:C350", 1), -1},
		"closed by owner": {strings.Replace(good, "1000        0 4711", "0        0 0", 1), -1},
		"cut":             {good[:60], -1},
		"not hexadecimal": {strings.Replace(good, "0100007F:C350", "x100007F:C350", 1), -1},
		"odd length":      {strings.Replace(good, "0100007F:C350", "100007F:C350", 1), -1},
		"five bytes":      {strings.Replace(good, "0100007F:C350", "010000007F:C350", 1), -1},
	} {
		uid, err := socketOwner(x.table, at, to)
		require.NoError(t, err, name)
		assert.Equal(t, x.uid, uid, name)
	}
	_, err := socketOwner(strings.Replace(good, " 1000 ", " -1 ", 1), at, to)
	require.Error(t, err)
}

func FuzzSocketOwner(f *testing.F) {
	f.Add("   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20\n")
	at, to := netip.MustParseAddrPort("127.0.0.1:50000"), netip.MustParseAddrPort("127.0.0.1:8080")
	f.Fuzz(func(t *testing.T, table string) {
		uid, err := socketOwner(table, at, to)
		if err == nil && uid < -1 {
			t.Fatal(uid)
		}
	})
}

// BenchmarkStranger measures the cost of a stranger's call until it is sent away: it
// stays, or has gone before it is taken; by the kernel's answer or by its table.
func BenchmarkStranger(b *testing.B) {
	for _, gone := range []bool{false, true} {
		for name, take := range map[string]func(fd int) ([]Call, error){
			"asked": func(fd int) ([]Call, error) {
				calls, _, err := TakeCalls(fd, 16)
				return calls, err
			},
			"listed": func(fd int) ([]Call, error) {
				calls, _ := appendCalls(nil, fd, netip.MustParseAddrPort("127.0.0.1:1"), tableCalls)
				return calls, tableOwners(calls)
			},
		} {
			b.Run(fmt.Sprintf("gone=%v/%s", gone, name), func(b *testing.B) { strangers(b, gone, take) })
		}
	}
}

func strangers(b *testing.B, gone bool, take func(fd int) ([]Call, error)) {
	fd, at, err := ListenLoopback()
	require.NoError(b, err)
	defer Close(fd)
	to := &unix.SockaddrInet4{Addr: at.Addr().As4(), Port: int(at.Port())}
	const crowd = 1000
	b.StopTimer()
	for left := b.N; left > 0; {
		n := min(left, crowd)
		left -= n
		callers := make([]int, 0, n)
		for range n {
			c, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
			require.NoError(b, err)
			require.NoError(b, unix.Connect(c, to))
			if gone {
				Close(c)
			} else {
				callers = append(callers, c)
			}
		}
		b.StartTimer()
		for n > 0 {
			calls, err := take(fd)
			require.NoError(b, err)
			for _, c := range calls {
				Close(c.FD)
			}
			n -= len(calls)
		}
		b.StopTimer()
		for _, c := range callers {
			Close(c)
		}
	}
}
