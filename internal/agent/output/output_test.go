package output

import (
	"bytes"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// message is one that goes up.
type message struct {
	kind  tree.Kind
	world uint16
	body  string
}

// newTest returns an output of an agent without ranks, what it sends, and when it
// is idle.
func newTest(t *testing.T) (o *Output, sent <-chan message, idle <-chan bool) {
	t.Helper()
	messages, quiet := make(chan message, 100), make(chan bool, 100)
	o, err := New(job.Cold, func(h tree.Header, body []byte) error {
		messages <- message{h.Kind, h.World, string(body)}
		return nil
	}, func() { quiet <- true })
	require.NoError(t, err)
	t.Cleanup(o.Close)
	return o, messages, quiet
}

func drainedHeader(world uint16) tree.Header {
	return tree.Header{Kind: overlay.KindDrained, Job: job.Cold, World: world, To: tree.Neighbor, From: tree.Launcher}
}

func drained(world uint16) message { return message{kind: overlay.KindDrained, world: world} }

// record is a message of one record of a rank.
func record(r job.Rank, data string) message {
	return message{kind: overlay.KindOutput, body: string(overlay.AppendChunk(nil, job.RankID{Rank: r}, stdio.Stdout, []byte(data)))}
}

// TestALostChildIsDrainedOnce has a child that had no more output get lost: what
// its sibling still writes comes before the end.
func TestALostChildIsDrainedOnce(t *testing.T) {
	o, sent, idle := newTest(t)
	o.Open(0, []tree.Slot{0, 1})
	o.Complete(0)
	<-idle // only the children are waited for
	o.FromChild(0, drainedHeader(0), nil)
	o.Drain(0, 0) // lost
	last := record(0, "last words\n")
	o.FromChild(1, tree.Header{Kind: overlay.KindOutput, Job: job.Cold}, []byte(last.body))
	o.FromChild(1, drainedHeader(0), nil)
	require.Equal(t, last, <-sent)
	require.Equal(t, drained(0), <-sent)
}

// TestAChildMayBeDrainedEarly has a child say that it has no more output of a world
// before this agent has opened it.
func TestAChildMayBeDrainedEarly(t *testing.T) {
	o, sent, _ := newTest(t)
	o.FromChild(1, drainedHeader(7), nil)
	o.Open(7, []tree.Slot{1})
	o.Complete(7)
	require.Equal(t, drained(7), <-sent)
}

// pipe gives the output a pipe of a rank, whose other end it returns.
func pipe(t *testing.T, o *Output, r job.Rank) (w int) {
	t.Helper()
	read, w, err := unix.Pipe()
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(read))
	require.NoError(t, o.Add(job.RankID{Rank: r}, stdio.Stdout, read))
	return w
}

// What a rank has written comes before the word that there is no more; that its
// last line is not complete is said.
func TestAPipeEnds(t *testing.T) {
	o, sent, idle := newTest(t)
	o.Open(0, nil)
	w := pipe(t, o, 3)
	o.Complete(0)
	require.False(t, o.Quiet())
	_, err := unix.Write(w, []byte("no newline"))
	require.NoError(t, err)
	require.Equal(t, record(3, "no newline"), <-sent)
	unix.Close(w)
	require.Equal(t, record(3, ""), <-sent)
	require.Equal(t, drained(0), <-sent)
	<-idle
	require.True(t, o.Quiet())
}

// What a rank says elsewhere is among its output, until that is over.
func TestWhatIsSaidElsewhere(t *testing.T) {
	o, sent, idle := newTest(t)
	say := func(text string) bool { return o.Say(job.RankID{}, stdio.Stdout, []byte(text)) }
	require.False(t, say("before"))
	o.Open(0, nil)
	require.True(t, say("hello\n"))
	require.Equal(t, record(0, "hello\n"), <-sent)
	require.False(t, say(string(make([]byte, frame+1))))
	o.Complete(0)
	<-idle
	require.Equal(t, drained(0), <-sent)
	require.False(t, say("after"))
}

// A pipe that something outside the job holds open is read out and closed; that of
// another world is not.
func TestAPipeIsCutOff(t *testing.T) {
	o, sent, _ := newTest(t)
	o.Open(0, nil)
	o.Open(1, nil)
	w := pipe(t, o, 0)
	defer unix.Close(w)
	read, other, err := unix.Pipe()
	require.NoError(t, err)
	require.NoError(t, unix.SetNonblock(read))
	require.NoError(t, o.Add(job.RankID{World: 1}, stdio.Stderr, read))
	o.Complete(0)
	o.Complete(1)
	o.CutOff(func(world int) bool { return world == 0 })
	require.Equal(t, drained(0), <-sent)
	unix.Close(other)
	require.Equal(t, drained(1), <-sent)
}

