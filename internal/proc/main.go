package proc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

// WardenWord is the first argument that makes an executable with this package in
// it a warden.
const WardenWord = "nla-warden"

// agentFD is the warden's end of the socket.
const agentFD = 3

// SharedFD is the descriptor that all ranks share, where Options.Shared asks for
// it: the warden has it under the same number.
const SharedFD = 4

// sharedWord is the warden's argument that says that it has SharedFD.
const sharedWord = "shared"

// noCgroupWord is the warden's argument that forbids a cgroup.
const noCgroupWord = "no-cgroup"

// leftSome is a warden's exit code when it could not do all, or not begin.
const leftSome = 1

// warden is the state of the warden process. One goroutine, on one thread, does
// everything: ranks' parent-death signals, which the kernel ties to the thread
// that forked, and the ownership of wait4 rest on that.
type warden struct {
	sock     int
	poll     *unix.Poller
	watching bool // for room to write to the agent, too
	recv     *unix.Rights
	packets  assembler
	out      outbox
	agent    int // its pid
	heart    heartbeat
	memory   *memory
	marks    marks
	tree     *wardenJob // for processes of no job; its cgroup has those of jobs below
	jobs     map[job.Number]*wardenJob
	order    []*wardenJob // of jobs, as they were opened; a list that was read stays as it was
	live     map[int]liveRank
	helping  map[int]helping
	removals removals
	// childless says that the last wait4 found no child left, and none was started since.
	childless bool
	final     bool // it leaves when nothing is left
	spawner
}

// liveRank is a rank that runs, and its job.
type liveRank struct {
	job *wardenJob
	Child
}

// socketTag is the agent's socket in the poller.
const socketTag = 1

// A process that Start runs becomes a warden here, before main and, as the order
// of init functions goes, before those of packages that a warden has no use for:
// those of ssh and the network take as long as a rank's start, on every node. All
// run on the process's first thread, which belongs to them alone until main: the
// thread that the warden needs, see there. The process exits with 0 when nothing
// of the job is left, and with leftSome otherwise.
func init() {
	if len(os.Args) < 2 || os.Args[1] != WardenWord {
		return
	}
	if err := runWarden(os.Args); err != nil {
		complain("%v", err)
		os.Exit(leftSome)
	}
	os.Exit(0)
}

// complain tells the agent, which reads the warden's standard error. Once it is
// gone nobody does: a write by os.Stderr would end the warden then, with SIGPIPE,
// and leave the job behind.
func complain(format string, args ...any) {
	_, _ = syscall.Write(2, fmt.Appendf(nil, "warden: "+format+"\n", args...))
}

func runWarden(args []string) error {
	if len(args) < 5 || args[1] != WardenWord || !unix.IsPacketSocket(agentFD) {
		return fmt.Errorf("%s is started by golaunch's agent, not by hand", WardenWord)
	}
	if err := checkJobID(args[2]); err != nil {
		return err
	}
	if err := unix.HeedSignals(); err != nil { // the agent ignores some; ranks must not
		return err
	}
	unix.CloseOnExec(agentFD)
	// Descriptors that the agent's own parent left open are not for ranks.
	first, shared := agentFD+1, -1
	if slices.Contains(args[5:], sharedWord) {
		first, shared = SharedFD+1, SharedFD
		unix.CloseOnExec(SharedFD)
	}
	if err := unix.CloseOnExecFrom(first); err != nil {
		return err
	}
	if number := socketNumber(); number > first { // see roomy
		unix.Close(number)
	}
	lostAfter, err := time.ParseDuration(args[3])
	if err != nil {
		return err
	}
	slack, err := time.ParseDuration(args[4])
	if err != nil {
		return err
	}
	if err := unix.SetTimerSlack(slack); err != nil { // of this thread, from which ranks inherit it
		return err
	}
	w, hello, err := newWarden(args[2], slices.Contains(args[5:], noCgroupWord))
	if err != nil {
		return err
	}
	w.shared, w.heart.every = shared, lostAfter/BeatsPerLoss
	defer w.abandonCgroup()
	if err := w.out.message(msgHello, hello.fields); err != nil {
		return err
	}
	w.memory = watchMemory(hello.Cgroup) // before the first rank, while the agent goes on
	return w.loop()
}

