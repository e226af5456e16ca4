package servepmix

import (
	"errors"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/pmix"
)

// modex is a helper's request for what a rank has put on another node.
type modex struct {
	helper  *helper
	request uint32
	host    job.HostIndex // that is asked
	of      pmix.Proc
	since   time.Time
}

// mostModexes bounds the direct modexes of a node's helpers that wait for other nodes, and
// those that wait for the ranks of a world here.
const mostModexes = 1 << 18

// modex asks the node of a rank for what it has put.
func (l *Local) modex(h *helper, request uint32, m pmix.Modex) {
	host, known := l.hostOf(m.Proc)
	switch {
	case !known:
		h.reply(request, pmix.Data{Status: pmix.NotFound})
		return
	case host == l.host: // of another helper
		l.put(m.Proc, func(status pmix.Status, blob []byte) { h.reply(request, pmix.Data{Status: status, Blob: blob}) })
		return
	case len(l.modexes) >= mostModexes:
		h.reply(request, pmix.Data{Status: pmix.OutOfResource})
		return
	}
	l.last++
	number := l.last
	l.modexes[number] = modex{h, request, host, m.Proc, time.Now()}
	l.agent.ToNode(host, overlay.PMIxModex{Number: number, Namespace: m.Proc.Namespace, Rank: job.Rank(m.Proc.Rank)})
	if m.Timeout > 0 {
		l.agent.After(time.Duration(m.Timeout)*time.Second, func() { l.modexDone(number, pmix.Timeout, nil) })
	}
}

// modexDone answers one that waits still.
func (l *Local) modexDone(number uint32, status pmix.Status, blob []byte) {
	if m, waits := l.modexes[number]; waits {
		delete(l.modexes, number)
		m.helper.reply(m.request, pmix.Data{Status: status, Blob: blob})
	}
}

// Asked takes a message of another node. An error says that it broke the protocol.
func (l *Local) Asked(from job.HostIndex, m overlay.PMIxModex) error {
	if m.Answer {
		// That a host is lost, any on the way to it says.
		if x, waits := l.modexes[m.Number]; waits && x.host != from && m.Status != int32(pmix.Unreachable) {
			return errors.New("it answers what another host was asked")
		}
		l.modexDone(m.Number, pmix.Status(m.Status), m.Blob)
		return nil
	}
	l.put(pmix.Proc{Namespace: m.Namespace, Rank: uint32(m.Rank)}, func(status pmix.Status, blob []byte) {
		if len(blob) > maxBlob {
			status, blob = pmix.OutOfResource, nil
		}
		l.agent.ToNode(from, overlay.PMIxModex{Number: m.Number, Answer: true, Status: int32(status), Blob: blob})
	})
	return nil
}

// put finds what a local rank has put, when it has. then is called once.
func (l *Local) put(p pmix.Proc, then func(pmix.Status, []byte)) {
	s := l.servers[p.Namespace]
	if s == nil {
		then(pmix.NotFound, nil)
		return
	}
	s.put(job.Rank(p.Rank), then)
}

// hostOf is where a process is.
func (l *Local) hostOf(p pmix.Proc) (h job.HostIndex, known bool) {
	if s := l.servers[p.Namespace]; s != nil {
		if b := job.BlockOf(s.w.Blocks, job.Rank(p.Rank)); b != nil {
			return b.Host, true
		}
	}
	if w := l.known[p.Namespace]; w != nil {
		if b := job.BlockOf(w.Blocks, job.Rank(p.Rank)); b != nil {
			return b.Host, true
		}
	}
	return 0, false
}
