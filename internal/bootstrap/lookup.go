package bootstrap

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// lookups is the number of names that are resolved at a time: enough to hide a slow
	// server, too few to trouble it.
	lookups = 32
	// LookUpTimeout is the time for all host names of a job. A name that takes
	// longer is left to the node that dials it.
	LookUpTimeout = 5 * time.Second
)

// Question is a name to resolve.
type Question struct {
	Network string // "ip", "ip4" or "ip6"
	Name    string
}

// LookUpFunc is net.Resolver's LookupNetIP.
type LookUpFunc func(ctx context.Context, network, host string) ([]netip.Addr, error)

// NearEnd returns the address of this machine on the route to an address, which is not
// called.
func NearEnd(to string) (netip.Addr, error) {
	// Connecting a UDP socket sends nothing; it only picks a route.
	c, err := net.Dial("udp", net.JoinHostPort(to, "9"))
	if err != nil {
		return netip.Addr{}, err
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap().WithZone(""), nil
}

// LookUp resolves names, each once; "" is the answer of one that does not resolve. Of
// addresses of both families the IPv4 one is taken: half-configured IPv6 is common in
// clusters. The only error is that of ctx; the answers that there are come with it.
func LookUp(ctx context.Context, questions []Question, lookup LookUpFunc) ([]string, error) {
	indices := make(map[Question][]int) // many may ask the same
	for i, q := range questions {
		if q.Name != "" {
			indices[q] = append(indices[q], i)
		}
	}
	answers := make([]string, len(questions))
	var g errgroup.Group
	g.SetLimit(lookups)
	for q, at := range indices {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			addrs, err := lookup(ctx, q.Network, q.Name)
			if err != nil || len(addrs) == 0 {
				return ctx.Err()
			}
			best := addrs[0].Unmap()
			if i := slices.IndexFunc(addrs, func(a netip.Addr) bool { return a.Unmap().Is4() }); i >= 0 {
				best = addrs[i].Unmap()
			}
			for _, i := range at {
				answers[i] = best.String()
			}
			return nil
		})
	}
	return answers, g.Wait()
}
