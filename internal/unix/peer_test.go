package unix

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// connection returns both ends of a TCP connection of this machine.
func connection(t *testing.T, network, address string) (accepted, dialled net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("skipped: %v", err)
	}
	defer l.Close()
	dialled, err = net.Dial(network, l.Addr().String())
	require.NoError(t, err)
	accepted, err = l.Accept()
	require.NoError(t, err)
	t.Cleanup(func() { accepted.Close(); dialled.Close() })
	return accepted, dialled
}

func TestPeerUID(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(address, func(t *testing.T) {
			accepted, dialled := connection(t, "tcp", address)
			for _, end := range []net.Conn{accepted, dialled} {
				uid, err := PeerUID(end)
				require.NoError(t, err)
				assert.Equal(t, os.Getuid(), uid)
			}
			// What its owner has closed would seem to be root's.
			require.NoError(t, dialled.Close())
			_, err := io.ReadAll(accepted)
			require.NoError(t, err)
			_, err = PeerUID(accepted)
			assert.ErrorIs(t, err, ErrNoPeer)
		})
	}
}

// socketOwner finds one socket in a table.
func socketOwner(table io.Reader, local, remote netip.AddrPort) (uid int, err error) {
	owners := map[netip.AddrPort]int{}
	if err := socketOwners(table, remote, map[netip.AddrPort]bool{local: true}, owners); err != nil {
		return 0, err
	}
	uid, ok := owners[local]
	if !ok {
		return 0, ErrNoPeer
	}
	return uid, nil
}

// accept takes the next connection, which the kernel may hand to the listener
// only after the dialler has it.
func accept(t *testing.T, l int) (fd int, peer netip.AddrPort) {
	t.Helper()
	p, err := NewPoller()
	require.NoError(t, err)
	defer p.Close()
	require.NoError(t, p.Add(l, 1))
	_, err = p.Wait(make([]Ready, 1), time.Minute)
	require.NoError(t, err)
	fd, peer, err = TryAccept(l)
	require.NoError(t, err)
	return fd, peer
}

// Connections are taken one after another, and looked up together: who has
// closed meanwhile is left out.
func TestAcceptAndLookUp(t *testing.T) {
	l, at, err := ListenLoopback()
	require.NoError(t, err)
	defer Close(l)
	require.True(t, at.Addr().IsLoopback())
	_, _, err = TryAccept(l)
	require.Equal(t, EAGAIN, err)
	var peers []netip.AddrPort
	for i := range 3 {
		c, err := net.Dial("tcp", at.String())
		require.NoError(t, err)
		fd, peer := accept(t, l)
		defer Close(fd)
		require.Equal(t, c.LocalAddr().String(), peer.String())
		peers = append(peers, peer)
		_, err = Read(fd, make([]byte, 1))
		require.Equal(t, EAGAIN, err)
		if i == 1 {
			require.NoError(t, c.Close())
		} else {
			defer c.Close()
		}
	}
	for _, lookUp := range []func(netip.AddrPort, []netip.AddrPort) (map[netip.AddrPort]int, error){PeerUIDs, tableUIDs} {
		owners, err := lookUp(at, peers)
		require.NoError(t, err)
		require.Equal(t, map[netip.AddrPort]int{peers[0]: os.Getuid(), peers[2]: os.Getuid()}, owners)
	}
	// The kernel itself says so, not the table in its place.
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		t.Skipf("skipped: no sock_diag here: %v", err)
	}
	defer Close(fd)
	uid, err := diagUID(fd, at, peers[0])
	require.NoError(t, err)
	require.Equal(t, os.Getuid(), uid)
	_, err = diagUID(fd, at, peers[1])
	require.ErrorIs(t, err, ErrNoPeer)
	_, err = diagUID(fd, at, netip.MustParseAddrPort("127.0.0.1:1"))
	require.ErrorIs(t, err, ErrNoPeer, "the listener is no peer")
	for n := range nlHeader + diagAnswer {
		_, err := diagOwner(make([]byte, n), peers[0])
		require.Error(t, err)
	}
}

func TestSocketOwner(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the table below is of a little-endian machine")
	}
	const heading = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	const good = "   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20\n"
	const mapped = "   1: 0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000100007F:1F90 01 00000000:00000000 00:00000000 00000000  1001        0 4711 1 0 20\n"
	local, remote := netip.MustParseAddrPort("127.0.0.1:50000"), netip.MustParseAddrPort("127.0.0.1:8080")
	for name, x := range map[string]struct {
		table string
		uid   int // -1: no peer
	}{
		"the socket":      {heading + good, 1000},
		"an IPv6 socket":  {heading + mapped, 1001},
		"nothing":         {heading, -1},
		"the other end":   {"   1: 0100007F:1F90 0100007F:C350 01 0:0 00:0 0  0  0 4711 1\n", -1},
		"another port":    {strings.Replace(good, "C350", "C351", 1), -1},
		"another peer":    {strings.Replace(good, ":1F90", ":1F91", 1), -1},
		"another address": {strings.Replace(good, "0100007F:C350", "0200007F:C350", 1), -1},
		"closed by owner": {strings.Replace(good, "1000        0 4711", "0        0 0", 1), -1},
		"half closed":     {strings.Replace(good, " 01 ", " 05 ", 1), -1},
		"cut":             {good[:60], -1},
		"not hexadecimal": {strings.Replace(good, "0100007F:C350", "x100007F:C350", 1), -1},
		"odd length":      {strings.Replace(good, "0100007F:C350", "100007F:C350", 1), -1},
		"five bytes":      {strings.Replace(good, "0100007F:C350", "010000007F:C350", 1), -1},
	} {
		uid, err := socketOwner(strings.NewReader(x.table), local, remote)
		if x.uid < 0 {
			assert.ErrorIs(t, err, ErrNoPeer, name)
			continue
		}
		require.NoError(t, err, name)
		assert.Equal(t, x.uid, uid, name)
	}
	_, err := socketOwner(strings.NewReader(strings.Replace(good, " 1000 ", " -1 ", 1)), local, remote)
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrNoPeer)
}

func FuzzSocketOwner(f *testing.F) {
	f.Add("   1: 0100007F:C350 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 20\n")
	local, remote := netip.MustParseAddrPort("127.0.0.1:50000"), netip.MustParseAddrPort("127.0.0.1:8080")
	f.Fuzz(func(t *testing.T, table string) {
		uid, err := socketOwner(strings.NewReader(table), local, remote)
		if err == nil && uid < 0 {
			t.Fatal(uid)
		}
	})
}

func TestDetach(t *testing.T) {
	accepted, dialled := connection(t, "tcp", "127.0.0.1:0")
	fd, err := Detach(accepted.(*net.TCPConn))
	require.NoError(t, err)
	defer Close(fd)
	_, err = accepted.Write([]byte("x"))
	require.ErrorIs(t, err, net.ErrClosed)
	_, err = Read(fd, make([]byte, 1))
	require.Equal(t, EAGAIN, err)
	_, err = Write(fd, []byte("abc"))
	require.NoError(t, err)
	got := make([]byte, 3)
	_, err = io.ReadFull(dialled, got)
	require.NoError(t, err)
	require.Equal(t, "abc", string(got))
}
