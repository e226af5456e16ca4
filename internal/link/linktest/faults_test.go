package linktest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/linktest"
	"github.com/golaunch/golaunch/internal/link/memlink"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Decorators that break nothing change nothing.
func TestConformanceOfDecorators(t *testing.T) {
	linktest.Run(t, func(testing.TB) (link.Link, link.Link) {
		a, b := memlink.Pair()
		return linktest.WithTrace(a, func(linktest.Event) {}), linktest.WithFaults(b, linktest.Faults{})
	})
}

func TestDropAt(t *testing.T) {
	a, b := memlink.Pair()
	a = linktest.WithFaults(a, linktest.Faults{DropAt: 3})
	require.NoError(t, a.Send(link.KVS, []byte("1")))
	require.NoError(t, a.Send(link.Data, []byte("2")))
	err := a.Send(link.KVS, []byte("3"))
	require.ErrorIs(t, err, link.ErrLost)
	require.ErrorIs(t, err, linktest.ErrInjected)
	require.EqualError(t, err, "link lost: injected fault at frame 3")
	require.ErrorIs(t, a.Send(link.KVS, nil), link.ErrLost, "and stays lost")
	_, err = a.Recv(link.Data)
	require.ErrorIs(t, err, link.ErrLost)

	f, err := b.Recv(link.KVS)
	require.NoError(t, err)
	require.Equal(t, "1", string(f))
	_, err = b.Recv(link.KVS)
	require.ErrorIs(t, err, link.ErrLost)

	require.NoError(t, a.Close())
	require.ErrorIs(t, a.Send(link.KVS, nil), link.ErrClosed)
}

func TestDropAtEnd(t *testing.T) {
	a, b := memlink.Pair()
	a = linktest.WithFaults(a, linktest.Faults{DropAtEnd: true})
	require.NoError(t, a.Send(link.Stdio, []byte("all but the end")))
	require.ErrorIs(t, a.End(context.Background()), link.ErrLost)
	_, err := b.Recv(link.Stdio)
	require.NoError(t, err)
	_, err = b.Recv(link.Stdio)
	require.ErrorIs(t, err, link.ErrLost)
}

func TestFailSend(t *testing.T) {
	full := errors.New("no room")
	a, b := memlink.Pair()
	a = linktest.WithFaults(a, linktest.Faults{FailSend: func(s link.Stream, n int) error {
		if s == link.Stdio && n == 2 {
			return full
		}
		return nil
	}})
	require.NoError(t, a.Send(link.Stdio, []byte("1")))
	require.NoError(t, a.Send(link.Data, []byte("other")))
	require.ErrorIs(t, a.Send(link.Stdio, []byte("2")), full)
	require.NoError(t, a.Send(link.Stdio, []byte("3")))
	for _, want := range []string{"1", "3"} {
		f, err := b.Recv(link.Stdio)
		require.NoError(t, err)
		require.Equal(t, want, string(f))
	}
}

func TestDelays(t *testing.T) {
	release := make(chan struct{})
	var order []string
	a, b := memlink.Pair()
	a = linktest.WithFaults(a, linktest.Faults{BeforeSend: func(s link.Stream, _ int) {
		if s == link.KVS {
			<-release
		}
	}})
	b = linktest.WithFaults(b, linktest.Faults{AfterRecv: func(s link.Stream, n int) {
		order = append(order, []string{"control", "kvs"}[s])
		require.Equal(t, 1, n)
	}})
	var wg sync.WaitGroup
	wg.Go(func() { _ = a.Send(link.KVS, nil) })
	require.NoError(t, a.Send(link.Control, nil))
	_, err := b.Recv(link.Control)
	require.NoError(t, err)
	close(release)
	_, err = b.Recv(link.KVS)
	require.NoError(t, err)
	wg.Wait()
	require.Equal(t, []string{"control", "kvs"}, order)
}

func TestTrace(t *testing.T) {
	var log []string
	a, b := memlink.Pair()
	a = linktest.WithTrace(a, func(e linktest.Event) { log = append(log, e.String()) })
	require.NoError(t, a.Send(link.Data, []byte("hello")))
	require.NoError(t, b.Close())
	_, err := a.Recv(link.Control)
	require.Error(t, err)
	require.Error(t, a.End(context.Background()))
	require.NoError(t, a.Close())
	require.Equal(t, []string{
		fmt.Sprintf("send %v: 5 bytes", link.Data),
		fmt.Sprintf("recv %v: 0 bytes: link lost: the peer closed it without END", link.Control),
		"end: link lost: the peer closed it without END",
		"close",
	}, log)
}

func TestFaultConn(t *testing.T) {
	open := func(f linktest.ConnFaults) (*linktest.FaultConn, chan string) {
		near, far := net.Pipe()
		arrived := make(chan string, 1)
		go func() {
			b, _ := io.ReadAll(far)
			arrived <- string(b)
		}()
		return linktest.NewFaultConn(near, f), arrived
	}
	write := func(c *linktest.FaultConn, parts ...string) (err error) {
		for _, p := range parts {
			if _, err = c.Write([]byte(p)); err != nil {
				return err
			}
		}
		return nil
	}
	t.Run("cut", func(t *testing.T) {
		c, arrived := open(linktest.ConnFaults{CutAt: 5})
		require.ErrorIs(t, write(c, "abc", "def"), linktest.ErrInjected)
		require.Equal(t, "abcd", <-arrived)
		require.Error(t, write(c, "g"), "closed")
		require.Equal(t, 4, c.Written())
	})
	t.Run("garble", func(t *testing.T) {
		c, arrived := open(linktest.ConnFaults{GarbleAt: 4})
		require.NoError(t, write(c, "abc", "def"))
		require.NoError(t, c.Close())
		require.Equal(t, "abc\x9bef", <-arrived)
	})
	t.Run("stall", func(t *testing.T) {
		c, arrived := open(linktest.ConnFaults{StallAt: 2})
		result := make(chan error, 1)
		go func() { result <- write(c, "abc") }()
		require.NoError(t, c.Close())
		require.Error(t, <-result)
		require.Subset(t, []string{"", "a"}, []string{<-arrived})
	})
}
