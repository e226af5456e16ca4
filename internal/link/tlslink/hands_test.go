package tlslink

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An address that nobody expects has a quarter of all hands at most; one that some are expected
// from leaves others a quarter; and a free hand goes to who has fewest.
func TestHandsAreShared(t *testing.T) {
	const stranger, host, other = "10.9.9.9", "10.0.0.1", "10.0.0.2"
	now := time.Now()
	h := newHands(map[netip.Addr]bool{netip.MustParseAddr(host): true})
	come := func(from string, n int) (all []*peer) {
		for i := range n {
			all = append(all, caller(from, i))
			h.wait(all[i])
		}
		h.turn(now)
		return all
	}
	served := func(all []*peer) (n int) {
		for _, x := range all {
			select {
			case <-x.turn:
				n++
			default:
			}
		}
		return n
	}
	hosts, strangers := come(host, 2*handshakes), come(stranger, handshakes)
	require.Equal(t, handshakes*3/4, served(hosts))
	require.Equal(t, handshakes/4, served(strangers))
	others := come(other, 1)
	require.Zero(t, served(others), "all hands are taken")
	require.Empty(t, h.slow(now))
	require.Equal(t, strangers[:handshakes/4], h.slow(now.Add(crowdedPatience)), "others wait, and these nobody expects")

	h.leave(hosts[0])
	h.turn(now)
	require.Equal(t, 1, served(others), "those with fewest come first")
	sent := strangers[handshakes-1]
	h.leave(sent)
	require.Equal(t, 1, served([]*peer{sent}), "who was sent away waits no longer")
	for _, all := range [][]*peer{hosts, strangers, others} {
		for _, x := range all {
			h.leave(x)
			h.leave(x)
		}
	}
	require.Empty(t, h.taken)
	require.Empty(t, h.lines)
	require.Zero(t, h.order.Len())
	slow := come(stranger, 1)
	require.Empty(t, h.slow(now.Add(time.Hour)), "nobody waits")
	require.Equal(t, 1, served(slow))
}
