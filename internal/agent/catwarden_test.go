package agent

import (
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
)

// catWarden has ranks that are goroutines of the test: each writes its last word, then what it
// reads.
type catWarden struct {
	Warden
	mu     sync.Mutex
	events chan []proc.Event
	ranks  map[job.Number][]*cat
	last   int // number of a process that is none
}

// cat is such a rank.
type cat struct {
	exit  proc.Exited
	in    *os.File
	ends  []*os.File // that a process would have
	ended chan bool
}

func newCatWarden() *catWarden {
	return &catWarden{events: make(chan []proc.Event, 100), ranks: map[job.Number][]*cat{}, last: 1 << 23}
}

func (w *catWarden) Next() ([]proc.Event, error) {
	if e, more := <-w.events; more {
		return e, nil
	}
	return nil, io.EOF
}

func (w *catWarden) Launch(n job.Number, s proc.Spec, children []proc.Child) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range children {
		w.last++
		started := proc.Started{Job: n, World: c.World, Rank: c.Rank, PID: w.last, At: time.Now(), Stderr: -1}
		x := &cat{exit: proc.Exited{Job: n, World: c.World, Rank: c.Rank, PID: w.last, Status: syscall.WaitStatus(syscall.SIGKILL), Provoked: true}, ended: make(chan bool)}
		in, stdin, err := unix.Pipe()
		if err != nil {
			return err
		}
		stdout, out, err := unix.Pipe()
		if err != nil {
			return err
		}
		pmi, its, err := unix.PacketPair()
		if err != nil {
			return err
		}
		for _, fd := range []int{in, stdin, stdout, pmi} {
			if err := unix.SetNonblock(fd); err != nil {
				return err
			}
		}
		started.Stdin, started.Stdout, started.PMI = stdin, stdout, pmi
		x.in = os.NewFile(uintptr(in), "stdin")
		output := os.NewFile(uintptr(out), "stdout")
		x.ends = []*os.File{x.in, output, os.NewFile(uintptr(its), "PMI")}
		word := s.Apps[c.App].Argv[len(s.Apps[c.App].Argv)-1]
		go func() { // ends with end
			defer close(x.ended)
			_, _ = io.WriteString(output, word+"\n")
			_, _ = io.Copy(output, x.in)
		}()
		w.ranks[n] = append(w.ranks[n], x)
		w.events <- []proc.Event{started}
	}
	return nil
}

// end ends the ranks of a job.
func (w *catWarden) end(n job.Number) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range w.ranks[n] {
		_ = x.in.SetReadDeadline(time.Unix(1, 0))
		<-x.ended
		for _, f := range x.ends {
			f.Close()
		}
		w.events <- []proc.Event{x.exit}
	}
	w.ranks[n] = nil
	w.events <- []proc.Event{proc.Gone{Job: n}}
}

func (w *catWarden) Kill(n job.Number, _ time.Duration) error { w.end(n); return nil }

func (w *catWarden) CloseJob(n job.Number) error {
	w.end(n)
	w.events <- []proc.Event{proc.JobClosed{Job: n}}
	return nil
}

func (w *catWarden) Finish() error {
	for n := range job.Number(10) {
		w.end(n)
	}
	close(w.events)
	return nil
}

func (*catWarden) OpenJob(job.Number) error                { return nil }
func (*catWarden) Signal(job.Number, syscall.Signal) error { return nil }
func (*catWarden) BeatEvery() time.Duration                { return 0 }
func (*catWarden) Close()                                  {}
