package proc

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// spawner starts ranks.
type spawner struct {
	devNull  int
	shared   int // the ranks' SharedFD; -1: none
	startDir int // the warden's first working directory
	startPWD string

	place   *place   // of the last rank started
	inForce *Spec    // of the umask and limits in force
	env     []string // reused
	binder
}

// batch is one message's ranks. They are decoded when their turn comes, so that
// thousands that wait take little memory.
type batch struct {
	spec *Spec
	body []byte
}

// place is the common part of the ranks of one app: environment, directory and program.
type place struct {
	spec *Spec
	app  int
	base *environ
	err  *startError // why nothing of this app can be started

	path    string      // program found along base's PATH
	missing *startError // why none was found
}

func newSpawner() (spawner, error) {
	s := spawner{shared: -1}
	var err error
	if s.devNull, err = syscall.Open("/dev/null", syscall.O_RDWR|syscall.O_CLOEXEC, 0); err != nil {
		return s, fmt.Errorf("open /dev/null: %w", err)
	}
	// Without a directory to come back to (it was removed), apps that name none
	// run in / or $HOME.
	if s.startDir, err = syscall.Open(".", syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0); err != nil {
		s.startDir = -1
	} else if s.startPWD, err = os.Getwd(); err != nil {
		unix.Close(s.startDir)
		s.startDir = -1
	}
	return s, nil
}

func (j *wardenJob) enqueue(body []byte) error {
	if j.spec == nil {
		return errors.New("ranks without a specification")
	}
	j.queue = append(j.queue, batch{j.spec, append([]byte(nil), body...)})
	return nil
}

func (j *wardenJob) spawnable() bool { return len(j.queue) > 0 }

// next returns the next rank to start, and its spec, without taking it off.
func (j *wardenJob) next() (*Child, *Spec, error) {
	if len(j.current) == 0 {
		if err := decode(msgRanks, j.queue[0].body, children(&j.current)); err != nil {
			return nil, nil, err
		}
		if len(j.current) == 0 {
			return nil, nil, errors.New("an empty list of ranks")
		}
	}
	return &j.current[0], j.queue[0].spec, nil
}

// taken takes that rank off.
func (j *wardenJob) taken() {
	if j.current = j.current[1:]; len(j.current) == 0 {
		j.current = nil
		j.queue[0] = batch{}
		j.queue = j.queue[1:]
	}
}

// spawnOne starts the job's next rank, or reports why not. Where descriptors run out
// while some wait to be handed over, the rank keeps its turn.
func (w *warden) spawnOne(j *wardenJob) {
	c, spec, err := j.next()
	if err != nil { // the agent is the same executable: a bug
		w.note(j, 0, err.Error())
		j.current, j.queue = nil, j.queue[1:]
		return
	}
	out := &w.out
	e, fds, serr := w.start(j, c, spec, out)
	if serr != nil {
		if errors.Is(serr.cause, syscall.EMFILE) && out.holdsFDs() {
			out.seal()
			return
		}
		e = wireEvent{Kind: evStartFailed, Job: j.number, World: c.World, Rank: int(c.Rank), Code: serr.code, Text: serr.text}
	} else {
		w.live[e.PID] = liveRank{j, Child{World: c.World, Rank: c.Rank, Terminal: c.Terminal}}
		w.lead(j, e.PID)
		j.living++
		if err := w.marks.watch(e.PID, fds[len(fds)-1]); err != nil {
			w.note(j, 1, fmt.Sprintf("rank %d: its end is known when it is reaped: %v", c.Rank, err))
		}
	}
	out.add(e, fds...)
	j.taken()
}

