package pingpong

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/golaunch/golaunch/client"
	"github.com/golaunch/golaunch/topology/measure"
)

// addressVariable is the address by which this host was reached, or which else is
// good beyond it: golaunch tells it to each rank.
const addressVariable = "PMI_HOSTNAME"

// connectTimeout bounds how long two ranks take to find each other.
const connectTimeout = 20 * time.Second

// measureTimeout bounds the measurement of a pair.
const measureTimeout = 5 * time.Minute

// secretLen is the length of the random bytes by which each of two ranks knows the
// other.
const secretLen = 32

// secrets are what the one that calls says first, and what it is answered.
type secrets struct{ call, answer [secretLen]byte }

// lead listens, tells rank peer where and with which secrets over the tree, and
// measures over the connection that comes.
func lead(world *client.Comm, tag, peer int) ([]measure.Sample, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv(addressVariable), "0"))
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	var s secrets
	_, _ = rand.Read(s.call[:]) // it cannot fail
	_, _ = rand.Read(s.answer[:])
	note := append(append(s.call[:], s.answer[:]...), listener.Addr().String()...)
	if err := world.Send(peer, tag, note); err != nil {
		return nil, err
	}
	conn, err := accept(listener.(*net.TCPListener), s, time.Now().Add(connectTimeout))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return measureBoth(conn)
}

// accept returns the connection that knows the secret; others are closed. Then
// nobody listens any more.
func accept(listener *net.TCPListener, s secrets, deadline time.Time) (net.Conn, error) {
	defer func() { _ = listener.Close() }()
	if err := listener.SetDeadline(deadline); err != nil {
		return nil, err
	}
	for {
		conn, err := listener.Accept()
		if err != nil {
			return nil, fmt.Errorf("nobody called at %s: %w; a firewall between the hosts may be why", listener.Addr(), err)
		}
		// A stranger that says nothing holds the others up for a moment only.
		limit := time.Now().Add(connectTimeout / 10)
		if limit.After(deadline) {
			limit = deadline
		}
		if err = conn.SetDeadline(limit); err == nil {
			err = expect(conn, s.call)
		}
		if err != nil {
			conn.Close()
			continue
		}
		if _, err = conn.Write(s.answer[:]); err == nil {
			err = conn.SetDeadline(time.Now().Add(measureTimeout))
		}
		if err != nil {
			conn.Close()
			return nil, err
		}
		return conn, nil
	}
}

// follow calls rank peer where it says, and answers what it measures.
func follow(world *client.Comm, tag, peer int) error {
	note := make([]byte, 2*secretLen+256)
	m, err := world.Recv(peer, tag, note)
	if err != nil {
		return err
	}
	if m.Size <= 2*secretLen {
		return fmt.Errorf("rank %d sent %d bytes, no secrets and address", peer, m.Size)
	}
	var s secrets
	copy(s.call[:], note)
	copy(s.answer[:], note[secretLen:])
	conn, err := call(string(note[2*secretLen:m.Size]), s)
	if err != nil {
		return err
	}
	defer conn.Close()
	return answerBoth(conn)
}

// call connects to addr, and has the other prove who it is.
func call(addr string, s secrets) (net.Conn, error) {
	conn, err := net.DialTimeout("tcp", addr, connectTimeout)
	if err != nil {
		return nil, err
	}
	err = conn.SetDeadline(time.Now().Add(connectTimeout))
	if err == nil {
		_, err = conn.Write(s.call[:])
	}
	if err == nil {
		err = expect(conn, s.answer)
	}
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(measureTimeout))
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	return conn, nil
}

// errStranger is for who does not know the secret.
var errStranger = errors.New("who is there does not know the job's secret")

// expect reads a secret.
func expect(r io.Reader, want [secretLen]byte) error {
	var got [secretLen]byte
	if _, err := io.ReadFull(r, got[:]); err != nil {
		return err
	}
	if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
		return errStranger
	}
	return nil
}
