package launcher

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/profile"
)

// profiles are the ranks' counts of their messages, by world, with the plan of each
// world that there was.
type profiles struct {
	plans     map[int]*Plan
	gathered  map[int]*profile.Gathering
	came, had int // parts; had counts those that more has seen
}

func newProfiles() profiles {
	return profiles{plans: map[int]*Plan{}, gathered: map[int]*profile.Gathering{}}
}

// know notes the plan of a world.
func (p *profiles) know(world int, plan *Plan) { p.plans[world] = plan }

// add takes a part of a rank's counts. An error means that an agent broke the protocol.
func (p *profiles) add(world int, part *profile.Part) error {
	plan := p.plans[world]
	if plan == nil {
		return fmt.Errorf("counters of world %d, which there is not", world)
	}
	p.came++
	g := p.gathered[world]
	if g == nil {
		g = profile.NewGathering(plan.Size)
		p.gathered[world] = g
	}
	return g.Add(part)
}

// more reports whether parts have come since it was asked last.
func (p *profiles) more() bool {
	more := p.came > p.had
	p.had = p.came
	return more
}

// writeProfile writes the profile of the counts that have come, and names ranks without
// any. If no rank was started, there is nothing to write.
func (acc *account) writeProfile(status int) error {
	if len(acc.profiles.plans) == 0 {
		acc.job.report.Note("--profile: no rank ran: nothing is written to %s", acc.job.options.Report.ProfileFile)
		return nil
	}
	doc := profile.Profile{
		Job: acc.job.tree.ID(), Command: acc.command(), Began: acc.began.UTC(), Status: status,
		Quantity: acc.job.options.Launch.Profile, From: acc.job.options.Launch.ProfileFrom,
	}
	for _, id := range slices.Sorted(maps.Keys(acc.profiles.plans)) {
		plan := acc.profiles.plans[id]
		g := acc.profiles.gathered[id]
		if g == nil {
			g = profile.NewGathering(plan.Size)
		}
		w := g.World()
		w.World = id
		acc.profiles.place(&w, plan)
		doc.Worlds = append(doc.Worlds, w)
		if len(w.Missing) > 0 && acc.job.verdict.cause() == nil {
			acc.job.report.Note("--profile: there is none of %s: %s", numbersText(id, w.Missing), whyNoProfile)
		}
	}
	doc.Seconds = time.Since(acc.began).Seconds()
	return acc.replaceFile("--profile", acc.job.options.Report.ProfileFile, privateMode, doc.Write)
}

// whyNoProfile asks the user for the likely reason.
const whyNoProfile = "did it come to MPI_Init, in an MPICH or Open MPI that is a shared library?"

// command returns the job's programs with their arguments, as on the command line.
func (acc *account) command() []string {
	var words []string
	for i, a := range acc.job.plan.Apps {
		if i > 0 {
			words = append(words, ":")
		}
		words = append(words, a.Argv...)
	}
	return words
}

// place sets the places of the ranks of a world.
func (p *profiles) place(w *profile.World, plan *Plan) {
	index := map[string]int{} // of a name in w.Nodes
	for _, b := range plan.Blocks {
		name := plan.hostName(b.Host)
		node, known := index[name]
		if !known {
			node = len(w.Nodes)
			index[name], w.Nodes = node, append(w.Nodes, name)
		}
		if last := len(w.NodeOf) - 1; last >= 0 && w.NodeOf[last].Node == node {
			w.NodeOf[last].Count += b.Count
			continue
		}
		w.NodeOf = append(w.NodeOf, profile.OnNode{Node: node, First: int(b.First), Count: b.Count})
	}
}
