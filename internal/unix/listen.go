package unix

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"golang.org/x/sys/unix"
)

// ListenLoopback listens on a free port of 127.0.0.1. The descriptor is
// nonblocking and close-on-exec.
func ListenLoopback() (fd int, at netip.AddrPort, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, at, fmt.Errorf("socket: %w", err)
	}
	loopback := [4]byte{127, 0, 0, 1}
	err = unix.Bind(fd, &unix.SockaddrInet4{Addr: loopback})
	if err == nil {
		err = unix.Listen(fd, 1<<16-1) // the kernel has a limit of its own
	}
	var own unix.Sockaddr
	if err == nil {
		own, err = unix.Getsockname(fd)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, at, fmt.Errorf("listen on the loopback interface: %w", err)
	}
	return fd, addrPort(own), nil
}

// TryAccept takes a connection that waits at a nonblocking listener of TCP, and
// the address of its other end; EAGAIN if none does.
func TryAccept(listener int) (fd int, peer netip.AddrPort, err error) {
	for {
		fd, from, err := unix.Accept4(listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		switch err {
		case nil:
			return fd, addrPort(from), nil
		case unix.EINTR, unix.ECONNABORTED:
		default:
			return -1, peer, err
		}
	}
}

// IsExhausted says of an error that descriptors or memory have run out, which may
// pass.
func IsExhausted(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM)
}

func addrPort(a unix.Sockaddr) netip.AddrPort {
	switch a := a.(type) {
	case *unix.SockaddrInet4:
		return netip.AddrPortFrom(netip.AddrFrom4(a.Addr), uint16(a.Port))
	case *unix.SockaddrInet6:
		addr := netip.AddrFrom16(a.Addr).Unmap()
		if a.ZoneId != 0 {
			addr = addr.WithZone(strconv.FormatUint(uint64(a.ZoneId), 10))
		}
		return netip.AddrPortFrom(addr, uint16(a.Port))
	}
	return netip.AddrPort{}
}

// QuickAckFD switches delayed acknowledgements of a TCP connection off until the
// kernel thinks better of it, which takes a 40 ms stall out of request and
// answer protocols whose other side uses Nagle's algorithm. It is to be repeated
// after reads. It only ever makes things faster, so that it fails is of no
// interest.
func QuickAckFD(fd int) { _ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1) }

// Resent counts the times that the first packet of a TCP connection was sent again, for
// want of an answer; false if the connection does not wait, or no longer, for an answer
// to that packet.
func Resent(fd int) (times int, waits bool) {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || info.State != unix.BPF_TCP_SYN_SENT {
		return 0, false
	}
	return int(info.Retransmits), true
}

// FreePort finds a port of TCP that nobody has on any address of this machine now.
// Nothing listens at it.
func FreePort() (uint16, error) {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.SetsockoptInt(fd, unix.IPPROTO_IPV6, unix.IPV6_V6ONLY, 0)
	}
	var everywhere unix.Sockaddr = &unix.SockaddrInet6{}
	if err != nil { // a kernel without IPv6
		if fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			return 0, fmt.Errorf("socket: %w", err)
		}
		everywhere = &unix.SockaddrInet4{}
	}
	defer unix.Close(fd)
	if err := unix.Bind(fd, everywhere); err != nil {
		return 0, fmt.Errorf("bind: %w", err)
	}
	own, err := unix.Getsockname(fd)
	switch own := own.(type) {
	case *unix.SockaddrInet6:
		return uint16(own.Port), nil
	case *unix.SockaddrInet4:
		return uint16(own.Port), nil
	}
	return 0, fmt.Errorf("getsockname: %w", err)
}
