package agent

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/agent/ending"
	"github.com/golaunch/golaunch/internal/agent/serve/servetree"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/tree"
)

// closingWarden tells of the jobs that are closed, of which nothing is left then.
type closingWarden struct {
	Warden
	closed chan job.Number
}

func (w closingWarden) Next() ([]proc.Event, error) {
	events, err := w.Warden.Next()
	for _, e := range events {
		if c, is := e.(proc.JobClosed); is {
			w.closed <- c.Job
		}
	}
	return events, err
}

// heard is a message of an agent to its parent.
type heard struct {
	header tree.Header
	body   []byte
}

// parentOf is the parent of an agent that runs, and all that it has heard and not asked for.
type parentOf struct {
	t       *testing.T
	link    link.Link
	said    chan heard
	backlog []heard
}

// send sends the agent a message about a job.
func (p *parentOf) send(s link.Stream, kind tree.Kind, n job.Number, body []byte) {
	p.t.Helper()
	frame := tree.AppendHeader(nil, tree.Header{Kind: kind, Job: n, To: tree.Everyone, From: tree.Launcher})
	require.NoError(p.t, p.link.Send(s, append(frame, body...)))
}

// hear waits for a message of a kind about a job.
func (p *parentOf) hear(kind tree.Kind, n job.Number) (body []byte) {
	for is := func(m heard) bool { return m.header.Kind == kind && m.header.Job == n }; ; {
		if i := slices.IndexFunc(p.backlog, is); i >= 0 {
			body = p.backlog[i].body
			p.backlog = slices.Delete(p.backlog, i, i+1)
			return body
		}
		p.backlog = append(p.backlog, <-p.said)
	}
}

// reads waits until ranks of a job have written a text.
func (p *parentOf) reads(n job.Number, text string) {
	p.t.Helper()
	var got strings.Builder
	for got.Len() < len(text) {
		require.NoError(p.t, overlay.Chunks(p.hear(overlay.KindOutput, n), func(c overlay.Chunk) { got.Write(c.Data) }))
	}
	require.Equal(p.t, text, got.String())
}

// echoes has a job's rank write what it is given to read.
func (p *parentOf) echoes(n job.Number, text string) {
	p.t.Helper()
	p.send(link.Stdio, overlay.KindInput, n, []byte(text))
	p.reads(n, text)
}

// launch has the agent start one rank of a job.
func (p *parentOf) launch(n job.Number) {
	p.t.Helper()
	l := overlay.Launch{LaunchOptions: overlay.LaunchOptions{Cache: cache.HCMAB, NoMPI: true}, Nodes: []job.HostIndex{0}, Universe: -1}
	app := job.App{Argv: []string{"/bin/sh", "-c", `echo "$0"; exec cat`, fmt.Sprintf("job %d", n)}, Dir: "/"}
	l.World = overlay.World{Size: 1, KVSName: fmt.Sprintf("k%d", n), Apps: []job.App{app}, Blocks: []job.Block{{Count: 1}}}
	p.send(link.KVS, overlay.KindLaunch, n, overlay.Encode(l))
}

// runs waits until the rank of a job runs.
func (p *parentOf) runs(n job.Number) {
	p.t.Helper()
	started, err := overlay.Decode[overlay.Started](p.hear(overlay.KindStarted, n))
	require.NoError(p.t, err)
	require.Equal(p.t, 1, started.Ranks)
	p.reads(n, fmt.Sprintf("job %d\n", n))
}

// ends waits until the rank of a job was ended.
func (p *parentOf) ends(n job.Number) {
	p.t.Helper()
	done, err := overlay.Decode[overlay.Done](p.hear(overlay.KindDone, n))
	require.NoError(p.t, err)
	require.Equal(p.t, overlay.Done{Ended: 1}, done)
}

