package yamuxlink_test

import (
	"io"
	"math"
	"runtime"
	"testing"

	"github.com/hashicorp/yamux"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/yamuxlink"
)

// echo sends back every frame of s until the link is down.
func echo(l link.Link, s link.Stream) {
	for {
		f, err := l.Recv(s)
		if err != nil || l.Send(s, f) != nil {
			return
		}
	}
}

func benchPingPong(b *testing.B, s link.Stream) {
	near, far := socketpair(b)
	p, c := connect(b, near, far, 0)
	defer p.Close()
	defer c.Close()
	go echo(c, s)
	frame := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Send(s, frame); err != nil {
			b.Fatal(err)
		}
		if _, err := p.Recv(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkPingPong64(b *testing.B) {
	b.Run("data", func(b *testing.B) { benchPingPong(b, link.Data) })
	b.Run("control", func(b *testing.B) { benchPingPong(b, link.Control) })
	b.Run("yamux alone", func(b *testing.B) {
		near, far := rawStreams(b)
		go io.Copy(far, far)
		buf := make([]byte, 64)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := near.Write(buf); err != nil {
				b.Fatal(err)
			}
			if _, err := io.ReadFull(near, buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkThroughput64K(b *testing.B) {
	const size = 64 << 10
	b.Run("data", func(b *testing.B) {
		near, far := socketpair(b)
		p, c := connect(b, near, far, 0)
		defer p.Close()
		defer c.Close()
		go func() {
			frame := make([]byte, size)
			for p.Send(link.Data, frame) == nil {
			}
		}()
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := c.Recv(link.Data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("yamux alone", func(b *testing.B) {
		near, far := rawStreams(b)
		go func() {
			buf := make([]byte, size)
			for {
				if _, err := near.Write(buf); err != nil {
					return
				}
			}
		}()
		buf := make([]byte, size)
		b.SetBytes(size)
		for b.Loop() {
			if _, err := io.ReadFull(far, buf); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// rawStreams returns the two ends of one stream of a bare yamux session with
// the link's window.
func rawStreams(b *testing.B) (near, far io.ReadWriteCloser) {
	cfg := yamux.DefaultConfig()
	cfg.EnableKeepAlive, cfg.StreamOpenTimeout, cfg.LogOutput = false, 0, io.Discard
	cfg.MaxStreamWindowSize, cfg.ConnectionWriteTimeout = 1<<20, math.MaxInt64
	nearConn, farConn := socketpair(b)
	client, err := yamux.Client(nearConn, cfg)
	require.NoError(b, err)
	server, err := yamux.Server(farConn, cfg)
	require.NoError(b, err)
	b.Cleanup(func() { _, _ = client.Close(), server.Close() })
	near, err = client.Open()
	require.NoError(b, err)
	far, err = server.Accept()
	require.NoError(b, err)
	return near, far
}

// BenchmarkIdle reports what one side of an idle link costs, all of whose streams
// were used. The goroutines that an agent has waiting in Recv are its own.
func BenchmarkIdle(b *testing.B) {
	const pairs = 200
	for b.Loop() {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		goroutines := runtime.NumGoroutine()
		var links []*yamuxlink.Link
		for range pairs {
			near, far := socketpair(b)
			p, c := connect(b, near, far, 0)
			links = append(links, p, c)
			for s := range link.NumStreams { // every stream has carried a frame
				require.NoError(b, p.Send(s, []byte("x")))
				_, err := c.Recv(s)
				require.NoError(b, err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapInuse+after.StackInuse-before.HeapInuse-before.StackInuse)/(2*pairs), "B/side")
		b.ReportMetric(float64(runtime.NumGoroutine()-goroutines)/(2*pairs), "goroutines/side")
		for _, l := range links {
			require.NoError(b, l.Close())
		}
	}
}
