package launcher

import (
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// verdict finds the cause among the failures of a job: the one that happened first,
// whenever it was heard of. Of those within job.Tie of it, it is the one of least
// weight. Where that is the end of a rank, and a node is found lost not much later, the
// loss is the cause. The cause is asked for when the job ends: by then every node has
// told of ranks that ended there before golaunch ended them.
type verdict struct {
	kept     []*heard // all that may be the cause, and the first of the others
	failures int
	alike    int    // further failures to start, for one reason
	reason   string // theirs
}

// maxKept is room for the failures that a message lists and all that may be the
// cause.
const maxKept = maxFurther + job.Weights + 1

// heard is a failure and its time, by the launcher's clock.
type heard struct {
	job.Failure
	at time.Time
	// explains is the time before the loss of a node in which ranks may have failed for
	// want of it; 0 for other failures.
	explains time.Duration
}

// since returns the earliest time of ranks' ends that a loss explains.
func (h *heard) since() time.Time { return h.at.Add(-h.explains) }

// add takes a failure, its time, as far as its way tells, and the time before it in
// which ranks may have failed for that reason.
func (v *verdict) add(f job.Failure, at time.Time, explains time.Duration) {
	v.failures++
	if f.Class == job.CauseStart {
		switch v.reason {
		case "":
			v.reason = f.Text
		case f.Text:
			v.alike++
			return
		}
	}
	h := &heard{f, at, explains}
	v.kept = append(v.kept, h)
	v.align(h)
	if len(v.kept) > maxKept {
		lost, first := v.candidates()
		last := len(v.kept) - 1
		for v.kept[last] == lost || slices.Contains(first[:], v.kept[last]) {
			last--
		}
		v.kept = slices.Delete(v.kept, last, last+1)
	}
}

// align puts the failures of one node as far apart as the node's clock says: the one
// that was on its way for the shortest time tells their times.
func (v *verdict) align(h *heard) {
	if h.Clock == 0 {
		return
	}
	begin := h.at.Add(-h.Clock) // of the node's clock
	for _, o := range v.kept {
		if b := o.at.Add(-o.Clock); o.Clock != 0 && o.Host == h.Host && b.Before(begin) {
			begin = b
		}
	}
	for _, o := range v.kept {
		if o.Clock != 0 && o.Host == h.Host {
			o.at = begin.Add(o.Clock)
		}
	}
}

// candidates returns the loss of a node that explains the most, and the earliest
// failure of each weight.
func (v *verdict) candidates() (lost *heard, first [job.Weights]*heard) {
	for _, h := range v.kept {
		if h.explains > 0 && (lost == nil || h.since().Before(lost.since())) {
			lost = h
		}
		if w := h.Weight(); first[w] == nil || h.at.Before(first[w].at) {
			first[w] = h
		}
	}
	return lost, first
}

// cause returns the cause, or nil while there is no failure.
func (v *verdict) cause() *job.Failure {
	if h := v.earliest(); h != nil {
		return &h.Failure
	}
	return nil
}

func (v *verdict) earliest() *heard {
	lost, first := v.candidates()
	var begin time.Time
	for _, h := range first[:job.WeightAfter] {
		if h != nil && (begin.IsZero() || h.at.Before(begin)) {
			begin = h.at
		}
	}
	for _, h := range first[:job.WeightAfter] {
		switch {
		case h == nil || h.at.Sub(begin) > job.Tie:
		case lost != nil && !h.at.Before(lost.since()) && (h.Class == job.CauseExit || h.Class == job.CauseSignal):
			return lost
		default:
			return h
		}
	}
	return first[job.WeightAfter]
}

// further returns failures beside the cause, at most maxFurther, and the number of
// those that are neither listed nor alike.
func (v *verdict) further() (list []job.Failure, more int) {
	cause := v.earliest()
	for _, h := range v.kept {
		if h != cause && len(list) < maxFurther {
			list = append(list, h.Failure)
		}
	}
	return list, v.failures - 1 - v.alike - len(list)
}
