package commsplit

import "slices"

// Auto computes a split by the algorithm that suits it. Few ranks are merged in place
// at once, since that takes hardly longer than to look at them. Else a scan, as that of
// Ranges, tells every process the Shape for Costs.Choose: how many rows there are, of
// how many colours, how large the largest class is, whether classes are ranges, which
// ends the matter, and whether each process has one rank. The algorithm that is chosen
// then begins from the start, so Auto takes a scan longer than the best, if it chooses
// that. Every process comes to the same choice from the same survey.
type Auto struct {
	script
	config Config
	costs  Costs
	rows   []Row
	scan   scan
	inner  solver // nil as long as the survey goes on, and if it was all
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
	if config.Ranks > 0 && costs.few(config.Processes, config.Ranks) {
		a.plan = Plan{BySort, 1}
		a.inner, a.err = a.chosen()
		return a, a.err
	}
	own := summarize(rows)
	own.plural = len(rows) > 1 || len(rows) == 1 && int(rows[0].Rank) != process
	a.scan = scan{id: process, cube: newCube(config.Processes), tag: tagSurvey, own: own, survey: newSurvey(rows), then: a.surveyed}
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
	a.holds(len(a.rows))
	all := a.scan.all()
	a.plan = a.costs.Choose(Shape{
		Processes: a.config.Processes,
		Rows:      int(all.defined),
		Items:     int(all.items),
		Classes:   a.scan.survey.count(),
		Largest:   a.scan.survey.largest(all.items),
		Single:    int(all.ranks) == a.config.Processes && !all.plural,
		Ranged:    all.ranged(),
	}, a.config.Sorters)
	if a.plan.Method == ByRanges {
		a.result = a.scan.ranges(a.rows)
		a.err = a.limits.checkMemberships(a.rows, a.result.Memberships, -1)
		return nil
	}
	a.inner, a.err = a.chosen()
	return nil
}

// chosen makes the machine of the plan. After a survey it fails only if others did
// not tell the truth: the configuration was checked, and the survey has seen that a
// quicksort has the rows it wants.
func (a *Auto) chosen() (m solver, err error) {
	config := a.config
	switch a.plan.Method {
	case ByHash:
		m, err = NewHash(config, a.id, a.rows)
	case ByQuick:
		m, err = NewQuick(config, a.id, a.rows)
	default:
		config.Sorters = a.plan.Sorters
		m, err = NewParallel(config, a.id, a.rows)
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

// Plan returns the choice, once the survey is over.
func (a *Auto) Plan() Plan { return a.plan }

// Result returns the outcome, once the machine is done.
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
	return a.stats.plus(a.inner.Stats())
}
