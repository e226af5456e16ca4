package launcher

import (
	"fmt"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/launcher/trees"
	"github.com/golaunch/golaunch/tree"
)

// checkHosts has the bootstrap check that it can reach the hosts.
func (p *Plan) checkHosts(o *Options) error {
	if p.kind.CheckHosts == nil {
		return nil
	}
	return p.kind.CheckHosts(registry.Getenv(o.Boot.Environ), o.Boot.Values, p.Hosts)
}

// launcherOnly reports whether no host can start agents on others.
func launcherOnly(k bootstrap.Kind, o *Options) bool {
	return k.Reach != nil && k.Reach(o.Boot.Values) == bootstrap.LauncherOnly
}

// planRelays plans relays on this machine, since only it reaches the hosts.
func (p *Plan) planRelays(o *Options, localHost string) error {
	if o.Launch.Cache.UsesHomes() {
		way := "use another policy"
		if p.kind.Widen != "" {
			way += ", or " + p.kind.Widen
		}
		return fmt.Errorf("--cache %s: relays hold no keys; %s", o.Launch.Cache, way)
	}
	p.Degree = max(p.Degree, 2) // of hosts that are leaves no chain can be made
	p.relayed = true
	for _, place := range tree.Relayed(len(p.Hosts), p.Degree) {
		if place.Below > 0 {
			p.Relays = append(p.Relays, fmt.Sprintf("%s.relay%d", localHost, place.Host))
		}
	}
	return nil
}

// depth counts the links from the root to the farthest of the live hosts.
func (p *Plan) depth(live int) int {
	if p.relayed {
		return tree.RelayDepth(len(p.Hosts), p.Degree)
	}
	if p.network.cut != nil {
		return tree.CutDepth(p.network.cut)
	}
	return tree.Depth(live, p.Degree)
}

// entries lists the hosts as they travel, among the relays in pre-order.
func (p *Plan) entries() []overlay.HostEntry {
	entries := make([]overlay.HostEntry, 0, len(p.Hosts)+len(p.Relays))
	ranks := p.Blocks.perHost(len(p.Hosts))
	host := func(i int) {
		h := p.Hosts[i]
		e := overlay.HostEntry{Index: job.HostIndex(i), Name: h.Name, Share: p.shareOf(job.HostIndex(i), ranks[i])}
		if h.User != "" || h.Port != 0 {
			e.Access = &overlay.Access{User: h.User, Port: h.Port}
		}
		entries = append(entries, e)
	}
	if !p.relayed {
		for i := range p.Hosts {
			host(i)
		}
		return entries
	}
	for _, place := range tree.Relayed(len(p.Hosts), p.Degree) {
		if place.Below == 0 {
			host(place.Host)
			continue
		}
		entries = append(entries, overlay.HostEntry{
			Index: job.HostIndex(len(p.Hosts) + place.Host), Name: p.Relays[place.Host], Below: place.Below,
		})
	}
	return entries
}

// isRelay reports whether h is one of the relays.
func (p *Plan) isRelay(h job.HostIndex) bool {
	return int(h) >= len(p.Hosts) && int(h) < len(p.Hosts)+len(p.Relays)
}

// deadRelays counts the relays among those that are dead. The job can't go on
// without them.
func (p *Plan) deadRelays(dead []overlay.DeadHost) (n int) {
	for _, d := range dead {
		if p.isRelay(d.Index) {
			n++
		}
	}
	return n
}

// hostName returns the user's name of a host; of a relay, its name.
func (p *Plan) hostName(h job.HostIndex) string { return trees.HostName(p.Hosts, p.Relays, h) }
