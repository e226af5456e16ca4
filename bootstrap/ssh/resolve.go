package sshboot

import (
	"context"
	"net/netip"
	"slices"

	"golang.org/x/sync/errgroup"
)

// lookups is how many names are resolved at a time: enough to hide a slow
// server, too few to trouble it.
const lookups = 32

// Resolve fills in the Addr of every target whose name resolves here, so that
// no name is looked up twice and none by thousands of nodes. A name that does
// not resolve keeps an empty Addr: it may mean something where it is dialled.
// Targets behind jump hosts are left alone. Where a name has addresses of both
// families the IPv4 one is taken: half-configured IPv6 is common in clusters.
//
// Lookup is net.Resolver's LookupNetIP with network "ip". The only error is
// that of ctx.
func Resolve(ctx context.Context, targets []Target, lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)) error {
	indices := make(map[string][]int) // by name: many targets may share one
	for i := range targets {
		t := &targets[i]
		if t.Addr == "" && len(t.Jump) == 0 {
			indices[t.HostName] = append(indices[t.HostName], i)
		}
	}
	var g errgroup.Group
	g.SetLimit(lookups)
	for name, at := range indices {
		g.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			addrs, err := lookup(ctx, "ip", name)
			if err != nil || len(addrs) == 0 {
				return ctx.Err()
			}
			best := addrs[0].Unmap()
			if i := slices.IndexFunc(addrs, func(a netip.Addr) bool { return a.Unmap().Is4() }); i >= 0 {
				best = addrs[i].Unmap()
			}
			for _, i := range at {
				targets[i].Addr = best.String()
			}
			return nil
		})
	}
	return g.Wait()
}
