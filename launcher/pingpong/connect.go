package pingpong

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/golaunch/golaunch/client"
	"github.com/golaunch/golaunch/network/topology/measure"
)

// addressVariable has an address of this host for use beyond it, mostly the one that
// reached it: golaunch tells it to each rank.
const addressVariable = "PMI_HOSTNAME"

// connectTimeout bounds the time for two ranks to find each other.
const connectTimeout = 20 * time.Second

// measureTimeout bounds the measurement of a pair.
const measureTimeout = 5 * time.Minute

// secretLen is the length of the random bytes that prove two ranks to each other.
const secretLen = 32

// secrets are the caller's first bytes, and the answer to them.
type secrets struct{ call, answer [secretLen]byte }

// lead listens, sends rank peer the address and the secrets over the tree, and measures
// over the connection that comes.
func lead(ctx context.Context, world *client.Comm, tag, peer int) ([]measure.Sample, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv(addressVariable), "0"))
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	var s secrets
	_, _ = rand.Read(s.call[:]) // it cannot fail
	_, _ = rand.Read(s.answer[:])
	here := machine()
	note := slices.Concat(s.call[:], s.answer[:], here[:], []byte(listener.Addr().String()))
	if err := client.Send(ctx, world, peer, tag, note); err != nil {
		return nil, err
	}
	conn, err := accept(listener.(*net.TCPListener), s, time.Now().Add(connectTimeout))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return measureBoth(conn)
}

// maxCallers bounds callers that have not yet said the secret.
const maxCallers = 64

// accept returns the connection that knows the secret; others are closed. Then
// nobody listens any more. A stranger that says nothing holds nobody up: callers are
// heard at once.
func accept(listener *net.TCPListener, s secrets, deadline time.Time) (net.Conn, error) {
	defer func() { _ = listener.Close() }()
	if err := listener.SetDeadline(deadline); err != nil {
		return nil, err
	}
	ctx, over := context.WithCancel(context.Background())
	defer over()
	known := make(chan net.Conn, 1)
	places := make(chan struct{}, maxCallers)
	var callers sync.WaitGroup
	for {
		conn, err := listener.Accept()
		if err != nil {
			over()
			callers.Wait()
			select {
			case conn := <-known:
				return conn, nil
			default:
				return nil, fmt.Errorf("nobody called at %s: %w; a firewall between the hosts may be why", listener.Addr(), err)
			}
		}
		places <- struct{}{}
		callers.Go(func() {
			defer func() { <-places }()
			if err := admit(ctx, conn, s, deadline); err != nil {
				conn.Close()
				return
			}
			select {
			case known <- conn:
				_ = listener.Close()
			default: // one who knows the secret was there before
				conn.Close()
			}
		})
	}
}

// admit hears whether a caller knows the secret, and says its own. It gives up when
// ctx is done.
func admit(ctx context.Context, conn net.Conn, s secrets, deadline time.Time) error {
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	limit := time.Now().Add(connectTimeout / 10)
	if limit.After(deadline) {
		limit = deadline
	}
	err := conn.SetDeadline(limit)
	if err == nil {
		err = expect(conn, s.call)
	}
	if err == nil {
		_, err = conn.Write(s.answer[:])
	}
	if err == nil {
		err = conn.SetDeadline(time.Now().Add(measureTimeout))
	}
	if err == nil && !stop() {
		err = ctx.Err()
	}
	return err
}

// A note of lead: the secrets and the machine come before the address, which has at
// most so many bytes.
const (
	beforeAddress = 2*secretLen + sha256.Size
	maxAddress    = 256
)

// follow calls rank peer at the address of its note, and is the other side of its
// measurements.
func follow(ctx context.Context, world *client.Comm, tag, peer int, hosts [2]string) error {
	note, _, err := client.RecvAlloc[byte](ctx, world, peer, tag)
	if err != nil {
		return err
	}
	if len(note) <= beforeAddress || len(note) > beforeAddress+maxAddress {
		return fmt.Errorf("%s sent %d bytes, no secrets and address", hosts[0], len(note))
	}
	var s secrets
	copy(s.call[:], note)
	copy(s.answer[:], note[secretLen:])
	addr := string(note[beforeAddress:])
	if err := reachable(addr, [sha256.Size]byte(note[2*secretLen:]) == machine(), hosts); err != nil {
		return err
	}
	conn, err := call(addr, s)
	if err != nil {
		return err
	}
	defer conn.Close()
	return answerBoth(conn)
}

// reachable refuses an address of the first host that leads nowhere from the second.
func reachable(addr string, sameMachine bool, hosts [2]string) error {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return fmt.Errorf("%s says that it listens at %q: %w", hosts[0], addr, err)
	}
	if ip := at.Addr().Unmap(); ip.IsUnspecified() || ip.IsLoopback() && !sameMachine {
		return fmt.Errorf("%s has the address %s, which %s cannot reach; name the hosts by addresses at which they reach each other, or mend what the name of %s resolves to on it",
			hosts[0], ip, hosts[1], hosts[0])
	}
	return nil
}

// machine identifies the loopback interface of this process: a hash of the running
// kernel's identity and the network namespace. All that cannot tell are the same.
func machine() [sha256.Size]byte {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, _ := os.Readlink("/proc/self/ns/net")
	return sha256.Sum256(append(boot, namespace...))
}

// call connects to addr, and has the other end prove itself.
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

// errStranger is the error of an end that does not know the secret.
var errStranger = errors.New("the other end does not know the job's secret")

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
