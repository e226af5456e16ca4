package chaos

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/trial"
)

// limits bound the times of a job.
type limits struct {
	hang time.Duration // until golaunch ends, beyond the limits that it states
	left time.Duration // until nothing is left
}

// stated is the time in which golaunch, by its own word, gives up a harmed host: two
// tries to connect, and the silence of a lost one.
const stated = 2*connectTimeout + lostAfter

// soon bounds a blow's search for its victim.
const soon = 300 * time.Millisecond

// job is one job while it runs.
type job struct {
	*trial.Job
	drawn
	place place
	seat  *seat // nil without --pty
	ended chan struct{}

	mu     sync.Mutex
	struck []blow // in the order in which they fell
	errs   []error
}

// outcome has the end of a job and its remains.
type outcome struct {
	drawn
	struck []blow
	code   int
	stderr string
	termed bool // it was endless, and nothing ended it before
	faults []finding
	// segments counts the files of MPICH and UCX that were removed, see unlink.
	segments int
}

// finding is something that golaunch did wrong.
type finding struct {
	kind string // a column of the table
	text string
}

// run runs a job, harms it, and looks at the outcome. An error is one of the test's
// own.
func (p place) run(d drawn, l limits) (o outcome, err error) {
	held, err := trial.Inventory(p.cluster)
	if err != nil {
		return o, err
	}
	j := &job{drawn: d, place: p, ended: make(chan struct{})}
	undo, err := j.before()
	if err != nil {
		return o, errors.Join(err, undo())
	}
	if j.seat, err = j.sit(); err != nil {
		return o, errors.Join(err, undo())
	}
	defer j.seat.close()
	if err := j.prepareProfile(); err != nil {
		return o, errors.Join(err, undo())
	}
	lines := 0
	enough := func(string) bool { lines++; return lines >= j.ready() }
	if j.Job, err = trial.StartAt(j.seat.terminal(), p.cluster, d.argv, raceEnv, enough); err != nil {
		return o, errors.Join(err, undo())
	}
	j.Ignore, j.Patience = j.foreign, soon
	var blows sync.WaitGroup
	for _, b := range d.blows {
		if !b.before {
			blows.Go(func() { j.deal(b) })
		}
	}
	termed := make(chan bool, 1)
	go func() { termed <- j.terminate(&blows) }() // ends with golaunch; received below
	o.code, err = j.End(l.hang + stated + j.allowed())
	if err != nil {
		o.find("hangs", "%v", err)
	}
	close(j.ended)
	o.termed = <-termed
	blows.Wait()
	since := time.Now()
	modes := j.seat.changed()
	if err := errors.Join(append(j.errs, undo())...); err != nil {
		return o, err
	}
	o.drawn, o.struck, o.stderr = d, j.struck, j.Stderr.String()
	if modes != "" && !o.killed() {
		o.find("leftovers", "%s", modes)
	}
	if err := j.lookAtProfile(&o); err != nil {
		return o, err
	}
	return o, j.look(&o, held, since, l.left)
}

// raceEnv has the race detector write where everybody looks, and not wait.
var raceEnv = []string{"GORACE=" + raceOptions}

const raceOptions = "log_path=" + raceLog + " atexit_sleep_ms=0"

// raceLog is the path of the race detector's files on every machine, with a number
// after it.
const raceLog = "/var/log/golaunch-race"

// ready returns the number of lines of output that show that all ranks run.
func (d drawn) ready() int {
	i := slices.Index(d.argv, "-n")
	n, _ := strconv.Atoi(d.argv[i+1]) // drawn as a number
	return n
}

// allowed bounds the time of a job that nothing happens to.
func (j *job) allowed() (longest time.Duration) {
	for _, b := range j.blows {
		longest = max(longest, b.after+b.lasts)
		if b.deaf {
			longest = max(longest, b.after+bearTime)
		}
	}
	return longest + lingers
}

// bearTime is an agent's patience with a silent warden that starts, or has ranks to
// start: their programs may be far away.
const bearTime = time.Minute

// lingers is the time that an endless job goes on after the last blow, so that a node
// that fell silent is found lost.
const lingers = lostAfter + 3*time.Second

// before lets those blows fall that come before the job.
func (j *job) before() (undo func() error, err error) {
	var undos []func() error
	for _, b := range j.blows {
		if b.before && err == nil {
			var u func() error
			if u, err = b.strike(j, b); u != nil {
				undos = append(undos, u)
			}
			j.struck = append(j.struck, b)
		}
	}
	return func() error {
		var errs []error
		for _, u := range undos {
			errs = append(errs, u())
		}
		return errors.Join(errs...)
	}, err
}