// TestAPipeIsCutOffWhileItIsWritten has a process outside the job hold a rank's
// pipe and write without end: like /dev/zero, it never runs dry.
func TestAPipeIsCutOffWhileItIsWritten(t *testing.T) {
	o, sent, idle := newTest(t)
	o.Open(0, nil)
	zero, err := syscall.Open("/dev/zero", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	require.NoError(t, err)
	o.mu.Lock()
	o.pipes[1] = source{fd: zero, stream: stdio.Stdout, tag: 1}
	o.owed.pipe(0, 1)
	o.mu.Unlock()
	o.Complete(0)
	o.CutOff(func(int) bool { return true })
	<-idle
	for m := range sent {
		if m.kind == overlay.KindDrained {
			break
		}
	}
}

// A parent that takes no more holds up the children, and nothing else; nobody
// waits for one that is gone.
func TestOutputIsHeldUp(t *testing.T) {
	var taken int
	sending, goOn := make(chan bool, 1), make(chan bool)
	o, err := New(job.Cold, func(tree.Header, []byte) error {
		if taken++; taken > 1 {
			return errors.New("gone")
		}
		sending <- true
		<-goOn
		return nil
	}, func() {})
	require.NoError(t, err)
	defer o.Close()
	o.Open(0, []tree.Slot{0})
	much := bytes.Repeat([]byte("x"), bound)
	o.enqueue(much)
	<-sending
	o.enqueue(much)
	held := make(chan bool)
	go func() { // ends when the parent is gone
		o.FromChild(0, tree.Header{Kind: overlay.KindOutput, Job: job.Cold}, much)
		close(held)
	}()
	o.Complete(0)
	o.Drain(0, 0)
	select {
	case <-held:
		require.Fail(t, "more was taken than there is room for")
	default:
	}
	close(goOn)
	<-held
}

// With Time chunks say when they were read; the end of a stream does not.
func TestChunksAreTimed(t *testing.T) {
	o, sent, _ := newTest(t)
	o.Time()
	o.Open(0, nil)
	before := time.Now().Truncate(time.Microsecond)
	w := pipe(t, o, 3)
	o.Complete(0)
	_, err := unix.Write(w, []byte("no newline"))
	require.NoError(t, err)
	var got []overlay.Chunk
	require.NoError(t, overlay.Chunks([]byte((<-sent).body), func(c overlay.Chunk) { got = append(got, c) }))
	require.Len(t, got, 1)
	require.False(t, got[0].At.Before(before) || got[0].At.After(time.Now()), "%v", got[0].At)
	unix.Close(w)
	require.Equal(t, record(3, ""), <-sent)
	require.Equal(t, drained(0), <-sent)
}

// A raw terminal that something outside the job holds open is read out, which is more than
// it tells of, and closed.
func TestATerminalIsCutOff(t *testing.T) {
	o, sent, _ := newTest(t)
	o.Open(0, nil)
	master, terminal, err := unix.RawPTY(unix.Window{Rows: 24, Columns: 80})
	if err != nil {
		t.Skipf("skipped: no terminals here: %v", err)
	}
	defer unix.Close(terminal)
	require.NoError(t, unix.SetNonblock(master))
	require.NoError(t, unix.SetNonblock(terminal))
	var wrote int
	for line := []byte("0123456789\n"); ; { // as much as it takes, before anybody reads
		n, err := unix.Write(terminal, line)
		if err != nil {
			require.ErrorIs(t, err, unix.EAGAIN)
			break
		}
		wrote += n
	}
	require.Greater(t, wrote, 4096)
	require.NoError(t, o.Add(job.RankID{Rank: 1}, stdio.Stdout, master))
	o.Complete(0)
	o.CutOff(func(int) bool { return true })
	read := 0
	for m := range sent {
		if m.kind == overlay.KindDrained {
			break
		}
		require.NoError(t, overlay.Chunks([]byte(m.body), func(c overlay.Chunk) { read += len(c.Data) }))
	}
	require.Equal(t, wrote, read)
}

// A raw terminal that nobody has open any more ends while it is read out: so does its line.
func TestALineOfATerminalThatIsCutOffEnds(t *testing.T) {
	o, sent, _ := newTest(t)
	o.Open(0, nil)
	master, terminal, err := unix.RawPTY(unix.Window{Rows: 24, Columns: 80})
	if err != nil {
		t.Skipf("skipped: no terminals here: %v", err)
	}
	require.NoError(t, unix.SetNonblock(master))
	_, err = unix.Write(terminal, []byte("x"))
	require.NoError(t, err)
	unix.Close(terminal)
	o.mu.Lock() // as Add has it, but nobody reads before it is cut off
	o.pipes[1] = source{rank: job.RankID{Rank: 1}, stream: stdio.Stdout, fd: master, tag: 1}
	o.owed.pipe(0, 1)
	o.mu.Unlock()
	o.Complete(0)
	o.CutOff(func(int) bool { return true })
	var read []string
	for m := range sent {
		if m.kind == overlay.KindDrained {
			break
		}
		require.NoError(t, overlay.Chunks([]byte(m.body), func(c overlay.Chunk) { read = append(read, string(c.Data)) }))
	}
	require.Equal(t, []string{"x", ""}, read)
}
