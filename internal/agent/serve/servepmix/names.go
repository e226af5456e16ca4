package servepmix

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/pmix"
)

// names are the values that processes have published.
type names struct {
	entries map[scoped]*published
	bytes   int
	waiting []*waiter // lookups, oldest first
}

// scoped is a key, and who can see it.
type scoped struct {
	scope string // of a node, of a namespace, or "" for all
	key   string
}

type published struct {
	pmix.Entry
	persistence pmix.Persistence
	host        job.HostIndex
}

// waiter is a lookup that waits for keys.
type waiter struct {
	who caller
	pmix.Lookup
}

const (
	mostNames   = 64 << 20 // bytes of all
	nameCost    = 128      // of each beside its key and value
	mostLookups = 1 << 20
)

// scope is that of what a process on a host publishes in a range.
func scope(r pmix.Range, host job.HostIndex, p pmix.Proc) string {
	switch r {
	case pmix.RangeLocal:
		return fmt.Sprintf("node %d", host)
	case pmix.RangeNamespace:
		return "namespace " + p.Namespace
	}
	return ""
}

// publish makes values known, all or none of them.
func (r *Root) publish(c caller, b pmix.Publish) {
	status := r.names.publish(c.host, b, r.above.Taken)
	r.answer(c, pmix.Done{Status: status})
	if status == pmix.Success {
		r.lookAgain()
	}
}

func (n *names) publish(host job.HostIndex, b pmix.Publish, taken func(string) bool) pmix.Status {
	where := scope(b.Range, host, b.Proc)
	more := 0
	seen := map[string]bool{}
	for _, e := range b.Entries {
		if n.entries[scoped{where, e.Key}] != nil || seen[e.Key] || where == "" && taken(e.Key) {
			return pmix.DuplicateKey
		}
		seen[e.Key] = true
		more += cost(e)
	}
	if n.bytes+more > mostNames {
		return pmix.OutOfResource
	}
	n.bytes += more
	for _, e := range b.Entries {
		e.Publisher = b.Proc
		e.Blob = slices.Clone(e.Blob)
		n.entries[scoped{where, e.Key}] = &published{e, b.Persistence, host}
	}
	return pmix.Success
}

func (n *names) remove(s scoped) {
	n.bytes -= cost(n.entries[s].Entry)
	delete(n.entries, s)
}

// removeIf takes those back of which drop is true.
func (n *names) removeIf(drop func(*published) bool) {
	for s, e := range n.entries {
		if drop(e) {
			n.remove(s)
		}
	}
}

// lookup answers a lookup, now or when there is enough.
func (r *Root) lookup(c caller, b pmix.Lookup) {
	w := &waiter{c, b}
	switch {
	case r.tryLookup(w):
	case len(r.names.waiting) >= mostLookups:
		r.answer(c, pmix.Found{Status: pmix.OutOfResource})
	default:
		r.names.waiting = append(r.names.waiting, w)
		if b.Timeout > 0 {
			r.above.After(time.Duration(b.Timeout)*time.Second, func() {
				if i := slices.Index(r.names.waiting, w); i >= 0 {
					r.names.waiting = slices.Delete(r.names.waiting, i, i+1)
					r.answer(c, pmix.Found{Status: pmix.Timeout})
				}
			})
		}
	}
}

// lookAgain answers the lookups that have waited for what is there now.
func (r *Root) lookAgain() {
	waiting := r.names.waiting
	r.names.waiting = nil
	for _, w := range waiting {
		if !r.tryLookup(w) {
			r.names.waiting = append(r.names.waiting, w)
		}
	}
}

// tryLookup answers a lookup, unless it is to wait.
func (r *Root) tryLookup(w *waiter) (done bool) {
	found := r.names.find(w)
	keys := len(distinctKeys(w.Keys))
	need := int(w.Wait)
	switch {
	case need < 0:
		need = 0
	case need == 0 || need > keys:
		need = keys
	}
	if len(found) < need {
		return false
	}
	answer := pmix.Found{}
	for _, s := range found {
		e := r.names.entries[s]
		answer.Entries = append(answer.Entries, e.Entry)
		if e.persistence == pmix.UntilFirstRead {
			r.names.remove(s)
		}
	}
	switch {
	case len(found) == 0:
		answer.Status = pmix.NotFound
	case len(found) < keys:
		answer.Status = pmix.PartialSuccess
	}
	r.answer(w.who, answer)
	return true
}

// find is where the keys of a lookup are that its process can see.
func (n *names) find(w *waiter) (found []scoped) {
	for _, key := range distinctKeys(w.Keys) {
		for _, r := range []pmix.Range{pmix.RangeLocal, pmix.RangeNamespace, pmix.RangeSession} {
			s := scoped{scope(r, w.who.host, w.Proc), key}
			e := n.entries[s]
			if e == nil || w.Range == pmix.RangeNamespace && e.Publisher.Namespace != w.Proc.Namespace || w.Range == pmix.RangeLocal && e.host != w.who.host {
				continue
			}
			found = append(found, s)
			break
		}
	}
	return found
}

func distinctKeys(keys []string) []string {
	seen := map[string]bool{}
	for _, k := range keys {
		seen[k] = true
	}
	return slices.Sorted(maps.Keys(seen))
}

// unpublish takes values of a process back.
func (n *names) unpublish(host job.HostIndex, b pmix.Unpublish) pmix.Status {
	if len(b.Keys) == 0 {
		n.removeIf(func(e *published) bool { return e.Publisher == b.Proc })
		return pmix.Success
	}
	status := pmix.Success
	for _, key := range b.Keys {
		s := scoped{scope(b.Range, host, b.Proc), key}
		if e := n.entries[s]; e != nil && e.Publisher == b.Proc {
			n.remove(s)
		} else {
			status = pmix.NotFound
		}
	}
	return status
}

// ended takes back what was to be there as long as a process, and returns its lookups.
func (n *names) ended(p pmix.Proc) []*waiter {
	n.removeIf(func(e *published) bool { return e.Publisher == p && e.persistence == pmix.UntilProcess })
	return n.dropIf(func(w *waiter) bool { return w.Proc == p })
}

// over takes back what was to be there as long as a world, and returns its lookups.
func (n *names) over(namespace string) []*waiter {
	n.removeIf(func(e *published) bool {
		return e.Publisher.Namespace == namespace && (e.persistence == pmix.UntilProcess || e.persistence == pmix.UntilApp)
	})
	return n.dropIf(func(w *waiter) bool { return w.Proc.Namespace == namespace })
}

// dropIf has lookups wait no longer.
func (n *names) dropIf(drop func(*waiter) bool) (dropped []*waiter) {
	n.waiting = slices.DeleteFunc(n.waiting, func(w *waiter) bool {
		if drop(w) {
			dropped = append(dropped, w)
			return true
		}
		return false
	})
	return dropped
}

// dropLookups answers lookups whose process is over: their node counts them still.
func (r *Root) dropLookups(list []*waiter) {
	for _, w := range list {
		r.answer(w.who, pmix.Found{Status: pmix.ProcTerminated})
	}
}

// Published tells whether a value is known to all by a key.
func (r *Root) Published(key string) bool { return r.names.entries[scoped{"", key}] != nil }

func cost(e pmix.Entry) int { return len(e.Key) + len(e.Blob) + nameCost }
