package servepmix

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
)

// meeting is what processes of several nodes do together: a fence of some of a world, a
// connect, a group. A node says once of each helper how many of the processes are in.
type meeting struct {
	what    string
	procs   []pmix.Proc           // distinct
	share   map[job.HostIndex]int // processes of each host
	have    map[job.HostIndex]int // of these, those that are in
	need    int                   // that are not
	callers []caller
	held    int         // bytes of their blobs
	failed  pmix.Status // for those that come late, too
}

// caller is who made a call.
type caller struct {
	host   job.HostIndex
	number uint32
	count  int
	blob   []byte
	assign bool
}

func (c caller) answered() overlay.PMIxCaller {
	return overlay.PMIxCaller{Host: c.host, Number: c.number}
}

func (c caller) compare(d caller) int {
	return cmp.Or(cmp.Compare(c.host, d.host), cmp.Compare(c.number, d.number))
}

// blobs are what all have given, in the order of hosts. They may be too large.
func (m *meeting) blobs() (all []byte, ok bool) {
	size := 0
	for _, c := range m.callers {
		size += len(c.blob)
	}
	if size > maxBlob {
		return nil, false
	}
	all = make([]byte, 0, size)
	for _, c := range m.callers {
		all = append(all, c.blob...)
	}
	return all, true
}

// key is the same for all who meet.
func (m *meeting) key() string { return key(m.what, m.procs) }

func key(what string, procs []pmix.Proc) string {
	var b strings.Builder
	b.WriteString(what)
	for _, p := range procs {
		fmt.Fprintf(&b, " %q %d", p.Namespace, p.Rank)
	}
	return b.String()
}

// distinct has each process once, in order.
func distinct(procs []pmix.Proc) []pmix.Proc {
	all := slices.Clone(procs)
	slices.SortFunc(all, func(p, q pmix.Proc) int {
		// All of a namespace come before its ranks, which they include.
		return cmp.Or(strings.Compare(p.Namespace, q.Namespace), cmp.Compare(p.Rank+2, q.Rank+2))
	})
	kept := all[:0]
	for _, p := range all {
		if n := len(kept); n > 0 && kept[n-1].Namespace == p.Namespace && (kept[n-1].Rank == p.Rank || kept[n-1].Rank == pmix.Wildcard) {
			continue
		}
		kept = append(kept, p)
	}
	return kept
}

// folded has all of a namespace stand for its ranks where these are all there. Procs are
// distinct; size is how many ranks a namespace has, 0 if that is not known.
func folded(procs []pmix.Proc, size func(namespace string) int) (all []pmix.Proc) {
	for len(procs) > 0 {
		n := 1
		for n < len(procs) && procs[n].Namespace == procs[0].Namespace {
			n++
		}
		if procs[0].Rank == 0 && n == size(procs[0].Namespace) && procs[n-1].Rank == uint32(n-1) {
			all = append(all, pmix.Proc{Namespace: procs[0].Namespace, Rank: pmix.Wildcard})
		} else {
			all = append(all, procs[:n]...)
		}
		procs = procs[n:]
	}
	return all
}

// meetings are those that are under way. Of equal ones the nodes see the same order.
type meetings struct {
	byKey  map[string][]*meeting
	failed []*meeting // of these, oldest first
	number int        // of all
	bytes  int        // of the blobs that they hold
}

// Bounds of the meetings of a job.
const (
	mostFailed   = 1024 // that have failed and wait for who comes late
	mostMeetings = 1 << 16
	mostHeld     = 2 * maxBlob // bytes of the blobs of those that wait
)

// of finds the first that still waits for processes of a host.
func (s *meetings) of(what string, procs []pmix.Proc, host job.HostIndex) *meeting {
	for _, m := range s.byKey[key(what, procs)] {
		if m.have[host] < m.share[host] {
			return m
		}
	}
	return nil
}

func (s *meetings) add(m *meeting) {
	k := m.key()
	s.byKey[k] = append(s.byKey[k], m)
	s.number++
}

func (s *meetings) remove(m *meeting) {
	k := m.key()
	before := len(s.byKey[k])
	s.byKey[k] = slices.DeleteFunc(s.byKey[k], func(x *meeting) bool { return x == m })
	s.number -= before - len(s.byKey[k])
	if len(s.byKey[k]) == 0 {
		delete(s.byKey, k)
	}
	s.release(m)
	s.failed = slices.DeleteFunc(s.failed, func(x *meeting) bool { return x == m })
}

// enter has one more take part, unless there is no room for what it gives.
func (s *meetings) enter(m *meeting, c caller) (ok bool) {
	if s.bytes+len(c.blob) > mostHeld {
		return false
	}
	s.bytes += len(c.blob)
	m.held += len(c.blob)
	m.callers = append(m.callers, c)
	return true
}

// release no longer counts the blobs of one.
func (s *meetings) release(m *meeting) {
	s.bytes -= m.held
	m.held = 0
}

// keepFailed notes that one has failed.
func (s *meetings) keepFailed(m *meeting) {
	if s.failed = append(s.failed, m); len(s.failed) > mostFailed {
		s.remove(s.failed[0])
	}
}

// with are those that a process takes part in, or any of its namespace.
func (s *meetings) with(p pmix.Proc) (found []*meeting) {
	for _, list := range s.byKey {
		for _, m := range list {
			if slices.ContainsFunc(m.procs, func(q pmix.Proc) bool {
				return q.Namespace == p.Namespace && (q.Rank == p.Rank || q.Rank == pmix.Wildcard || p.Rank == pmix.Wildcard)
			}) {
				found = append(found, m)
			}
		}
	}
	return found
}
