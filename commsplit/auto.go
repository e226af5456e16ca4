package commsplit

// Auto computes a split by the algorithm that suits it: it surveys the rows
// first, as Ranges does, which ends the matter if every class is a range, and
// goes on with what Costs.Choose says. The survey's samples estimate the size of
// the largest class. If Config.Ranks is set and so small that the survey would not
// pay, it merges in place at once. Every process comes to the same choice from the same
// survey.
type Auto struct {
	config  Config
	costs   Costs
	process int
	rows    []Row
	survey  *Ranges
	inner   solver
	plan    Plan
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
	survey, err := NewRanges(config, process, rows)
	if err != nil {
		return nil, err
	}
	survey.scan.traits = characterize(process, rows)
	a := &Auto{config: config, costs: costs, process: process, rows: rows, survey: survey, inner: survey}
	if config.Ranks > 0 && costs.Skips(Shape{Processes: config.Processes, Rows: config.Ranks}) {
		a.plan = Plan{BySort, 1}
		a.inner = a.chosen()
	}
	return a, nil
}

// Step implements Machine.
func (a *Auto) Step(in []Message, out *Outbox) {
	a.inner.Step(in, out)
	if !out.done || a.inner != solver(a.survey) {
		return
	}
	all, traits := a.survey.scan.all(), a.survey.scan.traits
	a.plan, _ = a.costs.Choose(Shape{
		Processes: a.config.Processes,
		Rows:      int(all.defined),
		Largest:   traits.largest(all.defined),
		Single:    int(all.ranks) == a.config.Processes && !traits.plural,
		Ranged:    all.ranged(),
	}, a.config.Sorters)
	if a.plan.Method == ByRanges {
		return
	}
	a.inner = a.chosen()
	a.inner.Step(nil, out)
}

// chosen makes the machine of the plan. It cannot fail: the configuration was
// checked, and the survey has seen that a quicksort has the rows it wants.
func (a *Auto) chosen() solver {
	config := a.config
	var m solver
	var err error
	switch a.plan.Method {
	case ByHash:
		m, err = NewHash(config, a.process, a.rows)
	case ByQuick:
		m, err = NewQuick(config, a.process, a.rows)
	default:
		config.Sorters = a.plan.Sorters
		m, err = NewParallel(config, a.process, a.rows)
	}
	if err != nil {
		panic(err)
	}
	return m
}

// Plan is what was chosen, once the survey is over.
func (a *Auto) Plan() Plan { return a.plan }

// Result is the outcome, once the machine is done.
func (a *Auto) Result() Result { return a.inner.Result() }

// Stats implements Machine; the survey is included.
func (a *Auto) Stats() Stats {
	s := a.survey.Stats()
	if a.inner != solver(a.survey) {
		t := a.inner.Stats()
		s = Stats{s.Messages + t.Messages, s.Bytes + t.Bytes, max(s.PeakRows, t.PeakRows)}
	}
	return s
}