// start forks and executes one rank. The descriptors are the parent's ends.
func (s *spawner) start(j *wardenJob, c *Child, spec *Spec, out *outbox) (wireEvent, []int, *startError) {
	if s.place == nil || s.place.spec != spec || s.place.app != c.App {
		s.enter(j, spec, c.App, out)
	}
	p := s.place
	if p.err != nil {
		return wireEvent{}, nil, p.err
	}
	argv := spec.Apps[c.App].Argv
	path, missing := p.path, p.missing
	if own, ok := lookup(c.Env, "PATH"); ok {
		path, missing = findProgram(argv[0], along(spec.Apps[c.App].Path, own))
	}
	if missing != nil {
		return wireEvent{}, nil, missing
	}

	child, parent, err := s.makeEnds(j, c, out)
	if err != nil {
		return wireEvent{}, nil, programError(argv[0], err)
	}
	files := slices.Clone(child[:])
	number := raise(&child)
	if number != lowSocket {
		files[lowSocket] = ^uintptr(0) // nothing
	}
	if s.shared >= 0 {
		files = append(files, uintptr(s.shared))
	}
	own := c.Env
	if spec.Socket != "" {
		own = append(slices.Clip(own), fmt.Sprintf("%s=%d", spec.Socket, number))
	}
	s.env = p.base.with(s.env[:0], own)
	if serr := s.onto(c.CPUs); serr != nil {
		s.closeChildEnds(child)
		closeAll(parent)
		return wireEvent{}, nil, serr
	}
	pid, err := s.fork(j, path, argv, &syscall.ProcAttr{Env: s.env, Files: files, Sys: &syscall.SysProcAttr{Setctty: c.Terminal != nil}}, out)
	if note := s.back(c.CPUs, pid); note != "" {
		out.add(wireEvent{Kind: evNote, Job: j.number, Text: note})
	}
	s.closeChildEnds(child)
	if err != nil {
		closeAll(parent)
		return wireEvent{}, nil, execError(argv[0], path, err)
	}
	return wireEvent{Kind: evStarted, Job: j.number, World: c.World, Rank: int(c.Rank), PID: pid, StdinPipe: c.StdinPipe, Terminal: c.Terminal != nil, At: time.Now().UnixNano()}, parent, nil
}

// fork starts a process in the job's cgroup, or without it where that cannot be
// used after all. Of attr.Sys it takes whether standard input controls the session.
func (s *spawner) fork(j *wardenJob, path string, argv []string, attr *syscall.ProcAttr, out *outbox) (pid int, err error) {
	attr.Sys = &syscall.SysProcAttr{
		Setsid:      true,
		Setctty:     attr.Sys != nil && attr.Sys.Setctty, // Ctty is 0
		Pdeathsig:   syscall.SIGKILL,                     // the warden's thread lives as long as it does
		UseCgroupFD: j.cgroupFD >= 0,
		CgroupFD:    j.cgroupFD,
	}
	pid, err = syscall.ForkExec(path, argv, attr)
	if err == nil || j.cgroupFD < 0 {
		return pid, err
	}
	reason := forbidsStart(j.cgroupFD)
	if reason == nil {
		return 0, err
	}
	out.add(wireEvent{Kind: evNote, Job: j.number, Code: 1, Text: fmt.Sprintf("no rank can be started in the job's cgroup (%v): its processes are tracked by descent", reason)})
	j.cgroupFD = -1
	return s.fork(j, path, argv, attr, out)
}

// makeEnds makes a rank's pipes, or its terminal, and its socket: its descriptors 0 to
// 3, and the other ends in the order of wireEvent.
func (s *spawner) makeEnds(j *wardenJob, c *Child, out *outbox) (child [4]uintptr, parent []int, err error) {
	child = [4]uintptr{uintptr(s.devNull)}
	made := make([]int, 0, 4)
	defer func() {
		if err != nil {
			closeAll(parent)
			closeAll(made)
		}
	}()
	parent = make([]int, 0, 4)
	add := func(slot, mine, its int, err error) error {
		if err != nil {
			return err
		}
		child[slot] = uintptr(its)
		parent, made = append(parent, mine), append(made, its)
		return nil
	}
	if c.Terminal != nil {
		master, terminal, err := terminalOf(*c.Terminal)
		if err := add(0, master, terminal, err); err != nil {
			return child, parent, err
		}
		child[1], child[2] = child[0], child[0]
		again, err := unix.Dup(master)
		if err != nil {
			return child, parent, err
		}
		parent = append(parent, again)
	}
	if c.StdinPipe {
		r, w, err := unix.Pipe()
		if err := add(0, w, r, err); err != nil {
			return child, parent, err
		}
	}
	for slot := 1; slot <= 2 && c.Terminal == nil; slot++ {
		r, w, err := s.outputOf(j, c, slot, out)
		if err := add(slot, r, w, err); err != nil {
			return child, parent, err
		}
	}
	a, b, err := unix.StreamPair()
	return child, parent, add(3, a, b, err)
}

// unbuffered is the size of terminals for standard output, which nobody looks at.
var unbuffered = unix.Window{Rows: 24, Columns: 80}

