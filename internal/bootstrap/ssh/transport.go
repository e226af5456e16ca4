package sshboot

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// transport carries an SSH connection, and addr is one of its ends.
type (
	transport = net.Conn
	endAddr   = net.Addr
)

// tunnel is a TCP connection that a jump host made for us (RFC 4254 section
// 7.2).
type tunnel struct {
	ssh.Channel
	jump   *client
	remote tunnelAddr
}

var _ transport = (*tunnel)(nil)

// tunnelAddr is the far end as the jump host knows it.
type tunnelAddr string

func (tunnelAddr) Network() string  { return "direct-tcpip" }
func (a tunnelAddr) String() string { return string(a) }

// errNoDeadline is for callers who expect more of a tunnel than it can do;
// there are none, since closing the TCP connection below it ends all waits.
var errNoDeadline = errors.New("ssh tunnel: deadlines are not supported")

func (t *tunnel) LocalAddr() endAddr               { return tunnelAddr("tunnel") }
func (t *tunnel) RemoteAddr() endAddr              { return t.remote }
func (t *tunnel) SetDeadline(time.Time) error      { return errNoDeadline }
func (t *tunnel) SetReadDeadline(time.Time) error  { return errNoDeadline }
func (t *tunnel) SetWriteDeadline(time.Time) error { return errNoDeadline }

// Close ends the connection to the jump host too: it serves nothing else, and
// a reader here would otherwise wait for the jump host's answer.
func (t *tunnel) Close() error { return t.jump.conn.Close() }

// tunnel asks the jump host c, which is hop, to connect to next, by the name
// that means something there.
func (c *client) tunnel(hop, next *Target) (transport, *bootstrap.Error) {
	ch, requests, err := c.conn.OpenChannel("direct-tcpip", ssh.Marshal(struct {
		Host       string
		Port       uint32
		Originator string
		OriginPort uint32
	}{Host: next.HostName, Port: uint32(next.Port), Originator: "127.0.0.1"}))
	if err != nil {
		return nil, tunnelError(err, hop, next)
	}
	go ssh.DiscardRequests(requests) // ends with the channel
	return &tunnel{Channel: ch, jump: c, remote: tunnelAddr(next.namedAddress())}, nil
}

// tunnelError explains a jump host's refusal.
func tunnelError(err error, hop, next *Target) *bootstrap.Error {
	var open *ssh.OpenChannelError
	if !errors.As(err, &open) {
		return &bootstrap.Error{Phase: bootstrap.Connect, Err: fmt.Errorf("jump host %s hung up: %w", hop.Name, err)}
	}
	e := &bootstrap.Error{
		Phase: bootstrap.Connect,
		Err:   fmt.Errorf("jump host %s cannot connect to %s: %s", hop.Name, next.namedAddress(), open.Message),
	}
	e.Awaited = "its jump host does not reach it yet"
	switch {
	case open.Reason == ssh.Prohibited:
		e.Permanent = true
		e.Hint = fmt.Sprintf("sshd on %s must permit forwarding: AllowTcpForwarding, PermitOpen", hop.Name)
	case strings.Contains(open.Message, "refused"):
		e.Absent = bootstrap.NoListener
	case strings.Contains(open.Message, "unknown host") || strings.Contains(open.Message, "not known"):
		e.Phase, e.Absent, e.Awaited = bootstrap.Resolve, bootstrap.NoName, "its name is not known yet"
		e.Hint = fmt.Sprintf("the name must resolve on %s", hop.Name)
	}
	return e
}
