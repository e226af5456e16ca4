package launcher

import (
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/tree"
)

// input is the ranks' input: from golaunch's standard input, or from its terminal.
type input struct {
	job      *run
	pump     *stdinPump
	terminal *userTerminal // nil without --pty
}

// stdinPump reads golaunch's standard input for the ranks, and not at all before they
// run: the rest is for its next reader, such as the shell. The unread part of a file is
// given back. Bytes read of anything else are gone, so few are read before a rank has
// shown that it reads, and of a terminal only a line at a time.
type stdinPump struct {
	file   *os.File
	post   func(overlay.Event)
	window *stdio.Window // of the event loop
	byLine bool          // of a terminal: it is read once ranks have read all input so far
	read   int64         // bytes that a rank has read, as far as is known

	mu    sync.Mutex
	limit int64 // bytes in all that may be read; -1 when nothing more is wanted
	taken int64 // bytes read so far
	more  sync.Cond
	ended chan struct{} // closed when the reading goroutine ends; nil before it starts
}

const (
	stdinChunk = 32 << 10
	// foregroundCheck is the interval in which a job in the background looks whether the
	// terminal is its own.
	foregroundCheck = 200 * time.Millisecond
)

// newStdinPump returns a pump for one reader, or an eager one: for all ranks, of which
// some may read while others never do, and get a whole window all the same; for a
// terminal, which takes typed bytes, read or not.
func newStdinPump(file *os.File, eager bool, post func(overlay.Event)) (*stdinPump, error) {
	first := stdio.WindowFirst
	if eager {
		first = stdio.WindowSize
	}
	window, err := stdio.NewWindow(first, stdio.WindowSize)
	p := &stdinPump{file: file, post: post, window: window}
	p.byLine = file != nil && !eager && unix.IsTerminal(file)
	p.more.L = &p.mu
	return p, err
}

// start begins to read.
func (p *stdinPump) start() {
	p.grant(p.window.Limit())
	p.ended = make(chan struct{})
	go p.pump()
}

// pump ends at the end of the input, or when nothing more is wanted and the
// read under way returns.
func (p *stdinPump) pump() {
	defer close(p.ended)
	for {
		p.mu.Lock()
		for p.limit >= 0 && p.limit == p.taken {
			p.more.Wait()
		}
		room, closed := p.limit-p.taken, p.limit < 0
		p.mu.Unlock()
		if closed {
			return
		}
		buf := make([]byte, min(room, stdinChunk))
		n, err := p.file.Read(buf)
		if n == 0 && errors.Is(err, syscall.EIO) && !unix.Foreground(p.file) {
			// The terminal belongs to another job: nothing is ours to read
			// until the user brings this one back.
			time.Sleep(foregroundCheck) //nolint:forbidigo // the kernel tells nobody of the terminal's next owner
			continue
		}
		p.mu.Lock()
		p.taken += int64(n)
		if p.byLine && p.limit > p.taken {
			p.limit = p.taken
		}
		p.mu.Unlock()
		p.post(stdinRead{buf[:n], err})
		if err != nil {
			return
		}
	}
}

// grant sets the bytes in all that may be read.
func (p *stdinPump) grant(limit int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.limit >= 0 {
		p.limit = limit
	}
	p.more.Signal()
}

// ack takes the ranks' acknowledgement.
func (p *stdinPump) ack(k overlay.InputAck) error {
	if err := p.window.Ack(k.Bytes); err != nil {
		return err
	}
	p.read = max(p.read, k.Read)
	switch {
	case p.window.Ended():
		p.close()
	case !p.byLine || p.window.Unread() == 0:
		p.grant(p.window.Limit())
	}
	return nil
}

// giveBack has the next reader begin where the ranks ended, if standard input is a
// file. Every rank must have ended.
func (p *stdinPump) giveBack() {
	if p.ended == nil {
		return // nothing was read
	}
	info, err := p.file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	p.close()
	<-p.ended                                                  // soon: reading a file does not wait for anybody
	_, _ = p.file.Seek(min(0, p.read-p.taken), io.SeekCurrent) // it was read just now, so it can
}

// took reports whether anything was read.
func (p *stdinPump) took() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken > 0
}

// close says that nothing more is wanted.
func (p *stdinPump) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limit = -1
	p.more.Signal()
}

// start begins to read standard input once the ranks run.
func (in *input) start() {
	if in.terminal != nil {
		defer in.job.output.printer.showOwn()
	}
	if in.job.stdinRank() == overlay.StdinNone || in.job.killed || in.pump.window.Ended() {
		return
	}
	in.terminal.enter()
	if in.pump.file == nil {
		in.send(stdinRead{err: io.EOF})
		return
	}
	in.pump.start()
}

// ack notes the bytes that ranks have read.
func (in *input) ack(k overlay.InputAck) error {
	err := in.pump.ack(k)
	if in.pump.window.Ended() {
		in.terminal.end()
	}
	return err
}

// send passes on bytes that were read; an empty message is the end.
func (in *input) send(e stdinRead) {
	in.terminal.enter() // it may be ours only now
	to := tree.Everyone
	if rank := in.job.stdinRank(); rank != overlay.StdinAll {
		to = in.job.plan.Blocks.hostOf(rank)
	}
	send := func(data []byte) {
		in.job.tree.Send(link.Stdio, tree.Header{Kind: overlay.KindInput, Job: in.job.number, To: to}, data)
	}
	if len(e.data) > 0 && !in.pump.window.Ended() {
		if err := in.pump.window.Sent(len(e.data)); err != nil {
			in.job.report.Say("standard input: %v", err)
			return
		}
		send(e.data)
	}
	if e.err != nil {
		// nohup opens standard input for writing only: there is none.
		if !errors.Is(e.err, io.EOF) && !errors.Is(e.err, syscall.EBADF) {
			in.job.report.Say("standard input: %v; the ranks see its end", e.err)
		}
		send(nil)
	}
}
