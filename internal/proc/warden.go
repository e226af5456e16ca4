package proc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

const (
	// startLimit is the time that a warden has to say hello if the context has no
	// earlier deadline: its executable may be on a slow network file system.
	startLimit = 30 * time.Second
	// leaveLimit is the time that a warden has to end once it has been told to, or has
	// lost its agent: its own limit for killing, and some more.
	leaveLimit = KillLimit + 5*time.Second
	// strayLimit is the same for one that has said nothing and has no ranks.
	strayLimit = time.Second
	// inheritLimit is the time in which Close tries to end the leftovers of a dead
	// warden.
	inheritLimit = 5 * time.Second
)

// ErrLost tells callers of Next and Sweep that the warden has ended without being told
// to. The agent then has to end its ranks: see Warden.Sweep.
var ErrLost = errors.New("warden lost")

// Options say how to start a warden.
type Options struct {
	// Exe is the executable, which must have this package in it. Empty is this
	// process's own.
	Exe string
	// JobID is the beginning of GOLAUNCH_JOB in every rank's environment: 1 to 64
	// letters, digits, '-', '_' and '.'. A dot and the job's number follow there.
	JobID string
	// NoCgroup has the warden do without a cgroup, as on hosts where none can be
	// made.
	NoCgroup bool
	// LostAfter is the silence of this process, which Beat ends, after which the warden
	// kills it and the job. It is not watched before its first Beat, nor if LostAfter
	// is 0.
	LostAfter time.Duration
	// Shared, if not nil, is a descriptor that every rank inherits as SharedFD. It
	// stays the caller's, who may close it after Start.
	Shared *os.File
	// Held, if not nil, is a descriptor that the warden has open as long as it lives, and
	// no rank has: a lock on it lasts until both processes have ended. It stays the
	// caller's, as Shared does.
	Held *os.File
	// Log, if not nil, gets lines for the curious or for bug reports: why there is
	// no cgroup, what a crashing warden said. It is called from one other
	// goroutine, and from Start.
	Log func(line string)
}

// Warden is the agent's side of a warden process. Next belongs to one goroutine;
// the other methods may be called from any. Close must be called in the end.
type Warden struct {
	opts    Options
	proc    *os.Process
	greeted bool // it said hello
	cgroup  string
	sock    *os.File
	raw     syscall.RawConn

	recv    *unix.Rights // Next's
	packets assembler    // Next's
	bye     bool         // Next's: the warden said that it is done

	mu     sync.Mutex
	more   sync.Cond
	queue  [][]byte // packets for the warden
	closed bool
	failed error // of sending

	tasks sync.WaitGroup // the sender and the log
	ended chan struct{}  // closed when the process was waited for; state is set
	state *os.ProcessState

	succeed sync.Once // to a dead warden
}

