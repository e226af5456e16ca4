package slurmboot

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

const (
	maxSecret = 4 << 10 // bytes
	// settle bounds the wait for further news after that of the end of a task, or of the step:
	// the words of a task, and the reason for the step's end, come by other ways.
	settle = 300 * time.Millisecond
	// killAfter is the time that srun, told to end, may wait for nodes that do not
	// answer. The processes that it would kill have ended by themselves: agents do so
	// without their link.
	killAfter = 500 * time.Millisecond
	// stateTime is the time that slurmctld may take to tell the states of nodes.
	stateTime = 10 * time.Second
	maxLine   = 64 << 10 // bytes of a line of srun's that is read
)

// Bulk is the bootstrap.Bulk of an allocation.
type Bulk struct {
	Program string         // srun
	Env     []string       // its environment
	Group   map[string]int // the component of each host; nil where the job has none
	// Note tells the user something; it may be called from several goroutines.
	Note func(format string, args ...any)
}

var _ bootstrap.Bulk = (*Bulk)(nil)

// start is one Start.
type start struct {
	*Bulk
	ctx      context.Context
	argv     []string
	secret   []byte
	failures chan *bootstrap.Error
	tasks    sync.WaitGroup

	mu   sync.Mutex
	told map[string]bool // hosts that have failed
}

// Start implements bootstrap.Bulk. Commands that are started in place of others, which
// srun has ended for a node that does not answer, are the same commands on the same hosts.
func (b *Bulk) Start(ctx context.Context, hosts []bootstrap.Host, argv []string, secret io.Reader) (<-chan *bootstrap.Error, error) {
	words, err := io.ReadAll(io.LimitReader(secret, maxSecret+1))
	if err != nil {
		return nil, fmt.Errorf("srun: secret: %w", err)
	}
	if len(words) > maxSecret {
		return nil, fmt.Errorf("srun: secret: longer than %d bytes", maxSecret)
	}
	s := &start{Bulk: b, ctx: ctx, argv: argv, secret: words, failures: make(chan *bootstrap.Error, len(hosts)), told: map[string]bool{}}
	for _, st := range split(hosts, b.Group) {
		s.tasks.Go(func() { s.run(st) }) // ends with its srun, which the end of ctx brings about
	}
	go func() { // ends with the last srun
		s.tasks.Wait()
		close(s.failures)
	}()
	return s.failures, nil
}

// fail tells that no command of a host will run any more. Each host fails once.
func (s *start) fail(host string, phase bootstrap.Phase, hint, format string, args ...any) {
	s.tell(&bootstrap.Error{Host: host, Phase: phase, Err: fmt.Errorf(format, args...), Permanent: true, Hint: hint})
}

func (s *start) tell(e *bootstrap.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told[e.Host] {
		return
	}
	s.told[e.Host] = true
	s.failures <- e
}

// run carries out a step, and those that it leaves to do. Each has fewer hosts.
func (s *start) run(st step) {
	for len(st.names) > 0 && s.ctx.Err() == nil {
		if st.names = s.runOnce(st); len(st.names) > 0 {
			s.Note("srun ended the agents of %d hosts for others that do not answer; it starts them again", len(st.names))
		}
	}
}

// runOnce runs one srun, from its start to its end. It returns the hosts to start again.
func (s *start) runOnce(st step) (again []string) {
	words := st.words(s.Program, s.argv)
	cmd := exec.CommandContext(s.ctx, words[0], words[1:]...)
	cmd.Env = s.Env
	cmd.Stdin = bytes.NewReader(s.secret)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // out of reach of a terminal's Ctrl-C
	endGroup(cmd, syscall.SIGTERM)
	l := &listener{record: newRecord(st.names), left: slices.Clone(st.names)}
	l.settled = func() {
		lacking, failed := l.record.take()
		for _, f := range failed {
			s.fail(f.host, bootstrap.Command, "", "its agent ended: %s", f.why)
		}
		l.left = slices.DeleteFunc(l.left, func(name string) bool {
			return slices.Contains(lacking, name) || slices.ContainsFunc(failed, func(f failure) bool { return f.host == name })
		})
		s.bring(st, lacking)
		if l.record.settle(); l.record.cancelled != "" {
			l.cancelled()
		}
	}
	l.cancelled = func() {
		s.failAll(l.left, bootstrap.WholeCancelled, fmt.Errorf("Slurm ended the step of golaunch's agents: %s", l.record.cancelled)) //nolint:staticcheck // a name
	}
	cmd.Stderr = l
	err := cmd.Run()
	if s.ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // processes that have outlived the grace
	}
	left := l.close()
	if s.ctx.Err() != nil {
		return nil
	}
	return s.finish(l.record, left, err)
}

// endGroup has a command, which leads a group, ended by a signal to all of it where its
// context ends: an srun may be a script that runs Slurm's.
func endGroup(cmd *exec.Cmd, signal syscall.Signal) {
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, signal) }
	cmd.WaitDelay = killAfter
}