// outputOf makes what a rank has as standard output (1) or error (2): to read from and to
// write to.
func (s *spawner) outputOf(j *wardenJob, c *Child, slot int, out *outbox) (r, w int, err error) {
	if !c.Unbuffered || slot != 1 {
		return unix.Pipe()
	}
	r, w, err = unix.RawPTY(unbuffered)
	if err == nil || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) { // of which a pipe needs two as well
		return r, w, err
	}
	if !j.noPTY {
		j.noPTY = true
		out.add(wireEvent{Kind: evNote, Job: j.number, Text: fmt.Sprintf("--unbuffered: standard output of some ranks is a pipe, in which programs may hold it back: %v; kernel.pty.max says how many there may be", err)})
	}
	return unix.Pipe()
}

// The number of a rank's socket: the highest below highSocket that its limit of open
// files allows, so that the socket is the first that the kernel closes when the rank
// ends (see marks); with little room lowSocket. Some numbers above stay free: select
// takes none from 1024 on, and valgrind keeps a dozen at the limit for itself.
const (
	lowSocket  = 3
	highSocket = 1024
	keptFree   = 16
)

// socketNumber is that number by the limit in force.
func socketNumber() int { return int(min(unix.OpenFiles(), highSocket)) - keptFree }

// raise moves a rank's end of its socket up in the warden, where the rank inherits it, and
// returns its number; it is lowSocket where nothing was moved.
func raise(child *[4]uintptr) (number int) {
	// Package syscall moves descriptors out of its own way, right above these.
	const between = 8
	number = socketNumber()
	if number <= int(slices.Max(child[:]))+between || unix.DupTo(int(child[lowSocket]), number) != nil {
		return lowSocket
	}
	unix.Close(int(child[lowSocket]))
	child[lowSocket] = uintptr(number)
	return number
}

// terminalOf makes a pseudo-terminal of that size.
func terminalOf(size unix.Window) (master, terminal int, err error) {
	if master, terminal, err = unix.PTY(); err != nil {
		return -1, -1, err
	}
	if err = unix.SetWindow(master, size); err != nil {
		closeAll([]int{master, terminal})
		return -1, -1, fmt.Errorf("size of a pseudo-terminal: %w", err)
	}
	return master, terminal, nil
}

func (s *spawner) closeChildEnds(child [4]uintptr) {
	for i, fd := range child {
		if int(fd) != s.devNull && !slices.Contains(child[:i], fd) {
			unix.Close(int(fd))
		}
	}
}

// enter puts the limits of spec in force and goes where the app is to run; the
// result is s.place.
func (s *spawner) enter(j *wardenJob, spec *Spec, app int, out *outbox) {
	p := &place{spec: spec, app: app}
	s.place = p
	if app < 0 || app >= len(spec.Apps) || len(spec.Apps[app].Argv) == 0 {
		p.err = &startError{code: job.ExitLauncher, text: fmt.Sprintf("app %d has no program", app)}
		return
	}
	if s.inForce != spec {
		s.inForce = spec
		unix.SetUmask(spec.Umask)
		s.limit(j, spec.Rlimits, out)
	}
	a := &spec.Apps[app]
	// The job's name comes first, where a scan of environments finds it soonest.
	p.base = newEnviron([]string{JobEnv(j.id)}, spec.Env, a.Env)
	p.base.set(JobEnv(j.id))
	dir, note, err := s.changeDir(a, p.base)
	if err != nil {
		p.err = err
		return
	}
	if note != "" {
		out.add(wireEvent{Kind: evNote, Job: j.number, Text: note})
	}
	p.base.set("PWD=" + dir)
	path, ok := lookup(p.base.vars, "PATH")
	if !ok {
		path = defaultPath
	}
	p.path, p.missing = findProgram(a.Argv[0], along(a.Path, path))
	if p.missing != nil && p.missing.sought != "" {
		out.add(wireEvent{Kind: evNote, Job: j.number, Code: 1, Text: fmt.Sprintf("%s was sought in %s", a.Argv[0], p.missing.sought)})
	}
}

// along puts directories in front of a PATH.
func along(first, path string) string {
	if first == "" {
		return path
	}
	return first + ":" + path
}

// ownFiles gives the warden back enough descriptors for its own work, where the
// ranks' limit is lower. A later launch sets that again.
func (s *spawner) ownFiles() {
	const enough = 64
	if s.inForce != nil {
		s.inForce, s.place = nil, nil
		_, _ = unix.RaiseNoFile(enough) // with less it is as well as can be
	}
}
