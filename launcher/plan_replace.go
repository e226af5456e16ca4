package launcher

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
)

// standIns returns the live hosts that are to hold the ranks, as many as were wanted in
// the first place if there are so many: a spare has the position of the dead host that
// it stands in for. rest are the live ones that stay spare, before them hosts beyond
// HostOptions.RankHosts.
func (p *Plan) standIns() (wanted, rest []job.HostIndex) {
	first := len(p.Hosts) - p.Spares
	for i := first; i < len(p.Hosts); i++ {
		if !p.dead[i] {
			rest = append(rest, job.HostIndex(i))
		}
	}
	for i := range first {
		switch {
		case !p.dead[i]:
			wanted = append(wanted, job.HostIndex(i))
		case len(rest) > 0:
			wanted, rest = append(wanted, rest[0]), rest[1:]
		}
	}
	if n := p.rankHosts; n > 0 && len(wanted) > n {
		wanted, rest = wanted[:n:n], slices.Concat(wanted[n:], rest)
	}
	return wanted, rest
}

// mayReplace reports whether unused hosts can take the place of dead ones: not
// where relays stand between, which were planned for the others, nor where apps have
// hosts of their own.
func (p *Plan) mayReplace() bool {
	return len(p.standby()) > 0 && !p.relayed && !p.kind.Bulk && !apart(p.Apps)
}

// spareHint tells of unused hosts that cannot take the place of dead ones because relays
// stand between, but could as spares, "" if there are none.
func (p *Plan) spareHint() string {
	if n := len(p.standby()); n > 0 && p.relayed && !apart(p.Apps) {
		return fmt.Sprintf("; --spares N starts N more, of %s unused", plural(n, "host"))
	}
	return ""
}

// standby returns the hosts that may take the place of dead ones.
func (p *Plan) standby() []job.Host { return slices.Concat(p.Unused, p.reserve) }

// lacking returns the plan for further placements, without hosts that are gone.
func (p *Plan) lacking(gone []job.HostIndex) *Plan {
	if len(gone) == 0 {
		return p
	}
	q := *p
	q.dead = slices.Clone(p.dead)
	for _, h := range gone {
		q.dead[h] = true
	}
	return &q
}

// withMore returns the plan with further spares.
func (p *Plan) withMore(hosts []job.Host) *Plan {
	q := p.with(hosts)
	q.Spares += len(hosts)
	return q
}

// replacements returns the unused hosts to start where some of the plan's are dead: one
// for each that is missing, and one for each spare that is dead too, so that a rack of
// dead hosts takes few rounds.
func (p *Plan) replacements(dead []job.HostIndex) []job.Host {
	if !p.mayReplace() {
		return nil
	}
	wanted, spare := len(p.Hosts)-p.Spares, 0
	for _, h := range dead {
		if int(h) >= wanted {
			spare++
		}
	}
	n := len(dead) - p.Spares
	if _, err := p.without(dead, p.rules.chosen); n <= 0 && err != nil { // unlike slots
		n = max(1, p.Spares) // twice as many each time
	}
	if n <= 0 {
		return nil
	}
	standby := p.standby()
	return standby[:min(n+spare, len(standby))]
}

// replaced names the hosts that hold ranks of q in place of hosts of p, which q lacks
// or has for dead, and those that hold more of them now, "" if there are none.
func (p *Plan) replaced(q *Plan) string {
	before, after := p.holders(), q.holders()
	live := map[string]bool{}
	for i, h := range q.Hosts {
		live[h.Name] = !q.dead[i]
	}
	var gone, by, more []job.HostIndex
	for i, h := range p.Hosts {
		if before[h.Name] > 0 && !live[h.Name] {
			gone = append(gone, job.HostIndex(i))
		}
	}
	for i, h := range q.Hosts {
		switch n := after[h.Name]; {
		case n > 0 && before[h.Name] == 0:
			by = append(by, job.HostIndex(i))
		case n > before[h.Name]:
			more = append(more, job.HostIndex(i))
		}
	}
	one, many := "takes the place of", "take the place of"
	if len(by) == 0 && q.Size == p.Size {
		one, many, by = "holds more ranks without", "hold more ranks without", more
	}
	switch {
	case len(by) == 0 || len(gone) == 0:
		return ""
	case len(by) > 1:
		one = many
	}
	return fmt.Sprintf("%s %s %s", hostsText(by, q.hostName), one, hostlist.Fold(p.bareHosts(gone)))
}

// fewer tells the number of ranks that q, which is p without dead hosts, lacks, "" if
// it has all.
func (p *Plan) fewer(q *Plan) string {
	if q.Size == p.Size {
		return ""
	}
	return fmt.Sprintf("%s instead of %d", plural(q.Size, "rank"), p.Size)
}

// holders counts the ranks of each host that holds some, by its name.
func (p *Plan) holders() map[string]int {
	holders := map[string]int{}
	for _, b := range p.Blocks {
		holders[p.Hosts[b.Host].Name] += b.Count
	}
	return holders
}

// bareHosts returns some of the hosts, without their slots.
func (p *Plan) bareHosts(some []job.HostIndex) []job.Host {
	hosts := make([]job.Host, len(some))
	for i, h := range some {
		hosts[i].Name = p.hostName(h)
	}
	return hosts
}

// crowded compares hosts that are fuller because ranks are placed on the first n alone,
// the others being spare; "" if none is.
func (p *Plan) crowded(hosts []job.Host, n int) string {
	if p.rules.open {
		return "" // the hosts decide the number of ranks
	}
	placed, err := p.rules.placeApps(p.Apps, false, hosts, first(len(hosts)), p.rules.chosen)
	if err != nil {
		return ""
	}
	most, without := fullest(p.Blocks), fullest(placed.Blocks)
	if most <= without {
		return ""
	}
	return fmt.Sprintf("--spares %d keeps %s free: a host holds up to %s, %d without spares; name more hosts, or lower --spares",
		len(hosts)-n, hostlist.Fold(bare(hosts[n:])), plural(most, "rank"), without)
}

// fullest counts the ranks of the fullest host.
func fullest(blocks []job.Block) (most int) {
	ranks := map[job.HostIndex]int{}
	for _, b := range blocks {
		ranks[b.Host] += b.Count
		most = max(most, ranks[b.Host])
	}
	return most
}
