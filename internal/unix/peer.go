package unix

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ErrNoPeer is returned by PeerUID where this machine has no such socket that is
// still connected: the peer is elsewhere, or has closed it.
var ErrNoPeer = errors.New("no connected socket of this machine")

// PeerUID is the user who owns the other end of a TCP connection from this
// machine, as /proc/net/tcp has it.
func PeerUID(c net.Conn) (uid int, err error) {
	peer, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return 0, fmt.Errorf("peer %v: %w", c.RemoteAddr(), err)
	}
	own, err := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil {
		return 0, fmt.Errorf("socket %v: %w", c.LocalAddr(), err)
	}
	owners, err := tableUIDs(own, []netip.AddrPort{peer})
	if err != nil {
		return 0, err
	}
	uid, ok := owners[peer]
	if !ok {
		return 0, fmt.Errorf("peer %v: %w", peer, ErrNoPeer)
	}
	return uid, nil
}

// tableUIDs is PeerUID for many connections to one address of this machine, own.
// A peer that is not connected any more is left out.
func tableUIDs(own netip.AddrPort, peers []netip.AddrPort) (map[netip.AddrPort]int, error) {
	wanted := make(map[netip.AddrPort]bool, len(peers))
	for _, p := range peers {
		wanted[unmapped(p)] = true
	}
	owners := map[netip.AddrPort]int{}
	// A client may well use an IPv6 socket for an IPv4 address.
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(table)
		if errors.Is(err, os.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, err
		}
		err = socketOwners(f, unmapped(own), wanted, owners)
		f.Close()
		if err != nil {
			return nil, err
		}
		if len(owners) == len(wanted) {
			break
		}
	}
	byPeer := make(map[netip.AddrPort]int, len(owners))
	for _, p := range peers {
		if uid, ok := owners[unmapped(p)]; ok {
			byPeer[p] = uid
		}
	}
	return byPeer, nil
}

func unmapped(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }

// socketOwners finds the sockets connected to remote from the addresses wanted,
// in a table of the kernel's (proc_net_tcp): after a heading, a line for each, with the number,
// both addresses, the state, ... in the eighth column the owner and in the tenth
// the inode. One that its owner has closed has no inode, and seems to be root's.
func socketOwners(table io.Reader, remote netip.AddrPort, wanted map[netip.AddrPort]bool, owners map[netip.AddrPort]int) error {
	const established = "01"
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[3] != established || f[9] == "0" {
			continue
		}
		local, ok1 := tableAddr(f[1])
		to, ok2 := tableAddr(f[2])
		if !ok1 || !ok2 || to != remote || !wanted[local] {
			continue
		}
		uid, err := strconv.ParseUint(f[7], 10, 31)
		if err != nil {
			return fmt.Errorf("owner of the socket %v: %w", local, err)
		}
		owners[local] = int(uid)
	}
	return lines.Err()
}

// tableAddr reads the kernel's form of an address: the words of the address as
// numbers of this machine, then the port, in hexadecimal.
func tableAddr(text string) (a netip.AddrPort, ok bool) {
	words, port, ok := strings.Cut(text, ":")
	b, err := hex.DecodeString(words)
	if !ok || err != nil || len(b)%4 != 0 {
		return a, false
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	addr, ok := netip.AddrFromSlice(b)
	n, err := strconv.ParseUint(port, 16, 16)
	return netip.AddrPortFrom(addr.Unmap(), uint16(n)), ok && err == nil
}

// Detach takes the descriptor out of a TCP connection, which is closed: it is
// the caller's, nonblocking and close-on-exec.
func Detach(c *net.TCPConn) (fd int, err error) {
	defer c.Close()
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, err
	}
	var derr error
	if err := raw.Control(func(old uintptr) {
		fd, derr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3)
	}); err != nil {
		return -1, err
	}
	if derr != nil {
		return -1, fmt.Errorf("duplicate a connection: %w", derr)
	}
	return fd, nil
}