func newWarden(jobID string, noCgroup bool) (*warden, *hello, error) {
	if err := unix.Subreaper(); err != nil {
		return nil, nil, err
	}
	poll, err := unix.NewPoller()
	if err != nil {
		return nil, nil, err
	}
	if err := poll.Add(agentFD, socketTag); err != nil {
		return nil, nil, err
	}
	w := &warden{sock: agentFD, poll: poll, recv: unix.NewRights(packetRoom), agent: os.Getppid(), marks: newMarks(poll)}
	w.live, w.helping, w.jobs = map[int]liveRank{}, map[int]helping{}, map[job.Number]*wardenJob{}
	w.tree = &wardenJob{number: job.TreeItself, id: jobID, cgroupFD: -1, sessions: map[int]bool{}}
	w.out.sock = agentFD
	if w.spawner, err = newSpawner(); err != nil {
		return nil, nil, err
	}
	first := &hello{PID: os.Getpid(), NoCgroup: "switched off"}
	if !noCgroup {
		cg, err := newCgroup(cgroupName(jobID, os.Getpid()))
		if err == nil {
			w.tree.cgroup = cg
			first.Cgroup, first.NoCgroup = cg.dir, ""
		} else {
			first.NoCgroup = err.Error()
		}
	}
	return w, first, nil
}

// loop runs until the job has been ended and the agent told, or is gone itself.
func (w *warden) loop() error {
	// Only the agent acts on signals of a resource manager to all processes of a job.
	// Caught and not ignored: ranks would inherit that. SIGTERM alone, as of
	// unix.ForRanks Go's runtime does nothing: for each signal that it is to catch, Go
	// goes from this thread to others and back a few times, so that of children is not
	// among them before the first child, either.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGTERM)
	children := make(chan os.Signal, 1)
	go func() { // lives as long as the process
		for range children {
			w.poll.Wake()
		}
	}()

	ready := make([]unix.Ready, 64)
	listening := false // to SIGCHLD
	for {
		timeout := w.step()
		if w.finished() {
			return w.leave()
		}
		switch busy := timeout == 0; {
		case busy && listening: // each step reaps
			listening = false
			signal.Stop(children)
		case !busy && !listening && !w.childless:
			listening = true
			// A child that ended before this is found by one more step.
			signal.Notify(children, syscall.SIGCHLD)
			timeout = 0
		}
		w.marks.sleeps(timeout == 0)
		n, err := w.poll.Wait(ready, timeout)
		if err != nil {
			return err
		}
		w.marks.note(ready[:n]) // before a command that ends ranks
		for _, r := range ready[:n] {
			if r.Tag == socketTag && r.Readable {
				w.receive()
			}
		}
	}
}

// step does what can be done without waiting, and returns how long to wait for
// more: 0 if there is more already, negative if only an event brings more.
func (w *warden) step() time.Duration {
	if !w.out.closed && !w.final && w.heart.lost(time.Now()) {
		w.killAgent()
	}
	w.reap()
	w.stepEndings()
	w.hearRemoved()
	for _, j := range w.order {
		for w.mayHelp(j) {
			w.startHelper(j)
			w.childless = false
		}
	}
	if j := w.mayStart(); j != nil {
		w.spawnOne(j)
		w.childless = false
	}
	busy := w.mayStart() != nil
	retry, err := w.out.flush(busy)
	if err != nil {
		w.agentLost()
	}
	if err := w.watch(w.out.blocked() && retry == 0); err != nil {
		w.agentLost()
	}
	if busy && w.mayStart() != nil {
		return 0
	}
	timeout := w.patienceOfAll()
	if retry > 0 {
		timeout = sooner(timeout, retry)
	}
	if !w.out.closed && !w.final {
		timeout = sooner(timeout, w.heart.wait(time.Now()))
	}
	return timeout
}

// sooner is the shorter of two waits, of which a negative one has no end.
func sooner(a, b time.Duration) time.Duration {
	if a < 0 || b >= 0 && b < a {
		return b
	}
	return a
}

// mayStart finds a job with a rank that waits for its start and nothing in its way:
// neither an agent that is behind, nor the end of what was launched before, nor
// a stop of all its ranks. It returns nil for none.
func (w *warden) mayStart() *wardenJob {
	if !w.out.clear() {
		return nil
	}
	for _, j := range w.order {
		if j.spawnable() && !j.held && (j.phase == running || j.phase == gone) {
			return j
		}
	}
	return nil
}

