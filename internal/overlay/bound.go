package overlay

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree"
)

// Bound says for each rank of a world on a host, in rank order, where it runs: "CPUs
// 4,12 (core 4 of socket 0)". It is of all hosts of which the same is to be said.
type Bound struct {
	Ranks []string        `cbor:"1,keyasint"`
	Hosts []job.HostIndex `cbor:"2,keyasint"`
}

// mergeBound puts hosts together of which the same is said, in texts of one line.
func mergeBound(a, b []Bound) []Bound {
	if len(b) == 0 {
		return a
	}
	key := func(x *Bound) string { return strings.Join(x.Ranks, "\n") }
	at := make(map[string]int, len(a)+len(b))
	for i := range a {
		at[key(&a[i])] = i
	}
	for i := range b {
		k := key(&b[i])
		if j, ok := at[k]; ok {
			a[j].Hosts = append(a[j].Hosts, b[i].Hosts...)
			continue
		}
		at[k] = len(a)
		a = append(a, b[i])
	}
	return a
}

// bound: all ranks of a world on hosts below it, of each host once.
func (c *claims) bound(h tree.Header, list []Bound) error {
	if len(list) == 0 {
		return nil
	}
	blocks, _, err := c.places.find(int(h.World))
	if err != nil {
		return err
	}
	ranks := map[job.HostIndex]int{}
	for _, b := range blocks {
		ranks[b.Host] += b.Count
	}
	for _, b := range list {
		if len(b.Hosts) == 0 || len(b.Ranks) == 0 {
			return errors.New("ranks that are bound on no host, or none")
		}
		if err := long(maxCause, b.Ranks...); err != nil {
			return err
		}
		if slices.ContainsFunc(b.Ranks, func(text string) bool { return strings.Contains(text, "\n") }) { // see mergeBound
			return errors.New("a text of two lines where a rank is bound")
		}
		for _, host := range b.Hosts {
			if err := c.child.host(host); err != nil {
				return err
			}
			if ranks[host] != len(b.Ranks) {
				return fmt.Errorf("it is said once where %d ranks of %s are bound, which has %d", len(b.Ranks), c.child.called(host), ranks[host])
			}
			ranks[host] = -1
		}
	}
	return nil
}
