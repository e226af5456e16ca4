package slurmboot

import (
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/hostlist"
)

// Beginnings and parts of srun's lines, in the words of 22.05.
const (
	// "srun: error: n[001-002]: tasks 0-1: Exited with exit code 2"
	errorWord = "srun: error: "
	// "srun: error: Task launch for StepId=2.0 failed on node n003: Communication connection failure"
	launchWord = errorWord + "Task launch for "
	nodeWord   = " failed on node "
	// "slurmstepd: error: *** STEP 4.0 ON n001 CANCELLED AT 2026-11-23T17:13:43 DUE TO TIME LIMIT ***"
	stepEnded = "*** STEP "
	// Reasons of stepEnded: somebody, or a limit, had the step ended; a node has, whose
	// loss golaunch finds by itself.
	cancelledWord   = " CANCELLED "
	nodeFailureWord = "NODE FAILURE"
	// "srun: Job step aborted: Waiting up to 22 seconds for job step to finish."
	abortedWord = "srun: Job step aborted"
	// "2: slurmstepd: error: execve(): /opt/golaunch: No such file or directory"
	executeWord = "execve(): "
	noSuchWord  = ": No such file or directory"
)

var (
	// The whole step is being ended.
	aborted = []string{abortedWord, "srun: Force Terminated", errorWord + "Application launch failed"}
	// No step could be made, for some of its nodes.
	noNodes = []string{"Required node not available", "Requested node configuration is not available", "Requested nodes are busy"}
	// Flags that mean nothing on this cluster.
	idle = []string{"lacks support for cpu binding"}
)

// anyIn tells whether a line has any of some words.
func anyIn(line string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(line, w) })
}

// launchFailed takes apart srun's line about a node that does not answer.
func launchFailed(line string) (host, why string, ok bool) {
	rest, ok := strings.CutPrefix(line, launchWord)
	_, rest, found := strings.Cut(rest, nodeWord)
	host, why, whole := strings.Cut(rest, ": ")
	return host, why, ok && found && whole
}

// taskEnded takes apart srun's line about tasks that have ended badly.
func taskEnded(line string) (nodes, tasks, how string, ok bool) {
	rest, ok := strings.CutPrefix(line, errorWord)
	nodes, rest, _ = strings.Cut(rest, ": ")
	tasks, how, whole := strings.Cut(rest, ": ")
	numbers, one := strings.CutPrefix(tasks, "task ")
	if !one {
		numbers, one = strings.CutPrefix(tasks, "tasks ")
	}
	return nodes, numbers, how, ok && whole && one
}

// labelled takes apart a task's line.
func labelled(line string) (task int, said string, ok bool) {
	label, said, ok := strings.Cut(strings.TrimLeft(line, " "), ": ")
	task, err := strconv.Atoi(label)
	return task, said, ok && err == nil && task >= 0
}

const (
	maxSaid  = 2 << 10 // bytes that are kept of a task
	maxLines = 16      // lines that are kept of what is nobody's
)

// record holds the words of one srun. It is pure.
type record struct {
	hosts   map[string]bool
	said    map[int]string // by task
	ended   map[string]end // hosts whose task has ended badly and nobody has taken yet
	dead    map[string]string
	general []string // words about no task
	each    bool     // it told of tasks how they ended
	stopped bool     // the whole step is being ended: how a task ends says nothing of it
	// cancelled has Slurm's words about a step that somebody, or a limit, had it end;
	// or "".
	cancelled string
	aborted   bool // srun has the step ended, for nothing that it has told of
}

// end is the end of a task.
type end struct {
	task int // -1 where srun does not tell
	how  string
}

func newRecord(names []string) *record {
	r := &record{hosts: map[string]bool{}, said: map[int]string{}, ended: map[string]end{}, dead: map[string]string{}}
	for _, name := range names {
		r.hosts[name] = true
	}
	return r
}

