package unix

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// Of linux/sock_diag.h and linux/inet_diag.h.
const (
	sockDiagByFamily = 20
	nlHeader         = 16 // bytes of struct nlmsghdr
	diagRequest      = 56 // bytes of struct inet_diag_req_v2
	diagAnswer       = 72 // bytes of struct inet_diag_msg
	tcpListen        = 10
)

const (
	// diagBatch is the number of sockets asked for with one system call. The answers of
	// all fit into a socket's queue.
	diagBatch = 32
	// loopback is the number of the loopback interface, in every network namespace. A
	// socket that is bound to it is found only if it is named; others are found so, too.
	loopback = 1
)

var errNoDiag = errors.New("sock_diag does not answer")

// diagOwners asks the kernel for the owners of calls at a listener whose address is own. That
// of one that was closed stays unknown.
func diagOwners(own netip.AddrPort, calls []Call) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_INET_DIAG)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	known := false
	for len(calls) > 0 {
		n := min(len(calls), diagBatch)
		some, err := diagSome(fd, calls[:n])
		if err != nil {
			return err
		}
		known, calls = known || some, calls[n:]
	}
	if known {
		return nil
	}
	// A kernel without this part of sock_diag says of each socket that it is not there. The
	// listener is.
	return diagListener(fd, own)
}

// diagSome asks for few calls, and reports whether there is any such socket.
func diagSome(fd int, calls []Call) (some bool, err error) {
	q := make([]byte, 0, len(calls)*(nlHeader+diagRequest))
	for i, c := range calls {
		iface := 0
		switch zone := c.Peer.Addr().Zone(); {
		case c.Here && zone == "":
			iface = loopback
		case zone != "":
			iface = zoneNumber(zone)
		}
		q = appendDiag(q, uint32(i), unmapped(c.Peer), unmapped(c.own), iface)
	}
	err = askDiag(fd, q, len(calls), func(a diagSocket) error {
		if a.sequence >= uint32(len(calls)) {
			return errNoDiag
		}
		if c := &calls[a.sequence]; a.found {
			some = true
			if a.inode != 0 && a.state != tcpListen && a.port == c.Peer.Port() && a.toPort == c.own.Port() {
				c.UID = int(a.uid)
			}
		}
		return nil
	})
	return some, err
}

// diagListener asks for a listener, which is there.
func diagListener(fd int, own netip.AddrPort) error {
	own = unmapped(own)
	nobody := netip.IPv4Unspecified()
	if own.Addr().Is6() {
		nobody = netip.IPv6Unspecified()
	}
	q := appendDiag(nil, 0, own, netip.AddrPortFrom(nobody, 0), zoneNumber(own.Addr().Zone()))
	return askDiag(fd, q, 1, func(a diagSocket) error {
		if !a.found {
			return errNoDiag
		}
		return nil
	})
}

// zoneNumber returns the number of the interface of a link-local address.
func zoneNumber(zone string) int {
	if n, err := strconv.Atoi(zone); err == nil {
		return n
	}
	if i, err := net.InterfaceByName(zone); err == nil {
		return i.Index
	}
	return 0
}

// appendDiag appends the question for a socket of this machine's, at an address and connected to
// another. An IPv6 socket that uses an IPv4 address is found by that.
func appendDiag(q []byte, sequence uint32, at, to netip.AddrPort, iface int) []byte {
	ne, be := binary.NativeEndian, binary.BigEndian
	var r [nlHeader + diagRequest]byte
	ne.PutUint32(r[:], uint32(len(r)))
	ne.PutUint16(r[4:], sockDiagByFamily)
	ne.PutUint16(r[6:], unix.NLM_F_REQUEST)
	ne.PutUint32(r[8:], sequence)
	b := r[nlHeader:]
	b[0], b[1] = unix.AF_INET, unix.IPPROTO_TCP
	if at.Addr().Is6() {
		b[0] = unix.AF_INET6
	}
	ne.PutUint32(b[4:], 1<<32-1) // in any state
	be.PutUint16(b[8:], at.Port())
	be.PutUint16(b[10:], to.Port())
	copy(b[12:28], at.Addr().AsSlice())
	copy(b[28:44], to.Addr().AsSlice())
	ne.PutUint32(b[44:], uint32(iface))
	ne.PutUint64(b[48:], 1<<64-1) // no cookie
	return append(q, r[:]...)
}

// askDiag asks questions, and hands each answer on. The kernel has answered all of them when
// sending returns.
func askDiag(fd int, questions []byte, n int, answer func(diagSocket) error) error {
	if err := unix.Sendto(fd, questions, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("sock_diag: %w", err)
	}
	var b [1 << 10]byte
	for range n {
		got, err := receive(fd, b[:])
		if err != nil {
			return fmt.Errorf("sock_diag: %w", err)
		}
		a, err := readDiag(b[:got])
		if err == nil {
			err = answer(a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// receive takes a packet of the kernel's, longer ones cut, and never waits.
func receive(fd int, b []byte) (n int, err error) {
	for {
		if n, _, err = unix.Recvfrom(fd, b, unix.MSG_DONTWAIT); err != unix.EINTR {
			return n, err
		}
	}
}

// diagSocket is the kernel's record of a socket.
type diagSocket struct {
	sequence     uint32 // of the question
	found        bool
	state        byte
	port, toPort uint16
	uid, inode   uint32 // one that its owner has closed has no inode, and may seem to be root's
}

// readDiag reads the kernel's answer.
func readDiag(b []byte) (a diagSocket, err error) {
	ne, be := binary.NativeEndian, binary.BigEndian
	if len(b) < nlHeader+4 {
		return a, fmt.Errorf("sock_diag: an answer of %d bytes", len(b))
	}
	a.sequence = ne.Uint32(b[8:])
	m := b[nlHeader:]
	switch kind := ne.Uint16(b[4:]); {
	case kind == unix.NLMSG_ERROR:
		if errno := unix.Errno(-int32(ne.Uint32(m))); errno != unix.ENOENT {
			return a, fmt.Errorf("sock_diag: %w", errno)
		}
		return a, nil
	case kind != sockDiagByFamily || len(m) < diagAnswer:
		return a, fmt.Errorf("sock_diag: an answer of kind %d and %d bytes", kind, len(b))
	}
	a.found, a.state = true, m[1]
	a.port, a.toPort = be.Uint16(m[4:]), be.Uint16(m[6:])
	a.uid, a.inode = ne.Uint32(m[64:]), ne.Uint32(m[68:])
	return a, nil
}
