package fakeagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/yamuxlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// node is one fake agent.
type node struct {
	order   Order
	magic   string // of the conversation that started it
	forgery Forgery

	link   link.Link
	ranges chan overlay.Range
	launch chan overlay.Launch
	signed chan overlay.SignAnswer
	pings  chan overlay.Ping // the first, which is not answered
	gone   chan struct{}     // closed when the link has ended
	once   sync.Once
	killed chan struct{} // gets something when the ranks are told to end
	asked  chan struct{} // and when the counters are asked for

	lastSign uint64

	// From the Range and the Launch on.
	self  overlay.HostEntry
	given overlay.Range
	world overlay.World
	first job.Rank // of this node
	ranks int      // of this node
}

var errGone = errors.New("the link ended")

// play is an agent from hello to END, with one forgery in between.
func (n *node) play(pipe io.ReadWriteCloser) error {
	l, err := yamuxlink.New(pipe, yamuxlink.Config{})
	if err != nil {
		return err
	}
	defer l.Close()
	n.link = l
	n.ranges, n.launch = make(chan overlay.Range, 1), make(chan overlay.Launch, 1)
	n.signed, n.gone = make(chan overlay.SignAnswer, 16), make(chan struct{})
	n.pings = make(chan overlay.Ping, 1)
	n.killed, n.asked = make(chan struct{}, 1), make(chan struct{}, 1)
	for s := range link.NumStreams {
		go n.read(s) // ends with the link
	}
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	hello := overlay.Hello{Protocol: overlay.Protocol, OSArch: runtime.GOOS + "/" + runtime.GOARCH, Cores: 1, HostName: name}
	n.send(link.Control, tree.Header{Kind: overlay.KindHello, To: tree.Neighbor, From: tree.Launcher}, overlay.Encode(hello))
	for _, step := range []func() error{n.takeRange, n.ready, n.takeLaunch, n.run} {
		if err := step(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return l.End(ctx)
}

// act commits the forgery if its time has come, and gives the peer time to
// answer it.
func (n *node) act(at moment) error {
	if n.forgery.at != at {
		return nil
	}
	n.log("commits it")
	if err := n.forgery.commit(n); err != nil {
		return err
	}
	if n.forgery.answered {
		return nil
	}
	select {
	case <-n.gone:
		return errGone
	case <-time.After(patience):
		n.log("nobody minded within %v", patience)
		return nil
	}
}

func (n *node) takeRange() error {
	select {
	case n.given = <-n.ranges:
		n.self = n.given.Self
		return n.act(ranged)
	case <-n.gone:
		return errGone
	}
}

// ready says that the node is up, and that those below it are not.
func (n *node) ready() error {
	r := overlay.Ready{Live: []overlay.NodeInfo{{Index: n.self.Index, HostName: n.self.Name, Cores: 1}}}
	for _, h := range n.given.Hosts {
		if n.forgery.claims { // that they are up
			r.Live = append(r.Live, overlay.NodeInfo{Index: h.Index, HostName: h.Name, Cores: 1})
		} else {
			r.Dead = append(r.Dead, overlay.DeadHost{Index: h.Index, Phase: "connect", Cause: "the fake agent did not try"})
		}
	}
	n.up(link.Service, overlay.KindReady, r)
	return n.act(up)
}

func (n *node) takeLaunch() error {
	select {
	case l := <-n.launch:
		n.world = l.World
	case <-n.gone:
		return errGone
	}
	n.first = -1
	for _, b := range n.world.Blocks {
		below := slices.ContainsFunc(n.given.Hosts, func(h overlay.HostEntry) bool { return h.Index == b.Host })
		if b.Host == n.self.Index || n.forgery.claims && below {
			if n.first < 0 {
				n.first = b.First
			}
			n.ranks += b.Count
		}
	}
	return n.act(launched)
}

// run sends the messages of an agent whose ranks end well.
func (n *node) run() error {
	n.up(link.Control, overlay.KindStarted, overlay.Started{Ranks: n.ranks})
	if err := n.act(running); err != nil {
		return err
	}
	if err := n.untilTold(); err != nil {
		return err
	}
	done := func() { n.up(link.Control, overlay.KindDone, overlay.Done{Ranks: n.ranks}) }
	drained := func() { n.send(link.Stdio, n.header(overlay.KindDrained), nil) }
	first, second, at := done, drained, told
	if n.forgery.at == dried { // with both, the job may be over
		first, second, at = drained, done, dried
	}
	first()
	if err := n.act(at); err != nil {
		return err
	}
	second()
	return n.atTheEnd()
}

// up sends a message as the node's own.
func (n *node) up(s link.Stream, kind tree.Kind, message any) {
	n.send(s, n.header(kind), overlay.Encode(message))
}

func (n *node) header(kind tree.Kind) tree.Header {
	h := tree.Header{Kind: kind, To: tree.Launcher, From: n.self.Index}
	if !overlay.OfTree(kind) {
		h.Job = job.Cold
	}
	return h
}

// send sends a message. That the link is lost shows elsewhere.
func (n *node) send(s link.Stream, h tree.Header, payload []byte) {
	_, _ = tree.Fragments(nil, h, payload, link.MaxFrameOf(s), func(f []byte) error { return n.link.Send(s, f) })
}

// read takes the parent's messages of a stream, to its end.
func (n *node) read(s link.Stream) {
	defer n.once.Do(func() { close(n.gone) })
	var whole tree.Assembler
	for {
		frame, err := n.link.Recv(s)
		if err != nil {
			return
		}
		h, body, done, err := whole.Add(frame)
		if err != nil {
			n.log("from the parent: %v", err)
			return
		}
		if done {
			n.take(h, body)
		}
	}
}

// take keeps the messages that the fake has use for.
func (n *node) take(h tree.Header, body []byte) {
	var err error
	switch h.Kind {
	case overlay.KindRange:
		err = keep(n.ranges, body)
	case overlay.KindLaunch:
		err = keep(n.launch, body)
	case overlay.KindSigned:
		err = keep(n.signed, body)
	case overlay.KindPing:
		if len(n.pings) == 0 {
			err = keep(n.pings, body)
		}
	case overlay.KindKill:
		note(n.killed)
	case overlay.KindCollect:
		note(n.asked)
	}
	if err != nil {
		n.log("kind %d from the parent: %v", h.Kind, err)
	}
}

// keep puts a message into a channel that has room for all that are asked for.
func keep[T any](into chan T, body []byte) error {
	m, err := overlay.Decode[T](body)
	if err != nil {
		return err
	}
	select {
	case into <- m:
		return nil
	default:
		return fmt.Errorf("%T that nobody asked for", m)
	}
}

// note says, once, that something was heard.
func note(heard chan struct{}) {
	select {
	case heard <- struct{}{}:
	default:
	}
}