// Jobs of a node begin and end beside each other and after each other, by their numbers.
func TestTwoJobs(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) Warden{
		"of a warden without processes": func(*testing.T) Warden { return newCatWarden() },
		"of a warden": func(t *testing.T) Warden {
			w, err := proc.Start(t.Context(), proc.Options{JobID: "0.twojobs"})
			require.NoError(t, err)
			return w
		},
	} {
		t.Run(name, func(t *testing.T) {
			far, near := memlink.Pair()
			a, err := newAgent(near)
			require.NoError(t, err)
			closed := make(chan job.Number, 10)
			w := closingWarden{start(t), closed}
			a.harness = Harness{Piper: func() bootstrap.Piper { return nowhere{} }, Warden: func() Warden { return w }}
			over := make(chan error)
			go func() { // ends with the link
				err := a.run()
				a.close()
				over <- err
			}()
			p := &parentOf{t: t, link: far, said: make(chan heard, 1000)}
			var streams sync.WaitGroup
			for s := range link.NumStreams {
				streams.Go(func() { // ends with the link
					for {
						frame, err := far.Recv(s)
						if err != nil {
							return
						}
						h, body, err := tree.ParseHeader(frame)
						assert.NoError(t, err)
						p.said <- heard{h, slices.Clone(body)}
					}
				})
			}
			p.send(link.Service, overlay.KindRange, job.TreeItself, overlay.Encode(overlay.Range{Self: overlay.HostEntry{Name: "n0"}, Root: true, Common: overlay.Common{JobID: "twojobs", Degree: 1}}))
			p.hear(overlay.KindReady, job.TreeItself)

			p.launch(1)
			p.launch(2)
			p.runs(1)
			p.runs(2)
			p.echoes(2, "two\n")
			p.echoes(1, "one\n")

			p.send(link.Control, overlay.KindKill, 1, overlay.Encode(overlay.Kill{}))
			p.ends(1)
			p.hear(overlay.KindDrained, 1)
			p.echoes(2, "not killed\n")

			p.send(link.KVS, overlay.KindJobOver, 1, nil)
			require.EqualValues(t, 1, <-closed)
			p.send(link.Control, overlay.KindKill, 1, overlay.Encode(overlay.Kill{}))
			p.send(link.Stdio, overlay.KindInput, 1, []byte("late\n"))
			p.launch(1)
			p.echoes(2, "whole\n")

			p.launch(3)
			p.runs(3)
			p.send(link.KVS, overlay.KindJobOver, 3, nil) // though its rank lives
			require.EqualValues(t, 3, <-closed)
			p.echoes(2, "alone\n")

			require.NoError(t, far.End(t.Context()))
			p.ends(2)
			require.NoError(t, <-over)
			streams.Wait()
			far.Close()
			close(p.said)
			for m := range p.said {
				p.backlog = append(p.backlog, m)
			}
			require.Equal(t, []job.Number{2}, numbers(a))
			for _, m := range p.backlog { // acknowledgements have come before
				require.False(t, m.header.Job == 1 && m.header.Kind != overlay.KindInputAck, "%s of job 1, which is over", overlay.Word(m.header.Kind))
			}
		})
	}
}

// A call at the door is of the job of its process; where that is not known, of any.
func TestTheDoorIsOfAllJobs(t *testing.T) {
	a, _ := agentOf(t, nil)
	a.life.end = ending.Node{} // without a warden
	_, err := a.begin(2)
	require.NoError(t, err)
	require.Empty(t, a.treesOf(job.TreeItself, 0))
	for _, n := range []job.Number{1, 2} {
		launchJob(t, a, n, 0)
	}
	first, second := a.jobs.find(1).TreeOf(0), a.jobs.find(2).TreeOf(0)
	require.NotSame(t, first, second)
	require.Equal(t, []*servetree.Server{first, second}, a.treesOf(job.TreeItself, 0))
	require.Equal(t, []*servetree.Server{second}, a.treesOf(2, 0))
	require.Empty(t, a.treesOf(2, 1))
	_, known, notYet := a.ownerOf(os.Getpid())
	require.False(t, known)
	require.True(t, notYet, "ranks have yet to start")
}

// numbers are those of the jobs that an agent has not forgotten.
func numbers(a *Agent) (all []job.Number) {
	for _, j := range a.jobs.list() {
		all = append(all, j.Number())
	}
	return all
}
