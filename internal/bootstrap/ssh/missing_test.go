package sshboot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
)

// Connections without an answer are given up when that is sure, in time.
func TestWatch(t *testing.T) {
	const limit = 3 * time.Second
	never := time.Hour
	for _, x := range []struct {
		name   string
		from   time.Duration // when the connection counts as unanswered
		late   time.Duration // by which the clock runs ahead of the first timer
		stops  time.Duration // 0: not before the end
		answer time.Duration // when the host answers after all
	}{
		{name: "nobody answers", stops: limit, answer: never},
		{name: "the packet was not sent twice yet", from: limit + time.Millisecond, stops: limit + lookAgain, answer: never},
		{name: "this machine was away", late: time.Second, stops: limit + lookAgain, answer: never},
		{name: "a late answer", answer: limit - time.Millisecond},
		{name: "an answer while this machine was away", late: time.Second, answer: limit + time.Millisecond},
	} {
		t.Run(x.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, looks := time.Now(), 0
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				now := func() time.Time {
					if looks++; looks == 2 {
						return time.Now().Add(x.late)
					}
					return time.Now()
				}
				unanswered := func() bool {
					at := time.Since(begin)
					return at >= x.from && at < x.answer
				}
				stopped := time.Duration(0)
				watch(ctx, limit, now, unanswered, func() { stopped = time.Since(begin) })
				require.Equal(t, x.stops, stopped)
			})
		})
	}
}

// deaf returns a port whose queue of connections is full, so that the kernel drops the
// first packet of further ones. The function returned takes connections from the queue
// and closes them.
func deaf(t *testing.T) (port int, accept func()) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	f := os.NewFile(uintptr(fd), "deaf")
	defer f.Close()
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	l, err := net.FileListener(f)
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	first, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { first.Close() })
	return l.Addr().(*net.TCPAddr).Port, func() {
		if c, err := l.Accept(); err == nil {
			c.Close()
		}
	}
}

// The rule over real connections, and whom it spares.
func TestHostsThatMayBeMissing(t *testing.T) {
	const missAfter = 100 * time.Millisecond
	dir := t.TempDir()
	saveKey(t, dir+"/id", newEd25519(t))
	for _, x := range []struct {
		name    string
		timeout time.Duration // for connections; long where another rule ends the wait
		change  func(*Target)
		want    string
		absent  bootstrap.Absence
	}{
		{name: "nobody answers", timeout: time.Minute, change: func(*Target) {}, want: "no answer within 100ms", absent: bootstrap.NoAnswer},
		{name: "a timeout of its own", timeout: time.Minute, change: func(x *Target) { x.ConnectTimeout = 300 * time.Millisecond }, want: "no answer within 300ms", absent: bootstrap.Present},
		{name: "a jump host that does not answer", timeout: 2 * time.Second, change: func(x *Target) { x.Jump = []Target{*x} }, want: "jump host n0: no answer within 2s", absent: bootstrap.Present},
		{name: "no route", timeout: time.Minute, change: func(x *Target) { x.Addr = "255.255.255.255" }, want: "unreachable", absent: bootstrap.NoAnswer},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			port, _ := deaf(t)
			s := &server{port: port, hostKey: newSigner(t, "ed25519")}
			target := s.target(t, dir)
			x.change(&target)
			d := dialer(t, []Target{target}, func(cfg *DialerConfig) { cfg.MissAfter, cfg.ConnectTimeout = missAfter, x.timeout })
			_, err := d.Start(t.Context(), n0, []string{"true"})
			e := wantError(t, err, bootstrap.Connect, false, x.want)
			require.Equal(t, x.absent, e.Absent)
			require.Equal(t, len(target.Jump) == 0, e.Unreached)
		})
	}
}

// A name that does not resolve where the host is dialled is asked for elsewhere, at every
// try: the answer may come late.
func TestANameThatOthersKnow(t *testing.T) {
	dir := t.TempDir()
	saveKey(t, dir+"/id", newEd25519(t))
	s := &server{port: taken(t), hostKey: newSigner(t, "ed25519")}
	target := s.target(t, dir)
	target.Addr, target.HostName = "", "no-such-host.invalid"
	answers := []string{"", "no address", "127.0.0.1"}
	d := dialer(t, []Target{target}, func(cfg *DialerConfig) {
		cfg.LookUp = func(_ context.Context, h job.HostIndex) (string, error) {
			require.Zero(t, h)
			answer := answers[0]
			answers = answers[1:]
			if answer == "" {
				return "", errors.New("not known")
			}
			return answer, nil
		}
	})
	for _, phase := range []bootstrap.Phase{bootstrap.Resolve, bootstrap.Resolve, bootstrap.Connect} {
		_, err := d.Start(t.Context(), n0, []string{"true"})
		var e *bootstrap.Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, phase, e.Phase, "%v", err)
		require.False(t, e.Permanent)
		require.NotEmpty(t, e.Awaited)
	}
	require.Empty(t, answers)
}

// A host that answers when it is asked again is not missing.
func TestAHostThatAnswersLateIsNotMissing(t *testing.T) {
	dir := t.TempDir()
	saveKey(t, dir+"/id", newEd25519(t))
	port, accept := deaf(t)
	s := &server{port: port, hostKey: newSigner(t, "ed25519")}
	d := dialer(t, []Target{s.target(t, dir)}, func(cfg *DialerConfig) { cfg.MissAfter = 500 * time.Millisecond })
	asked := fmt.Sprintf(":%04X 02 ", port) // proc(5): sockets that wait for an answer of that port
	var hearing sync.WaitGroup
	defer hearing.Wait()
	hearing.Go(func() { // ends when the connection under test was dropped once
		for !strings.Contains(mustRead(t, "/proc/net/tcp"), asked) {
			runtime.Gosched()
		}
		accept()
		accept()
	})
	_, err := d.Start(t.Context(), n0, []string{"true"})
	e := wantError(t, err, bootstrap.Connect, false, "connection lost during the ssh handshake")
	require.Equal(t, bootstrap.Present, e.Absent)
	require.False(t, e.Unreached)
}
