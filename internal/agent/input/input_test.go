package input

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/tree"
)

const page = 4 << 10

// fake is a pipe to a rank that reads when it is told to.
type fake struct {
	size     int
	held     []byte
	got      []byte // by the rank
	broken   bool   // nobody reads any more
	awaited  bool
	closed   bool
	resizing error
}

func (p *fake) Write(b []byte) (int, error) {
	if p.broken {
		return 0, errors.New("broken pipe")
	}
	n := min(len(b), p.size-len(p.held))
	p.held = append(p.held, b[:n]...)
	return n, nil
}

func (p *fake) Unread() (int, error) { return len(p.held), nil }

func (p *fake) Resize(size int) error {
	if p.resizing == nil {
		p.size = max(size, page)
	}
	return p.resizing
}

func (p *fake) Await(room bool) { p.awaited = room }
func (p *fake) Close()          { p.closed = true }

// read has the rank read up to n bytes.
func (p *fake) read(n int) {
	n = min(n, len(p.held))
	p.got, p.held = append(p.got, p.held[:n]...), p.held[n:]
}

// told is what an input tells.
type told struct{ least, most int64 }

func newTest(t require.TestingT, readers []job.Rank, children ...tree.Slot) (in *Input, pipes []*fake, last *told) {
	last = &told{}
	in, err := New(readers, children, func(least, most int64) { *last = told{least, most} })
	require.NoError(t, err)
	for _, r := range readers {
		p := &fake{size: 64 << 10}
		in.Open(r, p)
		require.Equal(t, page, p.size)
		pipes = append(pipes, p)
	}
	return in, pipes, last
}

// Every reader gets every byte, in order, whatever the others do; the launcher is
// never told of more than the slowest has read, and learns of all of it in the end.
func TestReadersGetEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const child = tree.Slot(3)
		in, pipes, last := newTest(t, []job.Rank{4, 5}, child)
		ranks := []job.Rank{4, 5}
		var sent []byte
		acked, childEnded, eof := int64(0), false, false
		check := func() {
			least := int64(stdio.Ended)
			if !childEnded {
				least = acked
			}
			for _, p := range pipes {
				require.True(t, bytes.HasPrefix(sent, p.got))
				if read := int64(len(p.got)); !p.closed {
					if read+int64(len(p.held)) >= closelyUntil {
						read += int64(len(p.held)) // it is not looked at closely any more
					}
					least = min(least, read)
				}
			}
			require.LessOrEqual(t, last.least, least)
			require.LessOrEqual(t, last.most, int64(len(sent)))
		}
		for range rapid.IntRange(0, 80).Draw(t, "events") {
			i := rapid.IntRange(0, 1).Draw(t, "rank")
			p := pipes[i]
			switch event := rapid.SampledFrom([]string{"send", "send", "read", "read", "close", "child", "EOF"}).Draw(t, "event"); {
			case event == "send" && !eof && int64(len(sent)) < last.least+stdio.WindowSize:
				body := bytes.Repeat([]byte{byte(len(sent) >> 8)}, rapid.IntRange(1, 16<<10).Draw(t, "bytes"))
				sent = append(sent, body...)
				in.Receive(len(body))
				in.Take(body)
			case event == "read" && !p.closed:
				p.read(rapid.IntRange(1, 64<<10).Draw(t, "bytes"))
				if p.awaited {
					in.Feed(ranks[i])
				}
			case event == "close" && !p.closed && rapid.IntRange(0, 9).Draw(t, "close") == 0:
				p.broken = true
				in.Shut(ranks[i])
				in.Shut(ranks[i]) // it ends as well
			case event == "child" && !childEnded:
				acked = rapid.Int64Range(acked, int64(len(sent))).Draw(t, "acked")
				require.NoError(t, in.Acked(child, acked, acked))
			case event == "EOF" && !eof && rapid.IntRange(0, 9).Draw(t, "EOF") == 0:
				eof = true
				in.Take(nil)
			}
			check()
		}
		if !eof {
			in.Take(nil)
		}
		for i, p := range pipes {
			for !p.closed {
				require.True(t, p.awaited, "a reader waits for ever")
				p.read(len(p.held))
				in.Feed(ranks[i])
			}
			if !p.broken {
				require.Equal(t, len(sent), len(p.got)+len(p.held))
				require.True(t, len(p.held) == 0 || len(sent) >= closelyUntil, "closed before it was read")
			}
		}
		in.Drop(child)
		require.Equal(t, int64(stdio.Ended), last.least)
	})
}

// A rank's pipe holds a page until the rank has shown that it reads: only what it
// has read counts, and is given back at the end otherwise.
func TestReadersAreWatchedClosely(t *testing.T) {
	in, pipes, last := newTest(t, []job.Rank{0})
	p := pipes[0]
	body := make([]byte, closelyUntil+page)
	in.Receive(len(body))
	in.Take(body)
	require.Zero(t, last.least)
	for len(p.got) < closelyUntil {
		require.Equal(t, page, p.size)
		require.True(t, p.awaited)
		p.read(page)
		in.Feed(0)
	}
	require.Equal(t, widePipe, p.size)
	in.Shut(0)
	require.True(t, p.closed)
	require.Equal(t, told{stdio.Ended, closelyUntil}, *last)
}

// A pipe that cannot be made small counts as read when it is written.
func TestAPipeThatKeepsItsSize(t *testing.T) {
	var last told
	in, err := New([]job.Rank{0}, nil, func(least, most int64) { last = told{least, most} })
	require.NoError(t, err)
	p := &fake{size: stdio.WindowSize, resizing: errors.New("not permitted")}
	in.Open(0, p)
	body := make([]byte, stdio.WindowSize/2)
	in.Receive(len(body))
	in.Take(body)
	require.Equal(t, int64(len(body)), last.least)
	require.False(t, p.awaited)
}

// Where nobody reads any more nothing is held up, and nothing is sent to those
// that have ended.
func TestNobodyReads(t *testing.T) {
	in, pipes, last := newTest(t, []job.Rank{0, 1})
	pipes[0].broken = true
	in.Receive(1)
	in.Take([]byte("x"))
	require.True(t, pipes[0].closed)
	require.Zero(t, last.least)
	in.Shut(1)
	require.Equal(t, int64(stdio.Ended), last.least)
	in.Shut(7) // reads nothing
	in.Feed(7)
	in.Take([]byte("y"))
	require.Empty(t, pipes[0].held)
	require.Equal(t, 2, in.Readers())
}

// A child cannot have read more than it was sent, nor less than before.
func TestFalseAcknowledgements(t *testing.T) {
	in, _, _ := newTest(t, nil, 3)
	in.Receive(10)
	require.NoError(t, in.Acked(3, 5, 5))
	require.EqualError(t, in.Acked(3, 11, 11), "11 bytes of input were read of 10")
	require.EqualError(t, in.Acked(3, 11, 5), "11 bytes of input were acknowledged of 10")
	require.Error(t, in.Acked(3, 4, 5))
	require.NoError(t, in.Acked(9, 1, 1), "nobody reads there, and nobody waits")
	var below []tree.Slot
	in.Children(func(s tree.Slot) { below = append(below, s) })
	require.Equal(t, []tree.Slot{3}, below)
	in.Drop(3)
	in.Drop(3)
	in.Children(func(tree.Slot) { t.Error("the child is lost") })
}
