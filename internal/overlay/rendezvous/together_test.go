package rendezvous

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/link/tlslink"
)

// Agents that are to be together are given to nobody before each host has called or
// failed, and those that hang up until then may call again.
func TestTogether(t *testing.T) {
	secret := tlslink.NewSecret()
	r, err := Listen(t.Context(), Config{Secret: secret, Addr: "127.0.0.1:0", Hosts: []string{"a", "b", "c"}, Together: true, Log: func(line string) { t.Log(line) }})
	require.NoError(t, err)
	p := &place{Rendezvous: r, secret: secret}
	t.Cleanup(p.Close)

	ctx, hangUp := context.WithCancel(t.Context())
	first := make(chan error, 1)
	go func() { // ends with hangUp
		c := Caller{Secret: secret, Launcher: p.Addr(), Host: "a", Within: patience, Note: func(string) {}}
		_, err := c.Link(ctx)
		first <- err
	}()
	p.waits(t, "a")
	wanted := make(chan called, 1)
	go func() { // ends with the call that the test makes below
		conn, err := p.Link(t.Context(), "a")
		wanted <- called{conn, err}
	}()
	hangUp()
	require.Error(t, <-first)
	p.empty(t, "a")

	second := p.call(t, "a")
	p.waits(t, "a")
	p.Fail("c", &bootstrap.Error{Host: "c", Err: errors.New("it is dead")})
	p.waits(t, "a") // b is missing still
	select {
	case got := <-wanted:
		require.Fail(t, "a was given away", "%v", got.err)
	default:
	}
	b := p.call(t, "b")
	got, agent := <-wanted, <-second
	require.NoError(t, got.err)
	require.NoError(t, agent.err)
	linked(t, got.conn, agent.conn)

	p.waits(t, "b")
	conn, err := p.Link(t.Context(), "b")
	require.NoError(t, err)
	agent = <-b
	require.NoError(t, agent.err)
	linked(t, conn, agent.conn)
}

// A host whose agent has called, and hung up before all were together, is missing.
func TestMissingTogether(t *testing.T) {
	secret := tlslink.NewSecret()
	r, err := Listen(t.Context(), Config{Secret: secret, Addr: "127.0.0.1:0", Hosts: []string{"a", "b"}, Together: true, Log: func(string) {}})
	require.NoError(t, err)
	p := &place{Rendezvous: r, secret: secret}
	t.Cleanup(p.Close)
	ctx, hangUp := context.WithTimeout(t.Context(), time.Hour)
	done := make(chan error, 1)
	go func() { // ends with hangUp
		c := Caller{Secret: secret, Launcher: p.Addr(), Host: "a", Within: patience, Note: func(string) {}}
		_, err := c.Link(ctx)
		done <- err
	}()
	p.waits(t, "a")
	hangUp()
	require.Error(t, <-done)
	p.empty(t, "a")
	b := p.call(t, "b")
	p.waits(t, "b")
	p.FailMissing(func(host string) *bootstrap.Error { return &bootstrap.Error{Host: host, Err: errors.New("missing")} })
	require.ErrorContains(t, p.Failed("a").Err, "missing")
	require.Nil(t, p.Failed("b"))
	conn, err := p.Link(t.Context(), "b")
	require.NoError(t, err)
	agent := <-b
	require.NoError(t, agent.err)
	linked(t, conn, agent.conn)
}
