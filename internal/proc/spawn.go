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

// spawner starts ranks and knows which live.
type spawner struct {
	jobID    string
	cgroupFD int // -1 where there is none
	devNull  int
	shared   int // what ranks get as SharedFD; -1: nothing
	startDir int // the warden's first working directory
	startPWD string

	spec    *Spec     // for batches to come
	queue   []batch   // ranks not started yet
	current []Child   // of queue[0], decoded, the rest to start
	place   *place    // of the last rank started
	inForce *Spec     // whose umask and limits are in force
	told    [2]string // of limits that could not be set, by level
	live    map[int]Child
	noPTY   bool     // it was told that there are no pseudo-terminals
	env     []string // reused
	binder
}

// batch is one message's ranks. They are decoded when their turn comes, so that
// thousands that wait take little memory.
type batch struct {
	spec *Spec
	body []byte
}

// place is what ranks of one app share: where and what to execute.
type place struct {
	spec *Spec
	app  int
	base *environ
	err  *startError // why nothing of this app can be started

	path    string      // program found along base's PATH
	missing *startError // why none was found
}

func newSpawner(jobID string) (spawner, error) {
	s := spawner{jobID: jobID, cgroupFD: -1, shared: -1, live: map[int]Child{}}
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

func (s *spawner) enqueue(body []byte) error {
	if s.spec == nil {
		return errors.New("ranks without a specification")
	}
	s.queue = append(s.queue, batch{s.spec, append([]byte(nil), body...)})
	return nil
}

func (s *spawner) spawnable() bool { return len(s.queue) > 0 }

// next returns the next rank to start, and its spec, without taking it off.
func (s *spawner) next() (*Child, *Spec, error) {
	if len(s.current) == 0 {
		if err := decode(msgRanks, s.queue[0].body, children(&s.current)); err != nil {
			return nil, nil, err
		}
		if len(s.current) == 0 {
			return nil, nil, errors.New("an empty list of ranks")
		}
	}
	return &s.current[0], s.queue[0].spec, nil
}

// taken takes that rank off.
func (s *spawner) taken() {
	if s.current = s.current[1:]; len(s.current) == 0 {
		s.current = nil
		s.queue[0] = batch{}
		s.queue = s.queue[1:]
	}
}

// spawnOne starts the next rank, or reports why not. Where descriptors run out
// while some wait to be handed over, the rank keeps its turn.
func (s *spawner) spawnOne(out *outbox, m *marks) {
	c, spec, err := s.next()
	if err != nil { // the agent is the same executable: a bug
		out.add(wireEvent{Kind: evNote, Text: err.Error()})
		s.current, s.queue = nil, s.queue[1:]
		return
	}
	e, fds, serr := s.start(c, spec, out)
	if serr != nil {
		if errors.Is(serr.cause, syscall.EMFILE) && out.holdsFDs() {
			out.seal()
			return
		}
		e = wireEvent{Kind: evStartFailed, World: c.World, Rank: int(c.Rank), Code: serr.code, Text: serr.text}
	} else {
		s.live[e.PID] = Child{World: c.World, Rank: c.Rank, Terminal: c.Terminal}
		if err := m.watch(e.PID, fds[len(fds)-1]); err != nil {
			out.add(wireEvent{Kind: evNote, Code: 1, Text: fmt.Sprintf("rank %d: its end is known when it is reaped: %v", c.Rank, err)})
		}
	}
	out.add(e, fds...)
	s.taken()
}

// start forks and executes one rank. The descriptors are the parent's ends.
func (s *spawner) start(c *Child, spec *Spec, out *outbox) (wireEvent, []int, *startError) {
	if s.place == nil || s.place.spec != spec || s.place.app != c.App {
		s.enter(spec, c.App, out)
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

	child, parent, err := s.ends(c, out)
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
	pid, err := s.fork(path, argv, &syscall.ProcAttr{Env: s.env, Files: files, Sys: &syscall.SysProcAttr{Setctty: c.Terminal != nil}}, out)
	if note := s.back(c.CPUs, pid); note != "" {
		out.add(wireEvent{Kind: evNote, Text: note})
	}
	s.closeChildEnds(child)
	if err != nil {
		closeAll(parent)
		return wireEvent{}, nil, execError(argv[0], path, err)
	}
	return wireEvent{Kind: evStarted, World: c.World, Rank: int(c.Rank), PID: pid, StdinPipe: c.StdinPipe, Terminal: c.Terminal != nil, At: time.Now().UnixNano()}, parent, nil
}

// fork starts a process in the job's cgroup, or without it where that cannot be
// used after all. Of attr.Sys it takes whether standard input controls the session.
func (s *spawner) fork(path string, argv []string, attr *syscall.ProcAttr, out *outbox) (pid int, err error) {
	attr.Sys = &syscall.SysProcAttr{
		Setsid:      true,
		Setctty:     attr.Sys != nil && attr.Sys.Setctty, // Ctty is 0
		Pdeathsig:   syscall.SIGKILL,                     // the warden's thread lives as long as it does
		UseCgroupFD: s.cgroupFD >= 0,
		CgroupFD:    s.cgroupFD,
	}
	pid, err = syscall.ForkExec(path, argv, attr)
	if err == nil || s.cgroupFD < 0 {
		return pid, err
	}
	why := forbidsStart(s.cgroupFD)
	if why == nil {
		return 0, err
	}
	out.add(wireEvent{Kind: evNote, Code: 1, Text: fmt.Sprintf("no rank can be started in the job's cgroup (%v): its processes are tracked by descent", why)})
	s.cgroupFD = -1
	return s.fork(path, argv, attr, out)
}

// ends makes a rank's pipes, or its terminal, and its socket: what becomes its
// descriptors 0 to 3, and the other ends in the order of wireEvent.
func (s *spawner) ends(c *Child, out *outbox) (child [4]uintptr, parent []int, err error) {
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
		r, w, err := s.outputOf(c, slot, out)
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
func (s *spawner) outputOf(c *Child, slot int, out *outbox) (r, w int, err error) {
	if !c.Unbuffered || slot != 1 {
		return unix.Pipe()
	}
	r, w, err = unix.RawPTY(unbuffered)
	if err == nil || errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) { // of which a pipe needs two as well
		return r, w, err
	}
	if !s.noPTY {
		s.noPTY = true
		out.add(wireEvent{Kind: evNote, Text: fmt.Sprintf("--unbuffered: standard output of some ranks is a pipe, in which programs may hold it back: %v; kernel.pty.max says how many there may be", err)})
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
	// What package syscall moves out of its own way goes right above these.
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
func (s *spawner) enter(spec *Spec, app int, out *outbox) {
	p := &place{spec: spec, app: app}
	s.place = p
	if app < 0 || app >= len(spec.Apps) || len(spec.Apps[app].Argv) == 0 {
		p.err = &startError{code: job.ExitLauncher, text: fmt.Sprintf("app %d has no program", app)}
		return
	}
	if s.inForce != spec {
		s.inForce = spec
		unix.SetUmask(spec.Umask)
		s.limit(spec.Rlimits, out)
	}
	a := &spec.Apps[app]
	// The job's name comes first, where a scan of environments finds it soonest.
	p.base = newEnviron([]string{JobEnv(s.jobID)}, spec.Env, a.Env)
	p.base.set(JobEnv(s.jobID))
	dir, note, err := s.changeDir(a, p.base)
	if err != nil {
		p.err = err
		return
	}
	if note != "" {
		out.add(wireEvent{Kind: evNote, Text: note})
	}
	p.base.set("PWD=" + dir)
	path, ok := lookup(p.base.vars, "PATH")
	if !ok {
		path = defaultPath
	}
	p.path, p.missing = findProgram(a.Argv[0], along(a.Path, path))
	if p.missing != nil && p.missing.sought != "" {
		out.add(wireEvent{Kind: evNote, Code: 1, Text: fmt.Sprintf("%s was sought in %s", a.Argv[0], p.missing.sought)})
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
