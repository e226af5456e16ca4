package pmixhelper

import (
	"fmt"
	"slices"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/pmix"
)

// frame carries out what a helper says.
func (c *cluster) frame(node int, f pmix.Frame) {
	h := c.helpers[node]
	switch b := f.Body.(type) {
	case pmix.Ready, pmix.Registered, pmix.Told:
		key := waitKey{node, f.Request}
		answer := c.waiting[key]
		require.NotNil(c.t, answer, "node %d answers %d, which was not asked: %v", node, f.Request, b)
		delete(c.waiting, key)
		answer(f)
	case pmix.Fence:
		c.note("node %d fences %v", node, b.Procs)
		c.meet(fmt.Sprint("fence ", b.Procs), node, f, b.Procs, func(asked []pmix.Frame) any {
			var blob []byte
			for _, a := range asked {
				blob = append(blob, a.Body.(pmix.Fence).Blob...)
			}
			return pmix.Data{Blob: blob}
		})
	case pmix.Connect:
		c.note("node %d connects %v", node, b.Procs)
		c.meet(fmt.Sprint("connect ", b.Procs), node, f, b.Procs, func([]pmix.Frame) any { return pmix.Done{} })
	case pmix.Disconnect:
		c.meet(fmt.Sprint("disconnect ", b.Procs), node, f, b.Procs, func([]pmix.Frame) any { return pmix.Done{} })
	case pmix.Group:
		c.note("node %d: group %s %d", node, b.ID, b.Op)
		c.meet(fmt.Sprint("group ", b.Op, b.ID), node, f, b.Procs, func(asked []pmix.Frame) any { return c.group(b, asked) })
	case pmix.Modex:
		c.modex++
		other := c.onNodes([]pmix.Proc{b.Proc})[0]
		c.expect(other, c.helpers[other].ask(pmix.Ask{Proc: b.Proc}), func(answer pmix.Frame) {
			told := answer.Body.(pmix.Told)
			h.send(f.Request, pmix.Data(told))
		})
	case pmix.Publish:
		for _, e := range b.Entries {
			c.note("%v publishes %s", b.Proc, e.Key)
			c.names = append(c.names, name{e, b.Persistence})
		}
		h.send(f.Request, pmix.Done{Status: pmix.Success})
		c.serveLookups()
	case pmix.Lookup:
		c.note("%v looks up %v, waits for %d", b.Proc, b.Keys, b.Wait)
		c.lookups = append(c.lookups, lookup{node, f.Request, b})
		c.serveLookups()
	case pmix.Unpublish:
		c.names = slices.DeleteFunc(c.names, func(n name) bool {
			return n.entry.Publisher == b.Proc && (len(b.Keys) == 0 || slices.Contains(b.Keys, n.entry.Key))
		})
		h.send(f.Request, pmix.Done{Status: pmix.Success})
	case pmix.Spawn:
		c.spawn(h, f.Request, b)
	case pmix.Abort:
		c.note("%v aborts %d", b.Proc, b.Status)
		c.aborts = append(c.aborts, b)
		h.send(f.Request, pmix.Done{Status: pmix.Success})
		c.kill(c.worlds[b.Proc.Namespace])
	case pmix.Client:
		r := c.worlds[b.Proc.Namespace].ranks[b.Proc.Rank]
		r.client = append(r.client, b.Finalized)
	case pmix.Event:
		c.events = append(c.events, b)
		for other, to := range c.helpers {
			if other != node {
				to.send(0, pmix.Notify{Event: b})
			}
		}
		h.send(f.Request, pmix.Done{Status: pmix.Success})
	case pmix.Log:
		c.logs = append(c.logs, b)
		h.send(f.Request, pmix.Done{Status: pmix.Success})
	default:
		require.Failf(c.t, "an unknown frame", "%T", b)
	}
}

// meet lets the nodes go when all that hold ranks of some processes have come.
func (c *cluster) meet(key string, node int, f pmix.Frame, procs []pmix.Proc, answer func(asked []pmix.Frame) any) {
	m := c.meets[key]
	if m == nil {
		m = &meet{asked: map[int]pmix.Frame{}}
		c.meets[key] = m
	}
	require.NotContains(c.t, m.asked, node, "%s twice", key)
	m.asked[node] = f
	all := c.onNodes(procs)
	if len(m.asked) < len(all) {
		return
	}
	delete(c.meets, key)
	var asked []pmix.Frame
	for _, n := range all {
		asked = append(asked, m.asked[n])
	}
	body := answer(asked)
	for i, n := range all {
		c.helpers[n].send(asked[i].Request, body)
	}
}

func (c *cluster) group(g pmix.Group, asked []pmix.Frame) any {
	answer := pmix.Grouped{Members: g.Procs}
	if g.Assign {
		c.context++
		answer.Context = c.context
	}
	for _, a := range asked {
		answer.Blobs = append(answer.Blobs, a.Body.(pmix.Group).Blob)
	}
	return answer
}

// serveLookups answers those that need not wait any more.
func (c *cluster) serveLookups() {
	c.lookups = slices.DeleteFunc(c.lookups, func(l lookup) bool {
		var found []pmix.Entry
		for _, n := range c.names {
			if slices.Contains(l.Keys, n.entry.Key) {
				found = append(found, n.entry)
			}
		}
		if len(found) < len(l.Keys) && l.Wait >= 0 {
			return false
		}
		answer := pmix.Found{Entries: found}
		if len(found) == 0 {
			answer.Status = pmix.NotFound
		}
		c.names = slices.DeleteFunc(c.names, func(n name) bool {
			return n.persistence == pmix.UntilFirstRead && slices.Contains(l.Keys, n.entry.Key)
		})
		c.helpers[l.node].send(l.request, answer)
		return true
	})
}

func (c *cluster) spawn(h *helper, request uint32, s pmix.Spawn) {
	require.Len(c.t, s.Apps, 1)
	app := s.Apps[0]
	argv := app.Argv
	if len(argv) == 0 {
		argv = []string{app.Command}
	}
	parent := c.worlds[s.Proc.Namespace].ranks[s.Proc.Rank]
	dir := app.Dir
	if dir == "" {
		dir = parent.cmd.Dir
	}
	name := fmt.Sprintf("spawned-%d", len(c.worlds))
	c.note("%v spawns %v: infos %v, app's %v", s.Proc, argv, s.Infos, app.Infos)
	c.start(name, append([]string{app.Command}, argv[1:]...), dir, slices.Concat(environment(), app.Env), int(app.Procs), s.Proc, func(failed string) {
		if failed != "" {
			h.send(request, pmix.Spawned{Status: pmix.Failure})
			return
		}
		h.send(request, pmix.Spawned{Namespace: name})
	})
}
