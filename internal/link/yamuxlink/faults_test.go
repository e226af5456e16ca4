package yamuxlink_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/linktest"
)

// outcome is one side's view of a conversation.
type outcome struct {
	got [link.NumStreams][]string
	err [link.NumStreams]error // why each stream stopped
	end error                  // of End
}

// said lists the frames that either side sends on each stream, END behind them.
var said = []string{"", "one", "and a longer one"}

// converse lets both sides of l say what they have to say, end and close.
func converse(ctx context.Context, sides [2]link.Link) [2]outcome {
	var out [2]outcome
	var wg sync.WaitGroup
	for i, l := range sides {
		o := &out[i]
		for s := range link.NumStreams {
			wg.Go(func() {
				for {
					f, err := l.Recv(s)
					if err != nil {
						o.err[s] = err
						return
					}
					o.got[s] = append(o.got[s], string(f))
				}
			})
		}
		wg.Go(func() {
			for _, text := range said {
				for s := range link.NumStreams {
					if o.end = l.Send(s, []byte(text)); o.end != nil {
						return
					}
				}
			}
			o.end = l.End(ctx)
		})
	}
	stop := context.AfterFunc(ctx, func() { // a conversation that went astray
		for _, l := range sides {
			_ = l.Close()
		}
	})
	wg.Wait()
	stop()
	for _, l := range sides {
		wg.Go(func() { _ = l.Close() })
	}
	wg.Wait()
	return out
}

// requireHonest checks that each side saw a clean end or a loss, and nothing
// made up: no reordering, no silent truncation.
func requireHonest(t *testing.T, out [2]outcome) (clean bool) {
	t.Helper()
	clean = true
	for i, o := range out {
		for s := range link.NumStreams {
			require.LessOrEqual(t, len(o.got[s]), len(said))
			require.Equal(t, said[:len(o.got[s])], append([]string{}, o.got[s]...), "side %d stream %d", i, s)
			if o.err[s] == io.EOF {
				require.Len(t, o.got[s], len(said), "side %d stream %d: truncated, but it looks complete", i, s)
				continue
			}
			clean = false
			require.ErrorIs(t, o.err[s], link.ErrLost, "side %d stream %d", i, s)
		}
		if o.end != nil {
			clean = false
			require.ErrorIs(t, o.end, link.ErrLost)
			continue
		}
		for s, err := range out[1-i].err {
			require.Equal(t, io.EOF, err, "side %d was told that all was received, but not stream %d", i, s)
		}
	}
	return clean
}

// faultyPair makes a link over a socket pair, one side of which writes through
// a FaultConn.
func faultyPair(t *testing.T, faulty int, f linktest.ConnFaults, lostAfter time.Duration) ([2]link.Link, *linktest.FaultConn) {
	near, far := socketpair(t)
	conns := [2]io.ReadWriteCloser{near, far}
	fault := linktest.NewFaultConn(conns[faulty], f)
	conns[faulty] = fault
	parent, child := connect(t, conns[0], conns[1], lostAfter)
	return [2]link.Link{parent, child}, fault
}

// bytesOf returns how many bytes a side writes in an undisturbed conversation.
func bytesOf(t *testing.T, side int) int {
	sides, conn := faultyPair(t, side, linktest.ConnFaults{}, calm)
	require.True(t, requireHonest(t, converse(t.Context(), sides)))
	return conn.Written()
}

// A connection cut after any number of bytes is a loss or, when all had been
// said, a clean end.
func TestCutAnywhere(t *testing.T) {
	for side := range 2 {
		total := bytesOf(t, side)
		var lost, clean int
		for n := 1; n <= total+1; n++ {
			sides, _ := faultyPair(t, side, linktest.ConnFaults{CutAt: n}, calm)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if requireHonest(t, converse(ctx, sides)) {
				clean++
			} else {
				lost++
			}
			require.NoError(t, ctx.Err(), "hung when cut at byte %d of side %d", n, side)
			cancel()
		}
		t.Logf("side %d: %d bytes, %d cuts lost the link, %d came after the end", side, total, lost, clean)
		require.Greater(t, lost, total*8/10)
	}
}

// A connection that stalls for good is lost, on both sides.
func TestStall(t *testing.T) {
	for side := range 2 {
		total := bytesOf(t, side)
		t.Run(fmt.Sprint("side ", side), func(t *testing.T) {
			for n := 1; n < total*8/10; n += total / 6 {
				t.Run(fmt.Sprint("byte ", n), func(t *testing.T) {
					t.Parallel()
					sides, _ := faultyPair(t, side, linktest.ConnFaults{StallAt: n}, 200*time.Millisecond)
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					assert.False(t, requireHonest(t, converse(ctx, sides)))
					assert.NoError(t, ctx.Err())
				})
			}
		})
	}
}

// A wrong byte, which no byte pipe should deliver, may do anything to the
// conversation but never more than that: every call returns once the link is
// closed, and whatever arrives is legal.
func TestGarbledAnywhere(t *testing.T) {
	for side := range 2 {
		total := bytesOf(t, side)
		for n := 1; n <= total; n += 5 {
			sides, _ := faultyPair(t, side, linktest.ConnFaults{GarbleAt: n}, calm)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			for _, o := range converse(ctx, sides) {
				for s := range link.NumStreams {
					err := o.err[s]
					require.True(t, err == io.EOF || errors.Is(err, link.ErrLost) || errors.Is(err, link.ErrClosed), "byte %d: %v", n, err)
				}
			}
			cancel()
		}
	}
}
