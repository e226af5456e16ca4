package overlay

import (
	"cmp"
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
// it was given, dead or alive, and for each job's ranks on them. Origins are safe for many
// goroutines; they are told new facts before the neighbor can know them.
type Origin struct {
	parent   bool
	root     bool         // a child of the launcher
	launcher atomic.Bool  // a parent that is the launcher
	spare    atomic.Int64 // bytes of unfinished messages that may come still

	mu      sync.Mutex
	worlds  *Worlds
	given   tree.Hosts             // the child and all hosts below it, relays too
	nodes   tree.Hosts             // without the relays
	own     job.HostIndex          // the child's
	awaited tree.Hosts             // hosts to be told of in a Grown; empty for none
	isReady bool                   // Ready has come
	jobs    map[job.Number]*claims // that are not over
	ranks   int                    // of all these
	most    int                    // that ranks ever was
}

// maxUnderway bounds the kept bytes of a neighbor's unfinished messages, over all
// streams: the largest of all, and some.
const maxUnderway = tree.MaxMessage + 32<<20

// OfParent returns the Origin of an agent's parent.
func OfParent() *Origin {
	o := &Origin{parent: true, worlds: &Worlds{}}
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

// limit returns the bound for messages of this origin about a job, or the tree.
func (s allowance) limit(o *Origin, n job.Number) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return s.base + s.host*o.given.Len() + s.rank*o.ranksOf(n)
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
	if err := cmp.Or(o.source(k, h.From), o.knows(h.Job)); err != nil {
		return 0, fmt.Errorf("message %q: %w", k.name, err)
	}
	return min(k.bytes.limit(o, h.Job), tree.MaxMessage), nil
}

// knows refuses jobs that do not exist yet.
func (o *Origin) knows(n job.Number) error {
	if o.parent {
		return nil // the receiver knows them
	}
	o.worlds.await()
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.claimsIn(n); !errors.Is(err, errJobOver) {
		return err
	}
	return nil
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
// it. Those of a job that is over are not looked at: errJobOver.
func (o *Origin) read(h tree.Header, payload []byte) (value any, err error) {
	k := &kinds[h.Kind]
	if k.of == ofJob && !o.parent {
		if _, err := o.worlds.find(h.Job); err != nil {
			return nil, err
		}
	}
	if value, err = k.body(o, h, payload, k.values.limit(o, h.Job)); err != nil {
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

// noteOnce refuses a fact that is told twice.
func noteOnce(said *bool) error {
	if *said {
		return errors.New("it is said twice")
	}
	*said = true
	return nil
}
