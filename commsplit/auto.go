package commsplit

import "slices"

const (
	tagSurveyAgain Tag = (0x201 + iota) << 16
	tagHomeward
)

// Auto computes a split by the algorithm that suits it. It surveys the rows, as
// Ranges does, which ends the matter if every class is a range, and goes on with
// what Costs.Choose says. So that the survey's rounds are none too many, rows go
// along, and are merged in place, as long as they are few or that looks best,
// which ends the matter too if everybody's came along; and they go to the homes of
// the hash algorithm as long as that may be chosen. What the choice rests on
// besides, a sample and the number of colours, is only said where rows stay behind.
// While all looks like ranges, little goes along, and soon nothing: if some do, but
// all are none, what is on its way to homes goes on from where it was held, if
// hashing is best whatever the classes are, and else the survey is resumed where it
// fell silent. Every process comes to the same choice from the same survey.
type Auto struct {
	script
	config Config
	costs  Costs
	rows   []Row
	scan   scan
	inner  solver // nil as long as the survey goes on, and if it was all
	all    summary
	plan   Plan
	result Result
}

// solver is a machine that computes a split.
type solver interface {
	Machine
	Result() Result
}

// NewAuto returns the part of one process. config.Sorters is the most that may
// sort together; config.Parts counts if a sort is chosen. All processes give the
// same costs.
func NewAuto(config Config, costs Costs, process int, rows []Row) (*Auto, error) {
	checked := config
	if err := checked.check(process); err != nil {
		return nil, err
	}
	a := &Auto{config: config, costs: costs, rows: rows}
	a.id, a.limits = process, config.limits()
	own := summarize(rows)
	survey := newSurvey(config, costs, process, rows, own)
	a.scan = scan{id: process, cube: newCube(config.Processes), tag: tagSurvey, own: own, survey: survey, then: a.surveyed}
	a.next = a.scan.begin
	return a, nil
}

// Step implements Machine.
func (a *Auto) Step(in []Message, out *Outbox) {
	if a.inner == nil {
		a.script.Step(in, out)
		if a.inner == nil {
			return
		}
		told := slices.Clone(out.Messages) // a guest, perhaps
		a.inner.Step(nil, out)
		out.Messages = append(out.Messages, told...)
		return
	}
	a.inner.Step(in, out)
}

// surveyed ends the split, or makes the machine that goes on.
func (a *Auto) surveyed(_ []Message, _ *Outbox) stage {
	s := a.scan.survey
	a.holds(len(a.rows) + cap(s.table) + cap(s.free) + len(s.items)/itemWords)
	if !s.again {
		if a.all = a.scan.all(); a.all.ranged() {
			a.plan = Plan{Method: ByRanges}
			a.result = a.scan.ranges(a.rows)
			a.err = a.limits.checkPlaces(a.rows, a.result.Places, -1)
			a.scan.survey = nil
			return nil
		}
	}
	shape := Shape{
		Processes: a.config.Processes,
		Rows:      int(a.all.defined),
		Items:     int(a.all.items),
		Single:    int(a.all.ranks) == a.config.Processes && !s.traits.plural,
		AtHome:    !s.traits.keeps,
	}
	if s.homing {
		return a.goOn()
	}
	if s.traits.silent {
		// A process whose rows look like ranges has at most one item of a class, but
		// perhaps all have one.
		shape.Largest = shape.widest()
		a.plan, _ = a.costs.Choose(shape, a.config.Sorters)
		if shape.Largest = float64(shape.Rows) / shape.items(); a.plan.Method != ByHash || !shape.AtHome {
			narrow, _ := a.costs.Choose(shape, a.config.Sorters)
			if narrow != a.plan || a.plan.Method != BySort || a.plan.Sorters == 1 {
				return a.scan.again(tagSurveyAgain)
			}
		}
		s.whole = false
	} else if shape.Largest = s.traits.largest(a.all.defined); s.whole {
		a.plan = Plan{BySort, 1}
	} else {
		a.plan, _ = a.costs.Choose(shape, a.config.Sorters)
	}
	if s.homing = a.plan.Method == ByHash && !s.traits.keeps; s.homing && s.traits.held < a.scan.cube.dimensions {
		return a.scan.homeward(tagHomeward)
	}
	return a.goOn()
}

// goOn leaves the rest to a machine of the plan.
func (a *Auto) goOn() stage {
	a.inner, a.err = a.chosen(a.scan.survey)
	a.scan.survey = nil
	return nil
}

// chosen makes the machine of the plan. It fails only if others did not tell the
// truth: the configuration was checked, and the survey has seen that a quicksort
// has the rows it wants.
func (a *Auto) chosen(s *survey) (m solver, err error) {
	config := a.config
	switch {
	case a.plan.Method == ByHash && !s.traits.keeps:
		m, err = newHashAtHome(config, a.id, a.rows, s.items)
	case a.plan.Method == ByHash:
		m, err = NewHash(config, a.id, a.rows)
	case a.plan.Method == ByQuick:
		m, err = NewQuick(config, a.id, a.rows)
	case s.whole:
		config.Sorters = 1
		m, err = newMerged(config, a.id, a.rows, s.table)
	default:
		config.Sorters = a.plan.Sorters
		m, err = NewParallel(config, a.id, a.rows)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Plan is what was chosen, once the survey is over.
func (a *Auto) Plan() Plan { return a.plan }

// Result is the outcome, once the machine is done.
func (a *Auto) Result() Result {
	if a.inner == nil {
		return a.result
	}
	return a.inner.Result()
}

// Stats implements Machine; the survey is included.
func (a *Auto) Stats() Stats {
	if a.inner == nil {
		return a.stats
	}
	return a.stats.then(a.inner.Stats())
}
