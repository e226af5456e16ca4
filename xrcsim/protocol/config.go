package protocol

import (
	"fmt"
	"time"

	"github.com/golaunch/golaunch/xrcsim"
)

// Config configures a World.
type Config struct {
	Nodes int
	// Transport is RC, XRC, UD or Hybrid; DC has no connections to simulate.
	Transport xrcsim.Transport
	Inside    xrcsim.Inside
	Connect   xrcsim.Connect
	Seed      uint64

	// Loss, Duplicate and Reorder are the chances that a datagram gets lost, arrives
	// twice, or arrives late. Only datagrams do that: the adapter repeats packets that
	// a connection loses.
	Loss, Duplicate, Reorder float64

	Costs
}

// Costs are times, rates and sizes.
type Costs struct {
	Post     time.Duration // that a process takes to post a send
	Indirect time.Duration // that it takes besides where it has to look for the connection
	Latency  time.Duration // from adapter to adapter
	Memory   time.Duration // of a message through shared memory
	Receive  time.Duration // until a receive buffer is posted again
	NotReady time.Duration // until an adapter that found no receive buffer is tried again
	Timeout  time.Duration // until a datagram that was not answered is sent again
	Rate     int64         // of an adapter, in bytes per second
	MTU      int           // the most bytes of a datagram
	Depth    int           // sends of a queue pair that are not acknowledged
	Coalesce int           // bytes of waiting messages that are sent as one; 0 is none
	Buffers  int           // of a process's shared receive queue
	First    int           // messages of a pair that hybrid sends as datagrams
}

// DefaultCosts returns those of an adapter of 2009, with these sources:
//
//   - Latency, Rate, MTU: of the order of a ConnectX DDR adapter's.
//   - Post, Indirect, Memory, Receive: small beside it. [Sridhar, figure 4.5] shows
//     that an indirect send is a little slower than a direct one, in a picture
//     without figures.
//   - NotReady: 655.36 ms at most by the InfiniBand specification, 40 µs here.
//   - Timeout: 500 ms, MV2_CM_TIMEOUT of MVAPICH2.
//   - Depth: 64, MV2_DEFAULT_MAX_SEND_WQE of MVAPICH2.
//   - Buffers: as xrcsim.Default has them.
//   - First: sixteen [Sridhar 4.2.1].
func DefaultCosts() Costs {
	return Costs{
		Post: 300, Indirect: 50, Latency: 1200, Memory: 500, Receive: 500,
		NotReady: 40 * time.Microsecond, Timeout: 500 * time.Millisecond,
		Rate: 1_500_000_000, MTU: 2048, Depth: 64, Buffers: xrcsim.Default().Buffers, First: 16,
	}
}

// maxChance is the most that a chance may be, so that every message arrives in time.
const maxChance = 0.9

// maxTime bounds the time of a single step: sums of such times stay within a Duration.
const maxTime = time.Hour

func (c *Config) check() error {
	switch c.Transport {
	case xrcsim.RC, xrcsim.XRC, xrcsim.UD, xrcsim.Hybrid:
	default:
		return fmt.Errorf("transport %q: expected rc, xrc, ud or hybrid", c.Transport)
	}
	for _, p := range []float64{c.Loss, c.Duplicate, c.Reorder} {
		if !(p >= 0 && p <= maxChance) {
			return fmt.Errorf("chance %v: expected 0 to %v", p, maxChance)
		}
	}
	if c.Nodes < 1 {
		return fmt.Errorf("%d nodes: expected 1 or more", c.Nodes)
	}
	if min(c.Rate, int64(c.MTU), int64(c.Depth), int64(c.Buffers)) < 1 {
		return fmt.Errorf("rate %d, MTU %d, depth %d, %d buffers: expected 1 or more of each", c.Rate, c.MTU, c.Depth, c.Buffers)
	}
	for _, d := range []time.Duration{c.Post, c.Indirect, c.Latency, c.Memory, c.Receive} {
		if d < 0 || d > maxTime {
			return fmt.Errorf("a time of %v: expected 0 to %v", d, maxTime)
		}
	}
	if c.Coalesce < 0 || c.First < 0 {
		return fmt.Errorf("%d bytes are coalesced, %d messages come first: expected 0 or more", c.Coalesce, c.First)
	}
	if c.Timeout <= 0 || c.NotReady <= 0 {
		return fmt.Errorf("timeout %v, not ready %v: expected more than 0", c.Timeout, c.NotReady)
	}
	return nil
}
