package yamuxlink

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/yamux"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/internal/fifo"
)

// Link is one side of a link over a byte pipe. It implements link.Link.
type Link struct {
	cfg  Config
	wire *wire
	mux  *yamux.Session

	// opened is closed once the streams of in and out are set.
	opened chan struct{}
	in     [link.NumStreams]incoming
	out    [link.NumStreams]outgoing
	// control holds the frames of Control, which a goroutine always reads.
	control fifo.Queue

	atEOF    atomic.Uint32 // bit s: Recv(s) has returned io.EOF
	acks     atomic.Uint32 // ackSent and ackReceived
	ending   atomic.Bool   // End was called
	endOnce  sync.Once     // starts the writer of the END records
	acked    chan struct{} // closed when the peer's Ack arrived
	peerDone chan struct{} // closed when the peer's Done arrived

	closed atomic.Bool    // Close was called
	wg     sync.WaitGroup // control loop, pending tick, END writer
	down   chan struct{}  // closed with the first cause
	mu     sync.Mutex
	cause  error       // why the link is down; guarded by mu
	timer  *time.Timer // the next tick; guarded by mu
	vigil  vigil       // guarded by mu
}

var _ link.Link = (*Link)(nil)

// incoming is the receiving half of a stream, used by one goroutine at a time.
type incoming struct {
	stream *yamux.Stream
	buf    *bufio.Reader
}

var errNoEnd = errors.New("its other side closed the connection without a word")

// readBuffer is the size of a stream's read buffer in bytes: small, since it reads from
// memory already and longer frames bypass it.
const readBuffer = 512

// New starts one side of a link over conn, which it owns from then on, even if it
// returns an error. It neither waits for the peer nor reports errors: Send and Recv do.
// Closing conn must unblock its Read and its Write.
func New(conn io.ReadWriteCloser, cfg Config) (*Link, error) {
	cfg, err := cfg.validate()
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	l := &Link{
		cfg:      cfg,
		wire:     newWire(conn),
		opened:   make(chan struct{}),
		acked:    make(chan struct{}),
		peerDone: make(chan struct{}),
		down:     make(chan struct{}),
	}
	l.control.Init(maxControlBacklog)
	cfg.Log = l.untilDown(cfg.Log)
	if l.mux, err = cfg.open(l.wire); err != nil {
		return nil, errors.Join(fmt.Errorf("link: %w", err), conn.Close())
	}
	l.wg.Add(1) // the first tick
	l.mu.Lock()
	l.timer = time.AfterFunc(l.period(), l.tick)
	l.mu.Unlock()
	// Ends when the session does, which Close and every loss bring about.
	l.wg.Go(l.run)
	return l, nil
}

// run opens the streams and then reads Control until the link is down.
func (l *Link) run() {
	err := l.openStreams()
	if err == nil {
		close(l.opened)
		err = l.readControl()
	}
	why := l.broken(link.Control, err)
	// Only now is everything that arrived in the queue.
	l.control.Fail(why, why)
}

// openStreams opens the streams as the parent, or accepts them as the child.
func (l *Link) openStreams() error {
	for i := range link.NumStreams {
		var stream *yamux.Stream
		var err error
		id := []byte{byte(i)}
		if l.cfg.Parent {
			if stream, err = l.mux.OpenStream(); err == nil {
				_, err = stream.Write(id)
			}
		} else {
			if stream, err = l.mux.AcceptStream(); err == nil {
				_, err = stream.Read(id)
			}
		}
		if err != nil {
			return err
		}
		s := link.Stream(id[0])
		if s >= link.NumStreams || l.in[s].stream != nil {
			return protocolError("stream %d was opened twice or does not exist", s)
		}
		l.in[s] = incoming{stream: stream, buf: bufio.NewReaderSize(stream, readBuffer)}
		l.out[s].stream = stream
	}
	return nil
}

// await waits until the streams are open.
func (l *Link) await() error {
	select {
	case <-l.opened:
		return nil
	default:
	}
	select {
	case <-l.opened:
		return nil
	case <-l.down:
		return l.reason()
	}
}

// Close implements link.Link. After a complete end of both sides it first waits,
// for a moment, until the peer needs nothing more of this side.
func (l *Link) Close() error {
	if l.acks.Load() == ackSent|ackReceived {
		t := time.NewTimer(lingerTime)
		select {
		case <-l.peerDone:
		case <-l.down:
		case <-t.C:
		}
		t.Stop()
	}
	l.closed.Store(true)
	l.control.Fail(link.ErrClosed, link.ErrClosed)
	_ = l.stop(link.ErrClosed)
	l.wg.Wait()
	return nil
}

// broken takes the link down because reading or writing stream s returned err.
// Where the whole session ended, its reason tells more than the stream's.
func (l *Link) broken(s link.Stream, err error) error {
	if l.mux.IsClosed() {
		err = l.muxReason()
	} else if errors.Is(err, io.EOF) {
		err = protocolError("the peer closed stream %v", s)
	}
	return l.lose(err)
}

// muxReason returns why the session, which is closed, ended.
func (l *Link) muxReason() error {
	// Accepting tells, but as long as there are streams that nobody accepted
	// it may tell of one of them that the session is closed.
	for range link.NumStreams + 1 {
		switch _, err := l.mux.AcceptStream(); {
		case errors.Is(err, io.EOF):
			return errNoEnd
		case !errors.Is(err, yamux.ErrSessionShutdown):
			return err
		}
	}
	return yamux.ErrSessionShutdown
}

// lose takes the link down because of cause and returns why it is down, which
// may have an earlier cause.
func (l *Link) lose(cause error) error {
	return l.stop(fmt.Errorf("%w: %w", link.ErrLost, cause))
}

// stop takes the link down and returns why it is down: the first cause, except
// that this side's own Close replaces a loss.
func (l *Link) stop(cause error) error {
	l.mu.Lock()
	if l.cause == nil {
		close(l.down)
		if l.timer.Stop() {
			l.wg.Done() // for the tick that will not be
		}
	}
	if l.cause == nil || errors.Is(cause, link.ErrClosed) {
		l.cause = cause
	}
	cause = l.cause
	l.mu.Unlock()
	// The session's reader has to find out first. Were the session closed
	// directly, blocked streams would spin until the reader got its turn.
	_ = l.wire.Close()
	<-l.mux.CloseChan()
	_ = l.mux.Close() // waits for yamux's goroutines
	return cause
}

// untilDown drops the multiplexer's messages about a link that is down already.
func (l *Link) untilDown(log func(string)) func(string) {
	return func(line string) {
		select {
		case <-l.down:
		default:
			log(line)
		}
	}
}

// reason returns the cause of the loss.
func (l *Link) reason() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cause
}