// watch asks for word of room in the socket, or no longer.
func (w *warden) watch(room bool) error {
	if room == w.watching || w.out.closed {
		return nil
	}
	w.watching = room
	return w.poll.Modify(w.sock, socketTag, true, room)
}

// receive takes all commands that have arrived.
func (w *warden) receive() {
	for !w.out.closed {
		packet, fds, err := w.recv.Recv(w.sock)
		for _, fd := range fds {
			unix.Close(fd) // the agent sends none
		}
		if errors.Is(err, unix.EAGAIN) {
			return
		}
		if err == nil {
			var kind msgKind
			var body []byte
			if kind, body, err = w.packets.add(packet); err == nil {
				err = w.command(kind, body)
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				complain("from the agent: %v", err)
			}
			w.agentLost()
		}
	}
}

func (w *warden) command(kind msgKind, body []byte) error {
	switch {
	case kind == 0: // the message goes on
		return nil
	case kind <= msgClose:
		n, rest, err := splitJob(kind, body)
		if err != nil {
			return err
		}
		if kind == msgOpen {
			return w.openJob(n)
		}
		j := w.jobs[n]
		if j == nil || j.closing {
			return nil // it was closed meanwhile
		}
		return w.commandOf(j, kind, rest)
	case kind == msgFinish:
		w.finish()
		return nil
	case kind == msgBeat:
		w.heart.beat(time.Now())
		w.out.add(wireEvent{Kind: evBeat})
		return nil
	}
	return fmt.Errorf("unexpected message of kind %d", kind)
}

// commandOf carries out a command about a job.
func (w *warden) commandOf(j *wardenJob, kind msgKind, body []byte) error {
	switch kind {
	case msgSpec:
		spec := new(Spec)
		if err := decode(kind, body, spec.fields); err != nil {
			return err
		}
		j.spec = spec
		return nil
	case msgRanks:
		return j.enqueue(body)
	case msgHelper:
		var h Helper
		if err := decode(kind, body, h.fields); err != nil {
			return err
		}
		j.toHelp = append(j.toHelp, h)
		return nil
	case msgSignal:
		var s wireSignal
		if err := decode(kind, body, s.fields); err != nil {
			return err
		}
		j.hold(s)
		w.signal(j, s.World, syscall.Signal(s.Signal))
		return nil
	case msgKill:
		var grace time.Duration
		if err := decode(kind, body, duration(&grace)); err != nil {
			return err
		}
		w.kill(j, grace)
		return nil
	case msgScratch:
		return decode(kind, body, func(b *coder) { b.strings(&j.scratch) })
	}
	w.close(j) // msgClose
	return nil
}

// killAgent ends an agent that is stopped or hangs, and with it its links, so
// that its neighbors see the loss, and then the job.
func (w *warden) killAgent() {
	complain("the agent is silent: it and the job are killed")
	if os.Getppid() == w.agent { // else it has ended, and its number may be another's
		_ = syscall.Kill(w.agent, syscall.SIGKILL)
	}
	w.agentLost()
}

// agentLost ends the job, and then the warden, without anybody to tell.
func (w *warden) agentLost() {
	if w.out.closed {
		return
	}
	w.out.close()
	_ = w.poll.Remove(w.sock)
	unix.Close(w.sock)
	w.finish()
}

// leave says goodbye; everything of all jobs has ended.
func (w *warden) leave() error {
	defer w.poll.Close()
	w.removals.running.Wait()
	w.hearRemoved()
	for _, j := range w.order {
		for _, e := range scratchNotes(j) {
			w.out.add(e)
		}
	}
	if w.out.closed {
		return w.survivors()
	}
	// Only the end of the agent can keep the last messages from being taken.
	deadline := time.Now().Add(KillLimit)
	err := w.out.message(msgBye, nil)
	ready := make([]unix.Ready, 1)
	for err == nil && w.out.blocked() && time.Now().Before(deadline) {
		_ = w.poll.Modify(w.sock, socketTag, false, true)
		if _, err = w.poll.Wait(ready, time.Millisecond); err == nil {
			_, err = w.out.flush(false)
		}
	}
	unix.Close(w.sock)
	return w.survivors()
}