// Start runs a warden and waits until it is ready. It makes the calling process
// a subreaper, as the warden's successor. The context's end stops Start, not the
// warden.
func Start(ctx context.Context, o Options) (*Warden, error) {
	if err := checkJobID(o.JobID); err != nil {
		return nil, err
	}
	if o.Exe == "" {
		o.Exe = "/proc/self/exe"
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	if err := unix.Subreaper(); err != nil {
		return nil, err
	}
	w := &Warden{opts: o, recv: unix.NewRights(packetRoom), ended: make(chan struct{})}
	w.more.L = &w.mu
	if err := w.run(); err != nil {
		return nil, fmt.Errorf("start warden: %w", err)
	}
	if err := w.greet(ctx); err != nil {
		w.close(strayLimit)
		return nil, fmt.Errorf("start warden: %w", err)
	}
	return w, nil
}

// run starts the process and the goroutines that serve it.
func (w *Warden) run() error {
	mine, its, err := unix.PacketPair()
	if err != nil {
		return err
	}
	theirs := os.NewFile(uintptr(its), "agent")
	defer theirs.Close()
	if err := unix.SetNonblock(mine); err != nil {
		unix.Close(mine)
		return err
	}
	w.sock = os.NewFile(uintptr(mine), "warden")
	logR, logW, err := os.Pipe()
	if err != nil {
		w.sock.Close()
		return err
	}
	defer logW.Close()
	if w.raw, err = w.sock.SyscallConn(); err == nil {
		w.proc, err = w.fork(theirs, logW)
	}
	if err != nil {
		w.sock.Close()
		logR.Close()
		return err
	}
	// Each ends with the process, send also with Close.
	w.tasks.Go(func() { w.readLog(logR) })
	w.tasks.Go(w.send)
	w.tasks.Go(func() {
		w.state, _ = w.proc.Wait() // an error leaves state nil
		close(w.ended)
	})
	return nil
}

// rankSlack is the timer slack that ranks get. A shell may have made this
// process's coarser, see unix.CoarseTimers; so it is for the warden.
var rankSlack = unix.DefaultTimerSlack()

func (w *Warden) fork(sock, log *os.File) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	argv := []string{"golaunch", WardenWord, w.opts.JobID, w.opts.LostAfter.String(), rankSlack.String()}
	if w.opts.NoCgroup {
		argv = append(argv, noCgroupWord)
	}
	env := []string{
		jobVariable + "=" + w.opts.JobID, // a sweep finds the warden, too
		"GOMAXPROCS=1",                   // it has one thing to do at a time; the cores are the ranks'
		"GOGC=50",                        // little garbage, less memory
	}
	if value, ok := os.LookupEnv("GORACE"); ok { // options of test builds hold for the warden as well
		env = append(env, "GORACE="+value)
	}
	files := []*os.File{null, null, log, sock}
	if w.opts.Shared != nil {
		argv = append(argv, sharedWord)
		files = append(files, w.opts.Shared)
	}
	if w.opts.Held != nil {
		files = append(files, w.opts.Held) // at a number that nobody has to know
	}
	return os.StartProcess(w.opts.Exe, argv, &os.ProcAttr{
		Env:   env,
		Files: roomy(files, null),
		Sys:   &syscall.SysProcAttr{Setsid: true},
	})
}

// roomy adds a descriptor at the number that sockets of ranks have (see highSocket). Where
// a process of several threads, as the warden is, needs a larger table of descriptors, the
// kernel waits for all who may read the old one, some 10 ms; so the warden comes with a
// large table, from the child of one thread that executes it. It closes the descriptor.
func roomy(files []*os.File, null *os.File) []*os.File {
	number := socketNumber()
	if number <= len(files) {
		return files
	}
	return append(append(files, make([]*os.File, number-len(files))...), null)
}

// readLog passes on what the warden writes to its stderr.
func (w *Warden) readLog(r *os.File) {
	defer r.Close()
	lines := bufio.NewReaderSize(r, 4096)
	for {
		line, _, err := lines.ReadLine() // cut where too long
		if err != nil {
			return
		}
		w.opts.Log(string(line))
	}
}

// greet receives the warden's hello.
func (w *Warden) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	// A deadline in the past ends the wait for the message.
	stop := context.AfterFunc(ctx, func() { _ = w.sock.SetReadDeadline(time.Unix(1, 0)) })
	kind, body, _, err := w.message()
	if !stop() || err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("no word from it: %w", ctx.Err())
		}
		return fmt.Errorf("%s: %w", w.describeEnd(), err)
	}
	if kind != msgHello {
		return fmt.Errorf("message of kind %d instead of its hello", kind)
	}
	var h hello
	if err := decode(kind, body, h.fields); err != nil {
		return err
	}
	w.cgroup, w.greeted = h.Cgroup, true
	if h.Cgroup == "" {
		w.opts.Log("no cgroup for the job, its processes are tracked by descent: " + h.NoCgroup)
	}
	return nil
}

// PID returns the warden's process id.
func (w *Warden) PID() int { return w.proc.Pid }

// OpenJob has a job begin, of which ranks are to be started: its processes carry a
// GOLAUNCH_JOB of its own, the tree's with a dot and its number. Of the methods below those
// about a job want it open.
func (w *Warden) OpenJob(n job.Number) error {
	if n == job.TreeItself {
		return errors.New("job 0 is the tree itself")
	}
	return w.command(msgOpen, ofJob(n, nil))
}

// CloseJob ends at once what is left of a job, removes its files and cgroup, and forgets
// it: JobClosed follows. Other jobs go on.
func (w *Warden) CloseJob(n job.Number) error {
	w.wake()
	return w.command(msgClose, ofJob(n, nil))
}

