package agent

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/link"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/pmi"
)

// askSpawn passes on what a local rank wants started: the launcher alone knows
// which slots are free.
func (a *Agent) askSpawn(w *world, q *pmi.Request) {
	a.up(link.Service, overlay.KindSpawn, overlay.Encode(overlay.SpawnRequest{
		Host: a.self.Index, Rank: q.Rank, World: w.id, Spawn: *q.Spawn}))
}

// childSpawn passes a request from below on as it is.
func (a *Agent) childSpawn(m overlay.Message, q overlay.SpawnRequest) error {
	if via, ok := a.family.Route(q.Host); !ok || via != m.From {
		return fmt.Errorf("a spawn request for host %d, which is not below", q.Host)
	}
	a.up(link.Service, overlay.KindSpawn, m.Body)
	return nil
}

// spawned takes an answer one step toward the rank that waits for it.
func (a *Agent) spawned(s overlay.SpawnAnswer) error {
	if s.Host != a.self.Index {
		a.route(s.Host, link.Service, overlay.KindSpawned, overlay.Encode(s))
		return nil
	}
	w, err := a.world(s.World, overlay.KindSpawned)
	if w == nil || w.pmi == nil {
		return err // the world is over, its ranks are not waiting
	}
	result := pmi.SpawnResult{JobID: s.KVSName, Codes: s.Codes}
	if s.Failure != "" {
		result.Err = errors.New(s.Failure)
	}
	w.pmi.SpawnDone(job.Rank(s.Rank), result, &w.pmiOut)
	a.pmiEffects(w)
	return nil
}
