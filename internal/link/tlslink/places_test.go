package tlslink

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// hangUp is a connection that was closed or not.
type hangUp struct {
	net.Conn
	closed bool
}

func (h *hangUp) Close() error {
	h.closed = true
	return nil
}

func caller(host string, port int) *peer {
	return &peer{addr: netip.AddrPortFrom(netip.MustParseAddr(host), uint16(port)), conn: &hangUp{}, turn: make(chan struct{})}
}

// Every caller finds a place, in spite of others; the peer that goes for it is chosen
// as follows.
func TestWhoGoes(t *testing.T) {
	const flood, gateway, host, other = "10.9.9.9", "10.8.8.8", "10.0.0.1", "10.0.0.2"
	type group struct {
		from  string
		n     int
		spoke bool
	}
	for name, x := range map[string]struct {
		in   []group
		want string // from whom the one comes that goes
		port int    // its number in its group
	}{
		"the oldest":                                 {[]group{{flood, 16, false}}, flood, 0},
		"of the address with most silent ones":       {[]group{{host, 1, false}, {flood, 15, false}}, flood, 0},
		"even if it is expected":                     {[]group{{gateway, 1, false}, {host, 15, false}}, host, 0},
		"of one that nobody expects, below a share":  {[]group{{host, 4, false}, {other, 4, false}, {gateway, 4, true}, {flood, 4, false}}, flood, 0},
		"not of one that has many but is proving":    {[]group{{gateway, 11, true}, {flood, 5, false}}, flood, 0},
		"of those who say something if all do":       {[]group{{host, 8, true}, {flood, 8, true}}, flood, 0},
		"not of an expected one, if others say less": {[]group{{flood, 1, true}, {host, 4, true}, {other, 11, true}}, flood, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlaces(16)
			p.expect(netip.MustParseAddr("::ffff:" + host))
			p.expect(netip.MustParseAddr(other))
			for _, g := range x.in {
				for i := range g.n {
					c := caller(g.from, i)
					require.Nil(t, p.enter(c))
					if g.spoke {
						p.speaks(c)
					}
				}
			}
			gone := p.victim()
			require.Equal(t, fmt.Sprintf("%s:%d", x.want, x.port), gone.addr.String())
			next := caller(host, 1000)
			require.Same(t, gone, p.enter(next))
			require.ErrorIs(t, gone.why, errCrowded)
			require.True(t, gone.conn.(*hangUp).closed)
			require.Nil(t, next.why)
		})
	}
}

// However they come, speak and go, there are never more than may be, and whoever was sent
// away is told.
func TestPlacesAreCounted(t *testing.T) {
	const most = 12
	random := rand.New(rand.NewPCG(1, 2))
	p := newPlaces(most)
	var in []*peer
	for step := range 20000 {
		switch random.IntN(4) {
		case 0, 1:
			c := caller(fmt.Sprintf("10.0.0.%d", random.IntN(5)), step)
			require.Equal(t, len(in) == most, p.enter(c) != nil)
			in = append(in, c)
		case 2:
			if len(in) > 0 {
				p.speaks(in[random.IntN(len(in))])
			}
		case 3:
			if len(in) > 0 {
				p.leave(in[random.IntN(len(in))])
			}
		}
		var left []*peer
		silent := 0
		for _, c := range in {
			s := p.sources[c.addr.Addr()]
			if s == nil || !contains(s.peers, c) {
				require.Equal(t, c.why != nil, c.conn.(*hangUp).closed)
				continue
			}
			left = append(left, c)
			if !c.spoke {
				silent++
			}
		}
		in = left
		counted := 0
		for _, s := range p.sources {
			counted += s.silent
		}
		require.Len(t, in, p.taken)
		require.Equal(t, silent, counted)
	}
}

func contains(all []*peer, x *peer) bool {
	for _, p := range all {
		if p == x {
			return true
		}
	}
	return false
}

// A source of most refusals is known whatever others there are.
func TestCrowd(t *testing.T) {
	c := crowd{}
	for i := range 10000 {
		c.add("flood")
		if i%2 == 0 {
			c.add(fmt.Sprint("other ", i))
		}
		require.LessOrEqual(t, len(c), mostSources)
	}
	from, n := c.most()
	require.Equal(t, "flood", from)
	require.InDelta(t, 10000, n, 15000/mostSources)
}
