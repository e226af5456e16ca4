package commsplit

const tagSurveyAgain Tag = 0x201 << 16

// Auto computes a split by the algorithm that suits it: it surveys the rows
// first, as Ranges does, which ends the matter if every class is a range, and
// goes on with what Costs.Choose says. Processes that see in their own rows that
// it will not end there say in the survey what the choice rests on, a sample
// that tells the size of the largest class, and, if none of their own classes
// is large, send their rows to the homes of the hash algorithm with the same
// messages. If some have seen nothing, and
// the classes are no ranges, the survey is repeated with everybody's word. If
// Config.Ranks is set and so small that a survey would not pay, rows are merged
// in place at once. Every process comes to the same choice from the same survey.
type Auto struct {
	config  Config
	costs   Costs
	process int
	rows    []Row
	survey  *Ranges // nil if there is none, or it was not all
	inner   solver
	past    Stats // of machines before inner
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
	a := &Auto{config: config, costs: costs, process: process, rows: rows}
	if config.Ranks > 0 && costs.Skips(Shape{Processes: config.Processes, Rows: config.Ranks}) {
		a.plan = Plan{BySort, 1}
		a.inner = a.chosen(nil, false)
		return a, nil
	}
	a.look(tagSurvey, config.Ranks > 0 && config.Ranks < 4*config.Processes)
	return a, nil
}

// look starts a survey. This process says all if it is asked to, or sees that
// its own classes are no ranges.
func (a *Auto) look(tag Tag, all bool) {
	s, err := NewRanges(a.config, a.process, a.rows)
	if err != nil {
		panic(err) // the configuration was checked
	}
	s.scan.tag = tag
	if all || !s.scan.own.ranged() {
		s.scan.traits = characterize(a.process, a.rows)
		if s.scan.traits.keeps = crowded(a.rows); !s.scan.traits.keeps {
			s.scan.items = itemsOf(a.config.Processes, a.process, a.rows)
		}
	} else {
		s.scan.traits = traits{plural: isPluralAt(a.process, a.rows), silent: s.scan.own.defined > 0}
	}
	a.survey, a.inner = s, s
}

// Step implements Machine.
func (a *Auto) Step(in []Message, out *Outbox) {
	a.inner.Step(in, out)
	for out.done && a.survey != nil && !a.surveyed() {
		a.inner.Step(nil, out)
	}
}

// surveyed makes the next machine when a survey is over, or reports that it was
// all.
func (a *Auto) surveyed() (over bool) {
	scan := &a.survey.scan
	all, t := scan.all(), scan.traits
	if !all.ranged() && t.silent {
		a.past = a.survey.Stats()
		a.look(tagSurveyAgain, true)
		return false
	}
	a.plan, _ = a.costs.Choose(Shape{
		Processes: a.config.Processes,
		Rows:      int(all.defined),
		Largest:   t.largest(all.defined),
		Single:    int(all.ranks) == a.config.Processes && !t.plural,
		Ranged:    all.ranged(),
		AtHome:    !t.keeps,
	}, a.config.Sorters)
	if a.plan.Method == ByRanges {
		return true
	}
	a.past = a.past.then(a.survey.Stats())
	a.survey = nil
	a.inner = a.chosen(scan.items, !t.keeps)
	return false
}

// chosen makes the machine of the plan. It cannot fail: the configuration was
// checked, and the survey has seen that a quicksort has the rows it wants. items
// are those that are at this process, their home, if all are.
func (a *Auto) chosen(items []uint64, atHome bool) solver {
	config := a.config
	var m solver
	var err error
	switch a.plan.Method {
	case ByHash:
		if atHome {
			m, err = newHashAtHome(config, a.process, a.rows, items)
		} else {
			m, err = NewHash(config, a.process, a.rows)
		}
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

// Stats implements Machine; surveys are included.
func (a *Auto) Stats() Stats { return a.past.then(a.inner.Stats()) }
