package launcher

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
)

// The cause does not depend on the order in which failures are heard of, unless they
// happened at the very same time.
func TestVerdictIsThatOfWhatHappenedFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		epoch := time.Now()
		n := rapid.IntRange(1, 60).Draw(t, "n")
		times := rapid.SliceOfNDistinct(rapid.IntRange(0, 600_000), n, n, rapid.ID[int]).Draw(t, "microseconds")
		all := make([]heard, n)
		for i := range all {
			f := job.Failure{Rank: job.Rank(i)}
			explains := 0 // microseconds
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 6:
				f.Class = job.CauseNodeLost
				explains = rapid.IntRange(0, 300_000).Draw(t, "explains")
			case 0:
				f.Class, f.Signal = job.CauseSignal, int(syscall.SIGSEGV)
			case 1:
				f.Class, f.Signal = job.CauseSignal, int(syscall.SIGPIPE)
			case 2:
				f.Class, f.Code = job.CauseExit, 3
			case 3:
				f.Class, f.Code, f.Finalized = job.CauseExit, 3, true
			case 4:
				f.Class = job.CauseNoFinalize
			default:
				f.Class, f.Code = job.CauseAbort, 5
			}
			all[i] = heard{Failure: f, at: epoch.Add(time.Duration(times[i]) * time.Microsecond), explains: time.Duration(explains) * time.Microsecond}
		}
		var v verdict
		for _, h := range all {
			v.add(h.Failure, h.at, h.explains)
		}
		require.Equal(t, naiveCause(all), *v.cause())
		further, more := v.further()
		require.Len(t, further, min(n-1, maxFurther))
		require.Equal(t, n-1, len(further)+more)
		require.NotContains(t, further, *v.cause())
		require.LessOrEqual(t, len(v.kept), maxKept)
	})
}

// naiveCause looks at all failures at once.
func naiveCause(all []heard) job.Failure {
	earliest := func(when func(heard) time.Time, which func(heard) bool) *heard {
		var e *heard
		for i := range all {
			if which(all[i]) && (e == nil || when(all[i]).Before(when(*e))) {
				e = &all[i]
			}
		}
		return e
	}
	at := func(h heard) time.Time { return h.at }
	first := earliest(at, func(h heard) bool { return !h.Finalized })
	if first == nil {
		return earliest(at, func(heard) bool { return true }).Failure
	}
	for weight := 0; ; weight++ {
		h := earliest(at, func(h heard) bool { return h.Weight() == weight && !h.at.After(first.at.Add(job.Tie)) })
		if h == nil {
			continue
		}
		if h.Class == job.CauseExit || h.Class == job.CauseSignal {
			reason := earliest(func(l heard) time.Time { return l.at.Add(-l.explains) },
				func(l heard) bool { return l.explains > 0 && !h.at.Add(l.explains).Before(l.at) })
			if reason != nil {
				return reason.Failure
			}
		}
		return h.Failure
	}
}

// A peer's abort is heard of first; the rank that was killed a moment before it
// is the cause.
func TestVerdictOfAPeerThatIsHeardFirst(t *testing.T) {
	now := time.Now()
	abort := job.Failure{Class: job.CauseAbort, Rank: 0, Code: 673784677}
	killed := job.Failure{Class: job.CauseSignal, Rank: 3, Signal: 9, Age: 40 * time.Millisecond}
	pipe := job.Failure{Class: job.CauseSignal, Rank: 1, Signal: int(syscall.SIGPIPE)}
	told := job.Failure{Class: job.CauseExit, Rank: 2, Code: 1, Told: true}
	for _, x := range []struct {
		after time.Duration // the abort, until the other end
		cause job.Failure
	}{{-20 * time.Millisecond, killed}, {job.Tie, killed}, {job.Tie + 1, abort}} {
		t.Run(fmt.Sprint(x.after), func(t *testing.T) {
			var v verdict
			v.add(pipe, now.Add(time.Millisecond), 0)
			v.add(abort, now, 0)
			v.add(told, now.Add(time.Millisecond), 0)
			v.add(killed, now.Add(x.after), 0)
			require.Equal(t, x.cause, *v.cause())
		})
	}
}

// A signal that no program gets because a peer has ended comes before an exit of the same
// moment, whichever is taken for the earlier.
func TestVerdictOfASignalAndAnExit(t *testing.T) {
	now := time.Now()
	exit := job.Failure{Class: job.CauseExit, Rank: 0, Code: 5}
	for sig, comes := range map[syscall.Signal]bool{
		syscall.SIGKILL: true, syscall.SIGSEGV: true, syscall.SIGBUS: true, syscall.SIGFPE: true, syscall.SIGILL: true,
		syscall.SIGTERM: false, syscall.SIGABRT: false, syscall.SIGPIPE: false,
	} {
		signal := job.Failure{Class: job.CauseSignal, Rank: 1, Host: 1, Signal: int(sig)}
		for _, after := range []time.Duration{time.Millisecond, job.Tie, job.Tie + 1} {
			var v verdict
			v.add(exit, now, 0)
			v.add(signal, now.Add(after), 0)
			want := exit
			if comes && after <= job.Tie {
				want = signal
			}
			require.Equal(t, want, *v.cause(), "%v after %v", sig, after)
		}
	}
}

// Failures of one node are in the order of its own clock, though the word of the first
// was on its way for longer.
func TestVerdictOfOneNode(t *testing.T) {
	now := time.Now()
	first := job.Failure{Class: job.CauseExit, Rank: 1, Host: 4, Code: 3, Clock: 100 * time.Millisecond}
	then := job.Failure{Class: job.CauseExit, Rank: 2, Host: 4, Code: 1, Clock: 101 * time.Millisecond}
	elsewhere := job.Failure{Class: job.CauseExit, Rank: 3, Host: 5, Code: 2, Clock: time.Millisecond}
	for name, order := range map[string][]int{"in order": {0, 1, 2}, "the other way round": {1, 0, 2}, "elsewhere first": {2, 1, 0}} {
		t.Run(name, func(t *testing.T) {
			var v verdict
			for _, i := range order {
				v.add([]job.Failure{first, then, elsewhere}[i], now.Add([]time.Duration{20, 10, 12}[i]*time.Millisecond), 0)
			}
			require.Equal(t, first, *v.cause())
		})
	}
}
