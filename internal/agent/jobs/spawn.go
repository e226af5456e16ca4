package jobs

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/pmi"
)

// spawns are what a job's ranks want started.
type spawns struct{ j *Job }

// ask passes on what a local rank wants started: the launcher alone knows
// which slots are free.
func (sp *spawns) ask(r *rank, s *pmi.Spawn) {
	r.asked = s
	request := overlay.SpawnRequest{Host: sp.j.node.Self().Index, Rank: r.Number, World: r.world.id, Spawn: *s}
	if names := hostFiles(s); len(names) > 0 {
		sp.askWithFiles(r, request, names)
		return
	}
	sp.send(request)
}

// spawned takes an answer one step toward the rank that waits for it.
func (sp *spawns) spawned(s overlay.SpawnAnswer) error {
	if s.Host != sp.j.node.Self().Index {
		sp.j.node.Route(s.Host, link.Service, overlay.KindSpawned, overlay.Encode(s))
		return nil
	}
	if s.Call != 0 {
		if sp.j.pmix.local != nil {
			sp.j.pmix.local.Spawned(s.Call, s.KVSName, s.Failure)
		}
		return nil
	}
	w, err := sp.j.world(s.World, overlay.KindSpawned)
	if w == nil || w.servers.pmi == nil {
		return err // the world is over, its ranks are not waiting
	}
	result := pmi.SpawnResult{JobID: s.KVSName, Codes: s.Codes}
	if s.Failure != "" {
		result.Err = errors.New(s.Failure)
		sp.watchRefused(w.byRank[s.Rank], s.Failure)
	}
	w.servers.pmi.SpawnDone(s.Rank, result)
	return nil
}

// refusal is a spawn of a rank's that came to nothing.
type refusal struct {
	rank    *rank
	program string // the first of those that it asked for
	why     string
	heard   int // how often it had said something
}

// watchRefused looks after a while whether a rank whose spawn is refused goes on. Where
// error codes alone tell, and it ignores them, it waits for the new world.
func (sp *spawns) watchRefused(r *rank, why string) {
	if r == nil || r.asked == nil || !r.asked.CodesTell(r.world.spec.Size) || sp.j.node.Common().StallAfter <= 0 {
		return
	}
	r.refusal = &refusal{r, r.asked.Commands[0].Exec, why, r.Heard}
	e := r.refusal
	time.AfterFunc(sp.j.node.Common().StallAfter, func() { sp.j.node.Post(func() { sp.silent(e) }) })
}

// silent tells of a rank that has said nothing over PMI since.
func (sp *spawns) silent(e *refusal) {
	if r := e.rank; r.refusal == e && r.Heard == e.heard && !r.Exited && !r.world.killed && !sp.j.end.Killed() {
		sp.j.node.Note(overlay.NoteAlways, "rank %v has said nothing for %v, since its spawn of %s was refused (%s): if it ignores error codes (MPI_ERRCODES_IGNORE), "+
			"it waits in MPI_Comm_spawn for ever, as MPICH's ch3 has it, and all ranks that spawn with it; pass an array of error codes, or end the job",
			r.id(), sp.j.node.Common().StallAfter, e.program, e.why)
	}
}

// hostFiles are the names of the host files that a spawn needs.
func hostFiles(s *pmi.Spawn) (names []string) {
	for i := range s.Commands {
		h := &s.Commands[i].Hints
		if name := h.HostFile; name != "" && len(h.Hosts) == 0 && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// askWithFiles asks for a spawn when its host files are read, relative to where
// the rank is.
func (sp *spawns) askWithFiles(r *rank, q overlay.SpawnRequest, names []string) {
	dir := r.world.spec.Apps[r.App].Dir
	if r.PID > 0 { // else the warden's word that the rank was started is on its way
		dir = fmt.Sprintf("/proc/%d/cwd", r.PID)
	}
	sp.j.node.ReadHostFiles(dir, names, func(files []overlay.HostFile) {
		q.Files = files
		sp.j.node.Post(func() { sp.send(q) }) // an inbox takes what nobody reads any more
	})
}

// send passes on what a local rank wants started.
func (sp *spawns) send(q overlay.SpawnRequest) {
	sp.j.node.Up(link.Service, overlay.KindSpawn, overlay.Encode(q))
}
