package proc

import (
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
)

// Event is something the warden reports: Started, StartFailed, Exited, HelperStarted,
// HelperEnded, Note, Gone, JobClosed or Beat. For each rank of a Launch there is either one
// StartFailed, or one Started and later one Exited.
type Event interface {
	// Of is the job that it is about, job.TreeItself for none.
	Of() job.Number
}

// Started says that a rank's program runs. The descriptors belong to the
// receiver from now on, are nonblocking and close-on-exec; Stdin is -1 where the
// rank has /dev/null. Stdout may be the master of a pseudo-terminal (Child.Unbuffered),
// which ends with EIO. Of a rank with a terminal Stdin and Stdout are its master, the
// same open file, and Stderr is -1. PMI shows the warden the end of the rank: its owner
// closes it after Exited.
type Started struct {
	Job   job.Number
	World int
	Rank  job.Rank
	PID   int // also its process group and session
	At    time.Time

	Stdin, Stdout, Stderr, PMI int
}

// StartFailed says that a rank's program was not started.
type StartFailed struct {
	Job   job.Number
	World int
	Rank  job.Rank
	// Code is job.ExitNotFound or job.ExitNotExecutable, of the program or of the
	// working directory that the user named, or job.ExitLauncher where the fault
	// is neither's.
	Code int
	Text string // the program, its fault and the remedy
	// Provoked says that nothing is wrong: Kill or Finish came before the rank's
	// turn.
	Provoked bool
}

// Exited says that a rank has ended and was reaped. Its pipes may still be open
// in processes that it left behind.
type Exited struct {
	Job    job.Number
	World  int
	Rank   job.Rank
	PID    int
	Status syscall.WaitStatus
	Killer string // why the kernel killed it, or a process of a shell's; "" where it did not, or does not tell
	Usage  Usage
	At     time.Time // when it was reaped
	// Clock is the time of its end, by the end of file on its socket, or else of the
	// warden's noticing it, on the node's monotonic clock (unix.Monotonic).
	Clock time.Duration
	// Provoked says that Kill or Finish came before it began to end.
	Provoked bool
	// Cut says that it was killed since it had not ended within the grace of Kill.
	Cut bool
}

// Usage counts the resources that a rank and its reaped children consumed.
type Usage struct {
	User, System time.Duration
	MaxRSS       int64 // bytes, of the largest process
}

// Note is something that the user should know and that is no error.
type Note struct {
	Job   job.Number // 0 if it is about none
	Level int        // number of -v with which the user is told of it
	Text  string
}

// Beat answers Warden.Beat.
type Beat struct{}

// Gone answers Kill and Finish: no process that the job has ever started runs any more,
// except those that Text names. That of job 0 answers Finish last.
type Gone struct {
	Job job.Number
	// Text is empty, or says which processes could not be ended and why.
	Text string
}

// JobClosed answers CloseJob, after Gone: the job's files are removed, too.
type JobClosed struct{ Job job.Number }

// Of implements Event.
func (e Started) Of() job.Number { return e.Job }

// Of implements Event.
func (e StartFailed) Of() job.Number { return e.Job }

// Of implements Event.
func (e Exited) Of() job.Number { return e.Job }

// Of implements Event.
func (e Note) Of() job.Number { return e.Job }

// Of implements Event.
func (Beat) Of() job.Number { return job.TreeItself }

// Of implements Event.
func (e Gone) Of() job.Number { return e.Job }

// Of implements Event.
func (e JobClosed) Of() job.Number { return e.Job }
