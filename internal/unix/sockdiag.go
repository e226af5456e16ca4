package unix

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// Of linux/sock_diag.h and linux/inet_diag.h.
const (
	sockDiagByFamily = 20
	nlHeader         = 16 // bytes of struct nlmsghdr
	diagRequest      = 56 // bytes of struct inet_diag_req_v2
	diagAnswer       = 72 // bytes of struct inet_diag_msg
	tcpEstablished   = 1
)

// PeerUIDs is PeerUID for many connections over IPv4 to one address of this
// machine, own. A peer that is not connected any more is left out. The kernel is
// asked for each (sock_diag(7)), where it can be: to read its table takes
// milliseconds on a machine with much memory, however few connections there are.
func PeerUIDs(own netip.AddrPort, peers []netip.AddrPort) (map[netip.AddrPort]int, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return tableUIDs(own, peers)
	}
	defer unix.Close(fd)
	owners := make(map[netip.AddrPort]int, len(peers))
	for _, p := range peers {
		switch uid, err := diagUID(fd, own, p); {
		case err == nil:
			owners[p] = uid
		case !errors.Is(err, ErrNoPeer):
			return tableUIDs(own, peers)
		}
	}
	return owners, nil
}

// diagUID is the user who owns the other end, peer, of a TCP connection over IPv4 to
// own, an address of this machine; ErrNoPeer where it is not connected any more.
func diagUID(fd int, own, peer netip.AddrPort) (uid int, err error) {
	q := make([]byte, nlHeader+diagRequest)
	ne, be := binary.NativeEndian, binary.BigEndian
	ne.PutUint32(q, uint32(len(q)))
	ne.PutUint16(q[4:], sockDiagByFamily)
	ne.PutUint16(q[6:], unix.NLM_F_REQUEST)
	r := q[nlHeader:]
	r[0], r[1] = unix.AF_INET, unix.IPPROTO_TCP
	ne.PutUint32(r[4:], 1<<tcpEstablished)
	be.PutUint16(r[8:], peer.Port())
	be.PutUint16(r[10:], own.Port())
	from, to := peer.Addr().Unmap().As4(), own.Addr().Unmap().As4()
	copy(r[12:], from[:])
	copy(r[28:], to[:])
	ne.PutUint64(r[48:], 1<<64-1) // no cookie
	if err := unix.Sendto(fd, q, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, fmt.Errorf("ask for the owner of %v: %w", peer, err)
	}
	b := make([]byte, 4<<10)
	n, _, err := unix.Recvfrom(fd, b, 0)
	if err != nil {
		return 0, fmt.Errorf("ask for the owner of %v: %w", peer, err)
	}
	return diagOwner(b[:n], peer)
}

// diagOwner reads the kernel's answer. A socket that is not connected to us, or
// that its owner has closed, has none.
func diagOwner(b []byte, peer netip.AddrPort) (uid int, err error) {
	ne := binary.NativeEndian
	if len(b) >= nlHeader+4 && ne.Uint16(b[4:]) == unix.NLMSG_ERROR {
		if errno := unix.Errno(-int32(ne.Uint32(b[nlHeader:]))); errno != unix.ENOENT {
			return 0, fmt.Errorf("ask for the owner of %v: %w", peer, errno)
		}
		return 0, fmt.Errorf("peer %v: %w", peer, ErrNoPeer)
	}
	if len(b) < nlHeader+diagAnswer {
		return 0, fmt.Errorf("ask for the owner of %v: an answer of %d bytes", peer, len(b))
	}
	m := b[nlHeader:]
	if m[1] != tcpEstablished || binary.BigEndian.Uint16(m[4:]) != peer.Port() || ne.Uint32(m[68:]) == 0 {
		return 0, fmt.Errorf("peer %v: %w", peer, ErrNoPeer)
	}
	return int(ne.Uint32(m[64:])), nil
}