// deal lets one blow fall, and undoes it.
func (j *job) deal(b blow) {
	if !b.early {
		j.wait(j.Ready, time.Hour)
	}
	j.wait(nil, b.after)
	select {
	case <-j.ended:
		return
	default:
	}
	undo, err := b.strike(j, b)
	if err == nil {
		j.mu.Lock()
		j.struck = append(j.struck, b)
		j.mu.Unlock()
	} // else there was nothing to strike any more, or not yet
	if undo == nil {
		return
	}
	j.wait(nil, b.lasts)
	if err := undo(); err != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.errs = append(j.errs, err)
	}
}

// wait waits for an event or a time, but not longer than golaunch runs.
func (j *job) wait(event <-chan struct{}, limit time.Duration) {
	select {
	case <-event:
	case <-time.After(limit):
	case <-j.ended:
	}
}

// terminate ends an endless job once all blows have had their time. It reports
// whether it did.
func (j *job) terminate(blows *sync.WaitGroup) bool {
	if !j.program.endless {
		return false
	}
	j.wait(j.Ready, time.Hour)
	over := make(chan struct{})
	go func() { // ends with the blows, at golaunch's end at the latest
		blows.Wait()
		close(over)
	}()
	j.wait(over, time.Hour)
	if j.undecided() {
		j.wait(nil, lingers)
	}
	select {
	case <-j.ended:
		return false
	default:
		return j.Cmd.Signal(syscall.SIGTERM) == nil
	}
}

// undecided reports whether a blow fell that may still end the job.
func (j *job) undecided() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.ContainsFunc(j.struck, func(b blow) bool { return len(b.codes) > 0 && !b.before })
}

// foreign reports whether golaunch cannot end a process: sshd's own of a connection
// that was cut, the one that makes an sshd late, and an sshd that was started again.
func (j *job) foreign(node string, p cluster.Proc) bool {
	line := strings.Join(p.Cmdline, " ")
	return slices.ContainsFunc(j.blows, func(b blow) bool {
		if b.node == node && (b.dead || b.memory) && strings.Contains(line, "[listener]") {
			return true
		}
		return b.node == node && (b.cuts || b.name == "sshd late") && !strings.Contains(line, "nla-") && !strings.Contains(line, j.word())
	})
}

// patience is the further time for remains to vanish: then they count as late, on a
// machine that these jobs keep busy, and not as left.
const patience = 30 * time.Second

// look looks at the remains, and at golaunch's words.
func (j *job) look(o *outcome, held trial.Holdings, since time.Time, limit time.Duration) error {
	if slices.ContainsFunc(j.struck, func(b blow) bool { return b.silent }) {
		limit += lostAfter // the rest of the job may have ended for another reason
	}
	if _, _, late := j.AwaitNothing(since, limit); late != nil {
		took, _, err := j.AwaitNothing(since, limit+patience)
		if err != nil {
			o.find("leftovers", "processes %v", err)
			if err := j.Clear(); err != nil {
				return err
			}
		} else {
			o.find("late", "processes %v; gone after %v", late, took.Round(time.Millisecond))
		}
	}
	if err := errors.Join(j.unlink(o, held), j.bury(held)); err != nil {
		return err
	}
	if late := trial.AwaitNothingHeld(j.place.cluster, held, since, limit); late != nil {
		if err := trial.AwaitNothingHeld(j.place.cluster, held, since, limit+patience); err != nil {
			o.find("leftovers", "%v", err)
		} else {
			o.find("late", "%v; gone after %v", late, time.Since(since).Round(time.Millisecond))
		}
	}
	if err := j.races(o); err != nil {
		return err
	}
	o.judge()
	return nil
}

// races takes the race detector's files from all machines.
func (j *job) races(o *outcome) error {
	if !j.race {
		return nil
	}
	for _, name := range trial.Everywhere(j.place.cluster) {
		out, err := j.place.cluster.Command(name, "sh", "-c", "cat "+raceLog+".* 2> /dev/null; rm -f "+raceLog+".*").Output()
		if err != nil {
			return fmt.Errorf("%s: race reports: %w", name, err)
		}
		if len(out) > 0 {
			o.find("races", "on %s: %s", name, out)
		}
	}
	return nil
}

func (o *outcome) find(kind, format string, args ...any) {
	o.faults = append(o.faults, finding{kind, fmt.Sprintf(format, args...)})
}