// listener receives an srun's output.
type listener struct {
	mu      sync.Mutex
	record  *record
	left    []string // hosts of which nothing bad was told
	part    []byte   // of a line
	late    *time.Timer
	settled func() // called with the lock held, a while after tasks, or the step, have ended
	// cancelled is called with the lock held, at once when the step is said to be cancelled:
	// that is to be known before its agents are missed.
	cancelled func()
}

// Write takes srun's output.
func (l *listener) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.part = append(l.part, p...)
	for {
		line, rest, whole := bytes.Cut(l.part, []byte{'\n'})
		if !whole {
			break
		}
		l.record.note(string(line))
		l.part = rest
	}
	if l.record.cancelled != "" {
		l.cancelled()
	}
	if len(l.part) > maxLine {
		l.part = nil
	}
	if (len(l.record.ended) > 0 || l.record.aborted) && l.late == nil {
		l.late = time.AfterFunc(settle, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.late = nil
			l.settled()
		})
	}
	return len(p), nil
}

// close takes the rest of srun's output at its end, and returns the hosts of which
// nothing bad was told.
func (l *listener) close() (left []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.late != nil {
		l.late.Stop()
	}
	l.record.note(string(l.part))
	l.settled()
	l.settled = func() {}
	return l.left
}

// bring starts hosts anew that lack the executable, with srun to bring it.
func (s *start) bring(st step, lacking []string) {
	if st.bring != "" { // it was brought, and is not there
		s.failAll(lacking, bootstrap.WholeRuns, fmt.Errorf("srun brought golaunch to %s, and does not find it there", st.bring))
		return
	}
	if len(lacking) == 0 {
		return
	}
	random := make([]byte, 8)
	_, _ = rand.Read(random) // Read never fails
	to := step{group: st.group, names: lacking, bring: "/tmp/golaunch-" + hex.EncodeToString(random)}
	s.Note("%d hosts lack %s: srun brings it to them", len(lacking), s.argv[0])
	s.tasks.Go(func() { s.run(to) }) // as Start's
}

// finish tells of the hosts that are left at the end of an srun, and returns those to
// start again: all that answer, if one does not.
func (s *start) finish(r *record, left []string, ended error) (again []string) {
	const hint = "its slurmd does not answer: see 'scontrol show node'; --allow-dead-nodes or --spares do without it"
	dead := r.dead
	if ended != nil && len(dead) == 0 && r.refused() {
		dead = s.unusable(left)
	}
	for _, host := range sorted(dead) {
		s.fail(host, bootstrap.Connect, hint, "srun starts nothing there: %s", dead[host])
	}
	left = slices.DeleteFunc(left, func(name string) bool { return dead[name] != "" })
	_, exited := errors.AsType[*exec.ExitError](ended)
	switch {
	case ended == nil, r.cancelled != "":
		return nil // and so has each task
	case len(dead) > 0:
		return left
	case exited && r.each && !r.stopped: // its status is that of a task
		return nil
	}
	whole := bootstrap.WholeRuns
	if killed(ended) {
		whole = bootstrap.WholeEnded
	}
	s.failAll(left, whole, fmt.Errorf("srun ended (%w)%s", ended, prefixed(": ", r.text())))
	return nil
}

// killed tells whether a signal has ended a command.
func killed(ended error) bool {
	e, ok := errors.AsType[*exec.ExitError](ended)
	if !ok {
		return false
	}
	status, ok := e.Sys().(syscall.WaitStatus)
	return ok && status.Signaled()
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

func (s *start) failAll(hosts []string, whole bootstrap.Whole, err error) {
	for _, host := range hosts {
		s.tell(&bootstrap.Error{Host: host, Phase: bootstrap.Command, Err: err, Permanent: true, Whole: whole})
	}
}

// unusable asks slurmctld which of the hosts it starts nothing on, and why.
func (s *start) unusable(hosts []string) map[string]string {
	ctx, cancel := context.WithTimeout(s.ctx, stateTime)
	defer cancel()
	st := step{names: hosts}
	cmd := exec.CommandContext(ctx, "sinfo", "--noheader", "--Node", "--nodes="+st.nodeList(), "--format=%N %T")
	cmd.Env = s.Env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endGroup(cmd, syscall.SIGKILL)
	out, err := cmd.Output()
	if err != nil {
		return nil
	}
	states := map[string]string{}
	for line := range strings.Lines(string(out)) {
		host, state, _ := strings.Cut(strings.TrimSpace(line), " ")
		if down(state) && slices.Contains(hosts, host) {
			states[host] = "its state is " + state
		}
	}
	return states
}

// down tells whether no step can start on a node of that state. An asterisk is for one
// that does not answer.
func down(state string) bool {
	return strings.HasSuffix(state, "*") || slices.ContainsFunc([]string{"down", "fail", "error", "unknown", "power", "reboot"}, func(word string) bool {
		return strings.HasPrefix(strings.ToLower(state), word)
	})
}
