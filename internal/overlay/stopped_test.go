package overlay

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/stage"
	"github.com/golaunch/golaunch/tree"
)

// stoppedHost is a bootstrap whose agents are stopped: one answers package stage, if it
// may, and says nothing more.
type stoppedHost struct {
	speaks bool
	mu     sync.Mutex
	pipes  []*stoppedPipe
}

func (h *stoppedHost) Reach() bootstrap.Reach { return bootstrap.Anywhere }
func (h *stoppedHost) NeedsStaging() bool     { return true }

func (h *stoppedHost) Start(_ context.Context, _ bootstrap.Host, argv []string) (bootstrap.Pipe, error) {
	p := &stoppedPipe{magic: argv[4] + argv[5], closed: make(chan struct{})}
	p.out, p.agent = io.Pipe()
	if h.speaks {
		go io.WriteString(p.agent, p.magic+" have\n") // ends with Close at the latest
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pipes = append(h.pipes, p)
	return p, nil
}

// stoppedPipe notes what is done with it, in order.
type stoppedPipe struct {
	magic string
	out   *io.PipeReader
	agent *io.PipeWriter

	mu     sync.Mutex
	done   []string
	once   sync.Once
	closed chan struct{}
}

func (p *stoppedPipe) note(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done = append(p.done, what)
}

func (p *stoppedPipe) Read(b []byte) (int, error) { return p.out.Read(b) }

func (p *stoppedPipe) Write(b []byte) (int, error) {
	select {
	case <-p.closed:
		return 0, io.ErrClosedPipe
	default:
		return len(b), nil
	}
}

func (p *stoppedPipe) Close() error {
	p.once.Do(func() {
		p.note("closed")
		close(p.closed)
		p.out.Close()
	})
	return nil
}

func (p *stoppedPipe) Diagnostics() string { return "" }
func (p *stoppedPipe) PeerAddr() string    { return "" }

func (p *stoppedPipe) Also(_ context.Context, argv []string) error {
	words := argv[len(argv)-2:]
	if words[1] == "3.job" {
		p.note("job swept")
	}
	if words[1]+words[0] == p.magic && !strings.Contains(strings.Join(argv, " "), p.magic) {
		p.note("swept")
	}
	return nil
}

// A start that is given up ends its agent before the connection is closed, whether
// the agent has been heard of or not, and whatever the end is.
func TestAStartThatIsGivenUpIsSwept(t *testing.T) {
	for name, x := range map[string]struct{ speaks, stop bool }{
		"before it spoke":              {},
		"before its hello":             {speaks: true},
		"before it spoke, at the end":  {stop: true},
		"before its hello, at the end": {speaks: true, stop: true},
	} {
		t.Run(name, func(t *testing.T) {
			limit := time.Second / 2 // a busy machine has begun it by then
			if x.stop {
				limit = time.Hour
			}
			h, woken := &stoppedHost{speaks: x.speaks}, make(chan struct{}, 1)
			inbox := NewInbox(func() {
				select {
				case woken <- struct{}{}:
				default:
				}
			})
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			s := NewStarter(ctx, h, self{}, Common{StartOptions: StartOptions{ConnectTimeout: limit, LostAfter: time.Hour}}, inbox, func(job.HostIndex, string) {})
			s.Start([]HostEntry{{Name: "n0"}})
			if x.stop {
				require.Eventually(t, func() bool {
					h.mu.Lock()
					defer h.mu.Unlock()
					return len(h.pipes) > 0
				}, time.Minute, time.Millisecond)
				stop()
			}
			s.Wait()
			<-woken
			require.IsType(t, HostFailed{}, inbox.Take(nil)[0])
			require.NotEmpty(t, h.pipes)
			for _, p := range h.pipes {
				require.Equal(t, []string{"swept", "closed"}, p.done)
			}
		})
	}
}

// endBoth ends a subtree's links and the other side of one, as a peer that lives does.
func endBoth(f *Subtree, far link.Link) {
	for stream := range link.NumStreams {
		go func() { // ends with END
			for err := error(nil); err == nil; {
				_, err = far.Recv(stream)
			}
		}()
	}
	go func() { _ = far.End(context.Background()) }() // ends when f has ended, too
	f.End(context.Background())
}

// While nobody there watches an agent that has said hello, its link's end ends it;
// afterwards its warden does, and one that has just spoken sees it by itself.
func TestAnAgentThatNobodyWatchesIsSwept(t *testing.T) {
	staged := func(t *testing.T) (*stoppedPipe, bootstrap.Pipe) {
		h := &stoppedHost{speaks: true}
		pipe, err := stage.Start(t.Context(), h, bootstrap.Host{}, self{}, nil, stage.Options{})
		require.NoError(t, err)
		return h.pipes[0], pipe
	}
	for name, x := range map[string]struct {
		do   func(f *Subtree, p *leftOpen, far link.Link)
		want []string
	}{
		"silent before it is ready": {func(_ *Subtree, p *leftOpen, _ link.Link) { p.Close() }, []string{"job swept", "swept", "closed"}},
		"closed afterwards": {func(f *Subtree, p *leftOpen, _ link.Link) {
			f.Watched(0)
			p.Close()
		}, []string{"closed"}},
		"silent afterwards, its warden maybe dead": {func(f *Subtree, p *leftOpen, _ link.Link) {
			f.Watched(0)
			p.fellSilent(link.ErrLost)
			require.Equal(t, []Event{EdgeEnded{From: 0, Err: link.ErrLost}}, f.inbox.Take(nil), "told before the node is cleaned")
			f.Lose(0, link.ErrLost)
			f.sweeps.Wait()
		}, []string{"job swept", "swept", "closed"}},
		"silent when it is ready, maybe before its warden": {func(f *Subtree, p *leftOpen, _ link.Link) {
			f.ChildReady(0, Ready{})
			p.Close()
		}, []string{"job swept", "swept", "closed"}},
		"it ended in good order": {func(f *Subtree, p *leftOpen, far link.Link) {
			endBoth(f, far)
			p.noteEnd()
			p.Close()
			f.Close()
		}, []string{"closed"}},
		"it ended in good order, and is stopped before it exits": {func(f *Subtree, p *leftOpen, far link.Link) {
			endBoth(f, far)
			p.Close()
		}, []string{"job swept", "swept", "closed"}},
		"it ended by itself and is lost": {func(f *Subtree, p *leftOpen, _ link.Link) {
			p.noteEnd()
			f.Lose(0, io.ErrUnexpectedEOF)
			p.Close()
			f.sweeps.Wait()
		}, []string{"closed"}},
		"it broke the protocol": {func(f *Subtree, p *leftOpen, _ link.Link) {
			f.Lose(0, io.ErrUnexpectedEOF)
			p.Close()
			f.sweeps.Wait()
		}, []string{"closed"}},
	} {
		t.Run(name, func(t *testing.T) {
			noted, pipe := staged(t)
			near, far := memlink.Pair()
			defer far.Close()
			defer near.Close()
			inbox := NewInbox(func() {})
			f := NewSubtree(NewStarter(t.Context(), nil, self{}, Common{}, inbox, nil), Common{}, inbox, func(tree.Slot) Sink { return func(tree.Header, []byte) {} })
			f.Begin(Ready{}, nil, 1)
			held := newLeftOpen(pipe, "3.job")
			f.Join(Joined{Host: HostEntry{Index: 3, Name: "n3"}, Link: near, Pipe: pipe, held: held})
			x.do(f, held, far)
			require.ElementsMatch(t, x.want, noted.done)
			require.Equal(t, "closed", noted.done[len(noted.done)-1])
		})
	}
	t.Run("refused", func(t *testing.T) {
		noted, pipe := staged(t)
		near, far := memlink.Pair()
		defer far.Close()
		held := newLeftOpen(pipe, "")
		Joined{Link: near, Pipe: pipe, held: held}.Refuse()
		require.NoError(t, held.Close())
		require.Equal(t, []string{"closed"}, noted.done)
	})
}
