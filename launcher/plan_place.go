package launcher

import (
	"slices"

	"github.com/golaunch/golaunch/internal/job"
)

// first returns the first n hosts.
func first(n int) []job.HostIndex {
	hosts := make([]job.HostIndex, n)
	for i := range hosts {
		hosts[i] = job.HostIndex(i)
	}
	return hosts
}

// preferred puts those of the hosts first that are to hold the ranks where there are
// more than these need. notes name the parts of the user's wish that could not be met.
func (p *Plan) preferred(hosts []job.Host) (sorted []job.Host, notes []string) {
	if p.rules.rule != nil {
		return hosts, nil
	}
	order, notes := p.rules.wish.Prefer(p.rules.job(p.Apps, p.rules.open, hosts, first(len(hosts))))
	for _, i := range order {
		sorted = append(sorted, hosts[i])
	}
	return sorted, notes
}

// placeNotes returns the notes of q's placement that p, of which it was made, did not
// have.
func (p *Plan) placeNotes(q *Plan) (notes []string) {
	for _, note := range q.placed.Notes {
		if !slices.Contains(p.placed.Notes, note) {
			notes = append(notes, note)
		}
	}
	return notes
}
