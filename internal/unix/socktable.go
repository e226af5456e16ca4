package unix

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
)

// ends are the two addresses of a connection.
type ends struct{ at, to netip.AddrPort }

// tableOwners finds the owners of calls in the kernel's tables of sockets. That of one that was
// closed stays unknown.
func tableOwners(calls []Call) error {
	wanted := make(map[ends]*Call, len(calls))
	for i := range calls {
		c := &calls[i]
		wanted[ends{unmapped(c.Peer), unmapped(c.own)}] = c
	}
	// A client may well use an IPv6 socket for an IPv4 address.
	return eachTable(func(table io.Reader) error { return socketOwners(table, wanted) })
}

// eachTable hands over the kernel's tables of TCP sockets in the network namespace that this
// process is in (proc_net_tcp(5)).
func eachTable(do func(table io.Reader) error) error {
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) && name == "/proc/net/tcp6" {
			continue // a kernel without IPv6
		}
		if err != nil {
			return err
		}
		err = do(f)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// unmapped returns an address as the kernel's tables have it.
func unmapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port())
}

// socketOwners finds the sockets that are wanted in a table of the kernel's
// (proc_net_tcp): after a heading, a line for each, with the number, both addresses, the state, ...
// in the eighth column the owner and in the tenth the inode. One that its owner has closed has no
// inode, and seems to be root's.
func socketOwners(table io.Reader, wanted map[ends]*Call) error {
	lines := bufio.NewScanner(table)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 10 || f[9] == "0" {
			continue
		}
		at, ok1 := tableAddr(f[1])
		to, ok2 := tableAddr(f[2])
		c := wanted[ends{at, to}]
		if !ok1 || !ok2 || c == nil {
			continue
		}
		uid, err := strconv.ParseUint(f[7], 10, 31)
		if err != nil {
			return fmt.Errorf("owner of the socket %v: %w", at, err)
		}
		c.UID = int(uid)
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
