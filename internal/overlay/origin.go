package overlay

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/tree"
)

// Origin judges the messages of a neighbor by its rights. Every received message passes
// its neighbor's Origin, and nothing else judges it. A child speaks for the hosts that
// it was given, dead or alive, and for the ranks on them. Origins are safe for many
// goroutines; they are told new facts before the neighbor can know them.
type Origin struct {
	parent   bool
	root     bool         // a child of the launcher
	launcher atomic.Bool  // a parent that is the launcher
	spare    atomic.Int64 // bytes of unfinished messages that may come still

	mu      sync.Mutex
	ranksOf *Worlds
	given   tree.Hosts    // the child and all hosts below it, relays too
	nodes   tree.Hosts    // without the relays
	own     job.HostIndex // the child's
	awaited tree.Hosts    // hosts to be told of in a Grown; empty for none
	isReady bool          // Ready has come
	worlds  map[int]*share
	ranks   int // of all worlds so far

	failures Failures
	failed   int // times that a rank has, of all worlds so far
}

// maxUnderway bounds the kept bytes of a neighbor's unfinished messages, over all
// streams: the largest of all, and some.
const maxUnderway = tree.MaxMessage + 32<<20

// OfParent returns the Origin of an agent's parent.
func OfParent() *Origin {
	o := &Origin{parent: true}
	o.spare.Store(maxUnderway)
	return o
}

// Launcher says whether the parent is the launcher.
func (o *Origin) Launcher(is bool) { o.launcher.Store(is) }

// extend gives a child further hosts, of which it is to tell in a Grown.
func (o *Origin) extend(hosts []HostEntry) {
	o.mu.Lock()
	defer o.mu.Unlock()
	given, nodes := o.given.List(), o.nodes.List()
	var more []job.HostIndex
	for _, h := range hosts {
		given = append(given, h.Index)
		if !h.Relay() {
			more = append(more, h.Index)
		}
	}
	o.given, o.nodes, o.awaited = tree.MakeHosts(given), tree.MakeHosts(append(nodes, more...)), tree.MakeHosts(more)
}

// limit returns the bound for messages of this origin.
func (s allowance) limit(o *Origin) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return s.base + s.host*o.given.Len() + s.rank*o.ranks
}

// unexpected is the error of a kind that its sender may not send.
func unexpected(k tree.Kind) error {
	if int(k) < len(kinds) && kinds[k].name != "" {
		return fmt.Errorf("unexpected message %q", kinds[k].name)
	}
	return fmt.Errorf("unexpected message of kind %d", k)
}

// admit judges the header of a message, and says how many bytes it may have.
func (o *Origin) admit(s link.Stream, h tree.Header) (most int, err error) {
	if int(h.Kind) >= len(kinds) || kinds[h.Kind].name == "" {
		return 0, unexpected(h.Kind)
	}
	k := &kinds[h.Kind]
	wrong := k.direction == up
	if !o.parent {
		wrong = k.direction == down
	}
	switch {
	case wrong, k.sender == byNewcomer, k.sender == byRoot && !o.root, k.sender == byLauncher && !o.launcher.Load():
		return 0, fmt.Errorf("%w: only %s sends it", unexpected(h.Kind), k.sender)
	case s != k.stream:
		return 0, fmt.Errorf("message %q on the stream of others", k.name)
	case (h.Job != job.TreeItself) && k.of == ofTree, h.Job == job.TreeItself && k.of == ofJob:
		return 0, fmt.Errorf("message %q about job %d, though it is about %s", k.name, h.Job, k.of)
	case h.World != 0 && !k.world:
		return 0, fmt.Errorf("message %q about world %d", k.name, h.World)
	case k.sender == byNode && h.To < 0:
		return 0, fmt.Errorf("message %q for no host", k.name)
	}
	if err := o.source(k, h.From); err != nil {
		return 0, fmt.Errorf("message %q: %w", k.name, err)
	}
	return min(k.bytes.limit(o), tree.MaxMessage), nil
}

// source judges which host a message says that it comes from.
func (o *Origin) source(k *kind, from job.HostIndex) error {
	switch {
	case o.parent && k.sender == byNode:
		return nil // the receiver knows the hosts below it
	case o.parent && from != tree.Launcher:
		return errors.New("it says that it comes from a host, which is not above")
	case o.parent, from == tree.Launcher && k.sender != byNode && k.sender != byBelow:
		return nil
	case from == tree.Launcher:
		return errors.New("it says that it comes from no host")
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.host(from)
}

// read judges a message whose header was admitted, and decodes it if that takes
// it.
func (o *Origin) read(h tree.Header, payload []byte) (value any, err error) {
	k := &kinds[h.Kind]
	if !o.parent {
		o.ranksOf.await()
	}
	if value, err = k.body(o, h, payload, k.values.limit(o)); err != nil {
		return nil, fmt.Errorf("message %q: %w", k.name, err)
	}
	return value, nil
}

// charge counts the kept bytes of unfinished messages.
func (o *Origin) charge(bytes int) bool { return o.spare.Add(-int64(bytes)) >= 0 }

// host refuses hosts that are not the child's. o.mu is held, as where the following are
// called.
func (o *Origin) host(h job.HostIndex) error {
	if !o.given.Has(h) {
		return fmt.Errorf("%s is not below it", o.called(h))
	}
	return nil
}

// rank refuses a rank that is not on a host of the child. Of worlds that are over
// nobody knows where ranks were.
func (o *Origin) rank(world int, r job.Rank, host job.HostIndex) error {
	if err := o.host(host); err != nil {
		return err
	}
	blocks, over, err := o.ranksOf.find(world)
	if err != nil || over {
		return err
	}
	if b := job.BlockOf(blocks, r); b == nil || b.Host != host {
		return fmt.Errorf("rank %v is not on %s", job.RankID{World: world, Rank: r}, o.called(host))
	}
	return nil
}

// share returns the child's share of a world that is not over.
func (o *Origin) share(world int) (*share, error) {
	s := o.worlds[world]
	if s == nil || s.ranks == 0 {
		return nil, fmt.Errorf("world %d has no ranks below it", world)
	}
	return s, nil
}

// noteOnce refuses a fact that is told twice.
func noteOnce(said *bool) error {
	if *said {
		return errors.New("it is said twice")
	}
	*said = true
	return nil
}
