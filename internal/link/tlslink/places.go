package tlslink

import (
	"net"
	"net/netip"
	"slices"
	"time"
)

// peer is a connection that has not been proved yet.
type peer struct {
	addr  netip.AddrPort
	conn  net.Conn
	spoke bool  // it has sent something
	why   error // it was sent away; nil if it was not

	turn  chan struct{} // closed when it has a hand
	began time.Time     // since then
}

// source returns the address that it calls from.
func (x *peer) source() netip.Addr { return x.addr.Addr().Unmap() }

// places are those of connections that have not been proved. There are always some for
// callers: peers without a proof go.
type places struct {
	max      int
	taken    int
	sources  map[netip.Addr]*source
	expected map[netip.Addr]bool
}

// source is an address from which connections came.
type source struct {
	addr   netip.Addr
	peers  []*peer // the oldest first; not empty
	silent int     // of them, have said nothing yet
}

func newPlaces(most int) *places {
	return &places{max: most, sources: map[netip.Addr]*source{}, expected: map[netip.Addr]bool{}}
}

// expect has peers of an address go last.
func (p *places) expect(a netip.Addr) { p.expected[a.Unmap()] = true }

// enter gives a peer a place, and returns who had to go for that; nil if nobody had.
func (p *places) enter(x *peer) (gone *peer) {
	if p.taken >= p.max {
		gone = p.victim()
		gone.why = errCrowded
		_ = gone.conn.Close()
		p.leave(gone)
	}
	a := x.source()
	s := p.sources[a]
	if s == nil {
		s = &source{addr: a}
		p.sources[a] = s
	}
	s.peers = append(s.peers, x)
	s.silent++
	p.taken++
	return gone
}

// leave takes a peer's place away, if it has one.
func (p *places) leave(x *peer) {
	a := x.source()
	s := p.sources[a]
	if s == nil {
		return
	}
	at := slices.Index(s.peers, x)
	if at < 0 {
		return
	}
	s.peers = slices.Delete(s.peers, at, at+1)
	p.taken--
	if !x.spoke {
		s.silent--
	}
	if len(s.peers) == 0 {
		delete(p.sources, a)
	}
}

// speaks notes that a peer has said something.
func (p *places) speaks(x *peer) {
	if s := p.sources[x.source()]; s != nil && !x.spoke && slices.Contains(s.peers, x) {
		x.spoke = true
		s.silent--
	}
}

// victim returns the peer that goes when there is no place: of an address that has more
// than its share, a quarter of all places, with peers that have said nothing yet; of
// one from which no peer is expected; of the one that has most of these, or most at
// all. There it is the oldest that has said nothing, or the oldest.
func (p *places) victim() *peer {
	var worst *source
	for _, s := range p.sources {
		if worst == nil || p.worse(s, worst) {
			worst = s
		}
	}
	if at := slices.IndexFunc(worst.peers, func(x *peer) bool { return !x.spoke }); at >= 0 {
		return worst.peers[at]
	}
	return worst.peers[0]
}

func (p *places) worse(a, b *source) bool {
	if x, y := p.isCrowded(a), p.isCrowded(b); x != y {
		return x
	}
	if x, y := p.expected[a.addr], p.expected[b.addr]; x != y {
		return !x
	}
	if a.silent != b.silent {
		return a.silent > b.silent
	}
	return len(a.peers) > len(b.peers)
}

func (p *places) isCrowded(s *source) bool { return s.silent > p.max/4 }

// clear sends everybody away.
func (p *places) clear() {
	for _, s := range p.sources {
		for _, x := range s.peers {
			_ = x.conn.Close()
		}
	}
}

// crowd counts where refused connections came from, by Misra and Gries: of those that are more
// than one in mostSources of all, the count is at most as many too low.
type crowd map[string]int

const mostSources = 64

func (c crowd) add(from string) {
	if _, known := c[from]; known || len(c) < mostSources {
		c[from]++
		return
	}
	for k := range c {
		if c[k]--; c[k] == 0 {
			delete(c, k)
		}
	}
}

// most is from where most came, and how many.
func (c crowd) most() (from string, n int) {
	for k, count := range c {
		if count > n || count == n && k < from {
			from, n = k, count
		}
	}
	return from, n
}