// Launch has ranks of a job started, in the order given, and returns at once; events
// tell what became of each. After a Kill it waits for Gone. An error is about the
// arguments, or ErrLost.
func (w *Warden) Launch(n job.Number, s Spec, ranks []Child) error {
	if err := s.validate(); err != nil {
		return err
	}
	for i := range ranks {
		if err := ranks[i].validate(len(s.Apps)); err != nil {
			return err
		}
	}
	packets, err := encode(msgSpec, ofJob(n, s.fields))
	if err != nil {
		return err
	}
	for len(ranks) > 0 {
		some := ranks[:min(len(ranks), ranksPerMsg)]
		more, err := encode(msgRanks, ofJob(n, children(&some)))
		if err != nil {
			return err
		}
		packets, ranks = append(packets, more...), ranks[len(some):]
	}
	return w.post(packets)
}

// Signal sends a signal to the process group of every rank of a job that lives. SIGSTOP
// keeps its ranks from being started, too, until SIGCONT.
func (w *Warden) Signal(n job.Number, sig syscall.Signal) error {
	return w.SignalWorld(n, everyWorld, sig)
}

// SignalWorld sends a signal to the process group of every rank of one of a job's worlds
// that lives; ranks that wait for their start get none.
func (w *Warden) SignalWorld(n job.Number, world int, sig syscall.Signal) error {
	if sig <= 0 || sig > 64 {
		return fmt.Errorf("signal %d: no such signal", int(sig))
	}
	s := wireSignal{World: world, Signal: int(sig)}
	return w.command(msgSignal, ofJob(n, s.fields))
}

// Kill ends what runs of a job: ranks not started yet are not, the process groups of the
// others get SIGTERM, with a terminal SIGHUP, too, and what is left after the grace period
// SIGKILL, whatever it is a descendant of. Gone follows. A further Kill may shorten the grace
// period. While other jobs are open, a process that has left the cgroup, or where there is
// none the sessions and descent of the job's ranks, and has cleared its environment, lives
// on until the last job or the warden ends.
func (w *Warden) Kill(n job.Number, grace time.Duration) error {
	grace = max(0, grace)
	w.wake()
	return w.command(msgKill, ofJob(n, duration(&grace)))
}

// Beat tells the warden that its agent is alive, and asks whether it is itself:
// a Beat event answers. It is to be called as often as BeatEvery says, by whoever
// does the agent's work.
func (w *Warden) Beat() error { return w.command(msgBeat, nil) }

// BeatEvery returns the time between calls of Beat; 0 if there are none.
func (w *Warden) BeatEvery() time.Duration { return w.opts.LostAfter / BeatsPerLoss }

// Finish ends what is left of all jobs at once, and then the warden: after a Gone of each
// and one of the tree itself, Next returns io.EOF.
func (w *Warden) Finish() error {
	w.wake()
	return w.command(msgFinish, nil)
}

// wake has a warden that was stopped go on: it could not obey.
func (w *Warden) wake() { _ = w.proc.Signal(syscall.SIGCONT) } // it has ended already

// Scratch names the directories of a job that the warden removes, with all that is in them,
// when it is closed or the warden ends, whoever told it to. They may be missing.
func (w *Warden) Scratch(n job.Number, dirs []string) error {
	return w.command(msgScratch, ofJob(n, func(b *coder) { b.strings(&dirs) }))
}

func (w *Warden) command(kind msgKind, fields func(*coder)) error {
	packets, err := encode(kind, fields)
	if err != nil {
		return err
	}
	return w.post(packets)
}

func (w *Warden) post(packets [][]byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.failed != nil:
		return w.failed
	case w.closed:
		return fmt.Errorf("warden (pid %d): %w", w.proc.Pid, os.ErrClosed)
	}
	w.queue = append(w.queue, packets...)
	w.more.Signal()
	return nil
}

func (w *Warden) isClosed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// send writes what is posted, until Close, or until the warden is gone.
func (w *Warden) send() {
	for {
		w.mu.Lock()
		for len(w.queue) == 0 && !w.closed {
			w.more.Wait()
		}
		if w.closed {
			w.mu.Unlock()
			return
		}
		packets := w.queue
		w.queue = nil
		w.mu.Unlock()
		for _, p := range packets {
			var serr error
			err := w.raw.Write(func(fd uintptr) bool {
				serr = unix.SendRights(int(fd), p, nil)
				return !errors.Is(serr, unix.EAGAIN)
			})
			if err = errors.Join(err, serr); err != nil {
				w.mu.Lock()
				w.failed = fmt.Errorf("%w (pid %d): %w", ErrLost, w.proc.Pid, err)
				w.mu.Unlock()
				return
			}
		}
	}
}
