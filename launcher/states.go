package launcher

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/overlay"
)

// mostStates bounds the kinds of states that are told, one in a line.
const mostStates = 8

// sayStates tells the states of ranks when the job's time is up, those of the most
// first. If kinds are too many, those of the most and of the fewest ranks are told: one
// that keeps all others waiting is alone.
func (s *stalls) sayStates(w overlay.Waits) {
	if !s.timedOut {
		return
	}
	lines, further := s.stateLines(w.States)
	further += w.Untold
	for _, line := range lines {
		s.job.report.Say("at that time: %s", line)
	}
	if further > 0 {
		s.job.report.Say("at that time: %d further ranks do something else", further)
	}
	if len(w.Silent) > 0 {
		s.saySilent(hostsText(w.Silent, s.job.hostName), len(w.Silent) > 1)
	}
}

// saySilent tells of hosts whose agents have not answered in time.
func (s *stalls) saySilent(hosts string, several bool) {
	does := "does"
	if several {
		does = "do"
	}
	s.job.report.Say("at that time: %s %s not answer: what ranks do there, and below in the tree, is not known", hosts, does)
}

// statesLate says so of the host that is to answer for all, if it has not.
func (s *stalls) statesLate() {
	if s.timedOut && s.asking && len(s.question.Of) == 0 {
		if root, ok := s.job.tree.Root(); ok {
			s.saySilent("host "+s.job.hostName(root.Index), false)
		}
	}
}

// stateLines returns the lines of states, and the number of ranks that they leave out.
func (s *stalls) stateLines(states []overlay.State) (lines []string, further int) {
	type said struct {
		overlay.State
		ranks []int
	}
	var list []said
	for _, x := range states {
		if ranks := s.job.worlds.ranksOf(x.World, x.Ranks); len(ranks) > 0 { // or its world is over
			list = append(list, said{x, ranks})
		}
	}
	slices.SortFunc(list, func(a, b said) int {
		return cmp.Or(cmp.Compare(len(b.ranks), len(a.ranks)), cmp.Compare(a.World, b.World), cmp.Compare(a.ranks[0], b.ranks[0]))
	})
	if left := len(list) - mostStates; left > 0 {
		for _, x := range list[mostStates/2 : mostStates/2+left] {
			further += len(x.ranks)
		}
		list = slices.Delete(list, mostStates/2, mostStates/2+left)
	}
	for _, x := range list {
		lines = append(lines, s.job.worlds.all[x.World].plan.ranksText(x.World, x.ranks)+": "+stateText(&x.State))
	}
	return lines, further
}

// stateText renders a state in words: "in MPI_Init, in no call of PMI, for 3-4 s; used
// 100 % of a processor, running".
func stateText(s *overlay.State) string {
	text := s.Call
	if s.For != overlay.Unknown {
		text += ", for " + spanText(s.For) + " s"
	}
	if s.CPU == overlay.Unknown {
		return text
	}
	does := []string{"used " + spanText(s.CPU) + " % of a processor"}
	if s.Kernel != "" {
		does = append(does, s.Kernel)
	}
	if s.Process != "" {
		does[0] = "its process " + s.Process + " " + does[0]
	}
	return text + "; " + strings.Join(does, ", ")
}

// spanText returns "3", or "3-4".
func spanText(s overlay.Span) string {
	if s.Least == s.Most {
		return fmt.Sprint(s.Least)
	}
	return fmt.Sprintf("%d-%d", s.Least, s.Most)
}
