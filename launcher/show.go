package launcher

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
)

// showLocal begins a value of OutputOptions.Show whose numbers are those of ranks on their hosts.
const showLocal = "local:"

// shownRanks selects ranks whose output golaunch's own streams have. The zero value:
// all.
type shownRanks struct {
	text  string
	local bool // the numbers are those of ranks on their hosts
	runs  []showRun
}

// showRun are ranks that follow each other.
type showRun struct{ first, last int }

// parseShown reads a value of OutputOptions.Show: numbers and ranges of ranks, as in 0,4-7, or,
// after showLocal, of ranks on their hosts. "" is all ranks.
func parseShown(text string) (shownRanks, error) {
	if text == "" {
		return shownRanks{}, nil
	}
	list, local := strings.CutPrefix(text, showLocal)
	s := shownRanks{text: text, local: local}
	for item := range strings.SplitSeq(list, ",") {
		low, high, isRange := strings.Cut(item, "-")
		first, err := strconv.ParseUint(low, 10, 31)
		last := first
		if err == nil && isRange {
			last, err = strconv.ParseUint(high, 10, 31)
		}
		if err != nil || last < first {
			return s, fmt.Errorf("%q: %q is no rank and no range of ranks, as in 0,4-7 or, of each host, local:0", text, item)
		}
		s.runs = append(s.runs, showRun{int(first), int(last)})
	}
	return s, nil
}

func (s shownRanks) has(number int) bool {
	for _, r := range s.runs {
		if r.first <= number && number <= r.last {
			return true
		}
	}
	return false
}

// of marks the ranks of a plan that are among them; nil is all.
func (s shownRanks) of(p *Plan) []bool {
	if s.runs == nil {
		return nil
	}
	among := make([]bool, p.Size)
	on := map[job.HostIndex]int{}
	for _, b := range p.Blocks {
		for i := range b.Count {
			number := int(b.First) + i
			if s.local {
				number = on[b.Host]
				on[b.Host]++
			}
			among[int(b.First)+i] = s.has(number)
		}
	}
	return among
}

// check finds numbers that no rank of the first world has.
func (s shownRanks) check(p *Plan) error {
	most := 0 // ranks of one host
	on := map[job.HostIndex]int{}
	for _, b := range p.Blocks {
		on[b.Host] += b.Count
		most = max(most, on[b.Host])
	}
	for _, r := range s.runs {
		switch {
		case s.local && r.first >= most:
			return fmt.Errorf("--show %s: no host has a rank %d of its own: the most on one are %d", s.text, r.first, most)
		case !s.local && r.last >= p.Size:
			return fmt.Errorf("--show %s: there is no rank %d among %d", s.text, r.last, p.Size)
		}
	}
	return nil
}

// checkShow checks OutputOptions.Show.
func (o *Options) checkShow() error {
	if _, err := parseShown(o.Output.Show); err != nil {
		return fmt.Errorf("--show: %w", err)
	}
	return nil
}
