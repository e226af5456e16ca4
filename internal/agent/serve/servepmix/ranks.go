package servepmix

import (
	"fmt"
	"maps"
	"slices"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/pmix"
)

// What is known of ranks that wait: the helper tells of a fence, or a meeting, when all
// ranks of the node that take part are in. Who of them is in before that, and which of
// them wants what another rank has put, its library alone knows.

// Calls tells what ranks wait for that have connected, or how far they have come.
func (s *Server) Calls() map[job.Rank]serve.Call {
	calls := map[job.Rank]serve.Call{}
	for number, r := range s.ranks {
		if r.connected {
			calls[number] = serve.Call{Text: s.callText(r), Since: r.heard}
		}
	}
	wait := func(r *rank, c serve.Call) {
		if x, connected := calls[r.Number]; connected && !x.Waits && !r.finalized {
			c.Waits = true
			calls[r.Number] = c
		}
	}
	for _, p := range s.parts {
		if len(p.waiting) > 0 {
			c := serve.Call{Text: fmt.Sprintf("%s: in PMIx's fence number %d of the world", s.fenceIn(), s.fences.first+1), Since: p.waiting[0].since}
			for _, r := range p.ranks {
				wait(r, c)
			}
		}
	}
	for _, number := range slices.Sorted(maps.Keys(s.local.calls)) {
		c := s.local.calls[number]
		s.eachOf(c.procs, func(r *rank) {
			if r.helper == c.helper {
				wait(r, serve.Call{Text: "in " + callName(c.kind), Since: c.since})
			}
		})
	}
	wanted := map[*helper]uint32{} // the oldest of its modexes
	for number, m := range s.local.modexes {
		if first, some := wanted[m.helper]; !some || number < first {
			wanted[m.helper] = number
		}
	}
	for _, r := range s.ranks {
		if number, some := wanted[r.helper]; some {
			m := s.local.modexes[number]
			wait(r, serve.Call{Text: s.callText(r) + ", while it or another rank of its node wants what " + s.procText(m.of) + " has put", Since: m.since})
		}
	}
	return calls
}

// callText says how far a rank is that has connected.
func (s *Server) callText(r *rank) string {
	switch {
	case r.finalized:
		return "past MPI_Finalize"
	case s.fences.first == 0:
		return "in MPI_Init, in no call of PMIx that all ranks of its node have made"
	}
	return "between MPI_Init and MPI_Finalize, in no call of PMIx that all ranks of its node have made"
}

// fenceIn is in what of MPI's the next fence of the world is.
func (s *Server) fenceIn() string {
	if s.fences.first == 0 {
		return "in MPI_Init"
	}
	return "in MPI_Finalize, or at the end of MPI_Init"
}

// eachOf does something with the local ranks among some processes.
func (s *Server) eachOf(procs []pmix.Proc, do func(*rank)) {
	for _, p := range procs {
		switch r := s.ranks[job.Rank(p.Rank)]; {
		case p.Namespace != s.w.KVSName:
		case p.Rank == pmix.Wildcard:
			for _, r := range s.ranks {
				do(r)
			}
		case r != nil:
			do(r)
		}
	}
}

// procText names a process as users do.
func (s *Server) procText(p pmix.Proc) string {
	if p.Namespace == s.w.KVSName {
		return fmt.Sprintf("rank %d", p.Rank)
	}
	return fmt.Sprintf("rank %d of %s", p.Rank, p.Namespace)
}

// callName is a call of PMIx, and in what of MPI's it is.
func callName(kind pmix.Kind) string {
	switch kind {
	case pmix.KindFence:
		return "a fence of some ranks (PMIx)"
	case pmix.KindConnect:
		return "PMIx_Connect, as of MPI_Comm_connect, MPI_Comm_accept and MPI_Comm_spawn"
	case pmix.KindDisconnect:
		return "PMIx_Disconnect, as of MPI_Comm_disconnect"
	case pmix.KindGroup:
		return "making or ending a group of PMIx"
	case pmix.KindPublish:
		return "MPI_Publish_name (PMIx_Publish)"
	case pmix.KindUnpublish:
		return "MPI_Unpublish_name (PMIx_Unpublish)"
	case pmix.KindLookup:
		return "MPI_Lookup_name or MPI_Comm_connect (PMIx_Lookup)"
	case pmix.KindSpawn:
		return "MPI_Comm_spawn (PMIx_Spawn)"
	}
	return fmt.Sprintf("call %d of PMIx", kind)
}
