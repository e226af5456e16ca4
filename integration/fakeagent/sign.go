package fakeagent

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/golaunch/golaunch/internal/bootstrap"
	sshboot "github.com/golaunch/golaunch/internal/bootstrap/ssh"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
)

// Signings try to have the launcher sign a request that logs the fake in to a host that
// it has no business with: the one at Order.Outsider. Where they succeed the host's own
// sshd says so, and the fake's log says "logged in".
func Signings() []Forgery {
	atOutsider := func(name string, host func(*node) job.HostIndex) Forgery {
		return Forgery{Name: "sign: " + name, at: ranged, answered: true, commit: func(n *node) error {
			return n.logIn(n.order.Outsider, func(data []byte, p proof) ([]byte, error) { return n.sign(host(n), data, p) })
		}}
	}
	own := func(n *node) job.HostIndex { return n.self.Index }
	below := func(n *node) job.HostIndex {
		if len(n.given.Hosts) == 0 {
			return n.self.Index
		}
		return n.given.Hosts[0].Index
	}
	return []Forgery{
		atOutsider("a host outside of the job, as its own", own),
		atOutsider("a host outside of the job, as one of its range", below),
		// The order's outsider is a host of the range here, but not its first.
		atOutsider("another host of the range", below),
		atOutsider("a host outside of the job, as the host that exists least", func(n *node) job.HostIndex { return n.other() }),
		{Name: "sign: another session's proof", at: ranged, answered: true, commit: func(n *node) error {
			// A real host of the range proves itself; its proof is shown with
			// the session of the outsider.
			var theirs proof
			_ = n.logIn(n.given.Hosts[0].Addr, func(_ []byte, p proof) ([]byte, error) {
				theirs = p
				return nil, errors.New("only its proof was wanted")
			})
			return n.logIn(n.order.Outsider, func(data []byte, _ proof) ([]byte, error) {
				return n.sign(n.given.Hosts[0].Index, data, theirs)
			})
		}},
		{Name: "sign: a session twice", at: ranged, answered: true, commit: func(n *node) error {
			host := n.given.Hosts[0]
			return n.logIn(host.Addr, func(data []byte, p proof) ([]byte, error) {
				first, err := n.sign(host.Index, data, p)
				if err != nil {
					n.log("refused at once: %v", err)
					return nil, err
				}
				if _, err := n.sign(host.Index, data, p); err == nil {
					n.log("signed twice")
				}
				return first, nil
			})
		}},
		{Name: "sign: after the launch", at: running, claims: true, answered: true, commit: func(n *node) error {
			return n.logIn(n.order.Outsider, func(data []byte, p proof) ([]byte, error) {
				return n.sign(n.given.Hosts[0].Index, data, p)
			})
		}},
	}
}

// request is overlay.SignRequest as it travels, with all that an agent can show.
type request struct {
	ID      uint64 `cbor:"1,keyasint"`
	Request struct {
		Host  job.HostIndex `cbor:"1,keyasint"`
		Data  []byte        `cbor:"2,keyasint"`
		Proof proof         `cbor:"3,keyasint"`
	} `cbor:"2,keyasint"`
	By job.HostIndex `cbor:"3,keyasint"`
}

// sign asks the launcher for a signature.
func (n *node) sign(host job.HostIndex, data []byte, p proof) ([]byte, error) {
	n.lastSign++
	r := request{ID: n.lastSign, By: n.self.Index}
	r.Request.Host, r.Request.Data, r.Request.Proof = host, data, p
	n.up(link.Service, overlay.KindSign, r)
	select {
	case s := <-n.signed:
		if s.Refusal != "" {
			return nil, fmt.Errorf("refused: %s", s.Refusal)
		}
		return s.Signature, nil
	case <-n.gone:
		return nil, errGone
	case <-time.After(patience):
		return nil, fmt.Errorf("no answer within %v", patience)
	}
}

// logIn logs in to a host with a signature that sign gets. That it could not is
// no error: it is written down.
func (n *node) logIn(addr string, sign func(data []byte, p proof) ([]byte, error)) error {
	setup, err := bootstrap.Unpack[sshboot.Setup](n.given.Setup)
	if err != nil {
		return err
	}
	if len(setup.Keys) == 0 {
		return errors.New("the range names no keys")
	}
	if n.self.Access == nil {
		return errors.New("the range does not tell how the host is reached")
	}
	target, err := bootstrap.Unpack[sshboot.Target](n.self.Access.Data)
	if err != nil {
		return err
	}
	key, err := ssh.ParsePublicKey(setup.Keys[0].Blob)
	if err != nil {
		return err
	}
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(addr, "22"), patience)
	if err != nil {
		return err
	}
	tapped := &tap{Conn: conn}
	defer tapped.Close()
	config := &ssh.ClientConfig{
		User: target.User, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: patience,
		Auth: []ssh.AuthMethod{ssh.PublicKeys(&signer{key, func(data []byte) ([]byte, error) { return sign(data, tapped.proof) }})},
	}
	c, _, _, err := ssh.NewClientConn(tapped, addr, config)
	if err != nil {
		n.log("not logged in to %s: %v", addr, err)
		return nil
	}
	n.log("logged in to %s", addr)
	return c.Close()
}

// signer is an ssh.Signer whose private key the launcher has.
type signer struct {
	key  ssh.PublicKey
	sign func(data []byte) ([]byte, error)
}

func (s *signer) PublicKey() ssh.PublicKey { return s.key }

func (s *signer) Sign(_ io.Reader, data []byte) (*ssh.Signature, error) {
	blob, err := s.sign(data)
	if err != nil {
		return nil, err
	}
	signature := new(ssh.Signature)
	return signature, ssh.Unmarshal(blob, signature)
}

// proof is a server's proof in the key exchange that it has its host key.
type proof struct {
	HostKey   []byte `cbor:"1,keyasint"`
	Signature []byte `cbor:"2,keyasint"`
}

// tap reads the proof from a server's words in clear.
type tap struct {
	net.Conn
	seen  []byte
	over  bool
	proof proof
}

func (t *tap) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	if !t.over {
		t.seen = append(t.seen, b[:n]...)
		t.look()
	}
	return n, err
}

// look finds the key exchange's reply among the packets that are whole.
func (t *tap) look() {
	const kexReply, newKeys = 31, 21 // RFC 5656 section 7.1, RFC 4253 section 12
	_, packets, ok := bytes.Cut(t.seen, []byte("\n"))
	for ok && len(packets) >= 6 {
		size := binary.BigEndian.Uint32(packets)
		if uint64(len(packets)) < 4+uint64(size) {
			return
		}
		if size < 2 { // no packet has no payload
			t.over = true
			return
		}
		payload := packets[5 : 4+size]
		if payload[0] == kexReply {
			var reply struct{ HostKey, Share, Signature []byte }
			t.over = ssh.Unmarshal(payload[1:], &reply) == nil
			t.proof = proof{reply.HostKey, reply.Signature}
		}
		if t.over = t.over || payload[0] == newKeys; t.over {
			return
		}
		packets = packets[4+size:]
	}
}
