package commsplit

import "errors"

const (
	tagRanges Tag = (0x200 + iota) << 16
	tagSurvey     // the same, with a survey
)

// ErrNotRanged says that some class is not a range of consecutive ranks with
// keys in their order, or that the processes do not hold consecutive ranks.
var ErrNotRanged = errors.New("commsplit: a colour's ranks are no range in order of their keys")

// Ranges computes a split whose classes are ranges of ranks, as in range-based
// communicators (Axtmann, Wiebigke and Sanders 2018): a membership then says all,
// nobody holds a table, and nothing is sorted. It finds out by itself whether
// that is so, in ⌊lg P⌋ rounds of one message of 56 bytes, two more where P is no power of two. It
// recognises classes whose colours rise or fall with the ranks; ranks of no
// colour may stand between classes but not within one. Processes must hold
// consecutive ranks, in order.
type Ranges struct {
	script
	scan   scan
	config Config
	own    []Row
	result Result
}

// NewRanges returns the part of one process; Sorters and Parts of the
// configuration do not matter.
func NewRanges(config Config, process int, rows []Row) (*Ranges, error) {
	config.Sorters, config.Parts = 1, 1
	if err := config.check(process); err != nil {
		return nil, err
	}
	r := &Ranges{config: config, own: rows}
	r.id, r.limits = process, config.limits()
	r.scan = scan{id: process, cube: newCube(config.Processes), tag: tagRanges, own: summarize(rows), then: r.finish}
	r.next = r.scan.begin
	return r, nil
}

// Err is ErrNotRanged if the split is of another kind, at every process alike.
// There is no result then.
func (r *Ranges) Err() error {
	if r.scan.all().ranged() {
		return nil
	}
	return ErrNotRanged
}

// Result returns the outcome, once the machine is done and Err is nil.
func (r *Ranges) Result() Result { return r.result }

func (r *Ranges) finish(_ []Message, _ *Outbox) stage {
	r.holds(len(r.own))
	if r.Err() != nil {
		return nil
	}
	r.result = r.scan.ranges(r.own)
	r.err = r.limits.checkMemberships(r.own, r.result.Memberships, -1)
	return nil
}

// ranges returns the result for a process's rows if every class is a range.
func (s *scan) ranges(own []Row) Result {
	memberships := make([]Membership, len(own))
	for i := 0; i < len(own); {
		color, end := own[i].Color, i+1
		for end < len(own) && own[end].Color == color {
			end++
		}
		start, stop := own[i].Rank, own[end-1].Rank+1
		if b := s.before; i == 0 && b.defined > 0 && b.last.color == color {
			start = b.last.start
		}
		if a := s.after; end == len(own) && a.defined > 0 && a.first.color == color {
			stop = a.first.end
		}
		for ; i < end; i++ {
			rank := own[i].Rank
			memberships[i] = Membership{Rank: rank, Home: Spread}
			if color != Undefined {
				memberships[i] = Membership{Rank: rank, New: rank - start, Size: stop - start, Base: start, Home: InRange}
			}
		}
	}
	return Result{memberships, newHome(s.id, s.cube.processes, nil, 0)}
}