// note takes a line.
func (r *record) note(line string) {
	line = strings.TrimRight(line, "\r\n")
	if host, why, ok := launchFailed(line); ok && r.hosts[host] {
		r.dead[host], r.stopped = why, true
		return
	}
	if nodes, tasks, how, ok := taskEnded(line); ok && r.tasksEnded(nodes, tasks, how) {
		return
	}
	if task, said, ok := labelled(line); ok && task < len(r.hosts) && !strings.Contains(said, stepEnded) {
		if len(r.said[task]) < maxSaid {
			r.said[task] = strings.TrimSpace(r.said[task] + "\n" + said)
		}
		return
	}
	r.aborted = r.aborted || !r.stopped && strings.Contains(line, abortedWord)
	r.stopped = r.stopped || anyIn(line, aborted)
	r.cancelledBy(line)
	if len(r.general) < maxLines && !anyIn(line, idle) && strings.TrimSpace(line) != "" {
		r.general = append(r.general, line)
	}
}

// cancelledBy notes that a line says that the step was cancelled, unless srun itself does so
// since it cannot start some of it.
func (r *record) cancelledBy(line string) {
	at := strings.Index(line, stepEnded)
	if at < 0 || !strings.Contains(line, cancelledWord) || strings.Contains(line, nodeFailureWord) || len(r.dead) > 0 {
		return
	}
	r.stopped, r.cancelled = true, line[at:]
}

// settle takes a step that srun has ended for cancelled, where nothing else has come of it
// meanwhile: its agents may all be gone before the node that tells of it has.
func (r *record) settle() {
	lost := func(line string) bool { return strings.Contains(strings.ToUpper(line), nodeFailureWord) }
	if r.aborted && r.cancelled == "" && len(r.dead) == 0 && !slices.ContainsFunc(r.general, lost) {
		r.cancelled = abortedWord
	}
}

// tasksEnded notes how the tasks of some nodes ended, one of each: both lists ascend.
func (r *record) tasksEnded(nodes, tasks, how string) bool {
	hosts, err := hostlist.Parse(nodes, "srun")
	if err != nil {
		return false
	}
	numbers := numbersIn(tasks, len(r.hosts))
	for i, h := range hosts {
		if !r.hosts[h.Name] {
			return false
		}
		e := end{task: -1, how: how}
		if len(numbers) == len(hosts) {
			e.task = numbers[i]
		}
		if !r.stopped {
			r.ended[h.Name], r.each = e, true
		}
	}
	return true
}

// numbersIn expands "0,2-4", of numbers below limit; nil for what it cannot.
func numbersIn(list string, limit int) (numbers []int) {
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		lo, err := strconv.Atoi(first)
		hi := lo
		if err == nil && isRange {
			hi, err = strconv.Atoi(last)
		}
		if err != nil || lo < 0 || hi < lo || hi >= limit {
			return nil
		}
		for n := lo; n <= hi; n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// failure is a host whose command failed, and why.
type failure struct{ host, why string }

// take returns the hosts whose tasks have ended badly since it was called last: those
// that lack the executable, and the others with their tasks' words.
func (r *record) take() (lacking []string, failed []failure) {
	for _, host := range sorted(r.ended) {
		e := r.ended[host]
		why := e.how
		if said := r.said[e.task]; e.task >= 0 && said != "" {
			if strings.Contains(said, executeWord) && strings.Contains(said, noSuchWord) {
				lacking = append(lacking, host)
				continue
			}
			why += ": " + said
		}
		failed = append(failed, failure{host, why})
	}
	clear(r.ended)
	return lacking, failed
}

// refused tells whether no step was made because of some of the nodes, which srun does
// not name.
func (r *record) refused() bool {
	return slices.ContainsFunc(r.general, func(line string) bool { return anyIn(line, noNodes) })
}

// text joins the words about no host.
func (r *record) text() string { return strings.Join(r.general, "; ") }

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
