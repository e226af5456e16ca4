package trees

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link/tlslink"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/overlay/rendezvous"
	"github.com/golaunch/golaunch/internal/stage"
)

// noBulk is a manager that starts nothing.
type noBulk struct{ err error }

func (n noBulk) Start(context.Context, []bootstrap.Host, []string, io.Reader) (<-chan *bootstrap.Error, error) {
	return nil, n.err
}

func TestBulkThatCannotStart(t *testing.T) {
	source, err := stage.Self()
	require.NoError(t, err)
	try := func(opened bootstrap.Opened, hosts ...job.Host) error {
		_, err := startBulk(t.Context(), &opened, 0, hosts, source, overlay.Common{StartOptions: overlay.StartOptions{ConnectTimeout: time.Minute}}, t.Logf)
		return err
	}
	refused := bootstrap.Opened{Bulk: noBulk{errors.New("no allocation")}, Listen: "127.0.0.1"}
	require.ErrorContains(t, try(refused, job.Host{Name: "a"}), "no allocation")
	err = try(refused, job.Host{Name: "a", Pos: "file:1"}, job.Host{Name: "a", Port: 22, Pos: "file:2"})
	require.ErrorContains(t, err, "file:2: host a is named already at file:1")
	require.Equal(t, job.ExitUsage, job.ExitOf(err, job.ExitLauncher))
	require.ErrorContains(t, try(bootstrap.Opened{Bulk: noBulk{}, Listen: "not.an.address.invalid"}, job.Host{Name: "a"}), "listen")
	addr, err := listenAt(t.Context(), "", []string{"127.0.0.1"})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1", addr)
	_, err = listenAt(t.Context(), "", []string{""})
	require.ErrorContains(t, err, "nor to the next; see whether their names resolve here")
}

// The manager's word about an agent is told of its host.
func TestWhatTheManagerSays(t *testing.T) {
	source, err := stage.Self()
	require.NoError(t, err)
	hosts := []job.Host{{Name: "a"}, {Name: "b"}}
	opened := &bootstrap.Opened{Bulk: &bootstraptest.Bulk{Env: func(bootstrap.Host) []string { return nil }}, Listen: "127.0.0.1"}
	failing := sourceOf{source, "/bin/false"}
	bulk, err := startBulk(t.Context(), opened, 0, hosts, failing, overlay.Common{StartOptions: overlay.StartOptions{ConnectTimeout: time.Minute}}, t.Logf)
	require.NoError(t, err)
	<-bulk.ended
	defer bulk.close()
	b := &boot{bulk: bulk, hosts: []overlay.HostEntry{{Name: "a"}, {Index: 1, Name: "b"}}, common: overlay.Common{StartOptions: overlay.StartOptions{ConnectTimeout: time.Minute}}}
	dead := []overlay.DeadHost{{Phase: string(bootstrap.Connect), Cause: "?"}, {Index: 1, Phase: "agent hello", Cause: "link lost"}}
	b.explain(dead)
	require.Equal(t, overlay.DeadHost{Phase: "run command", Cause: "exit status 1"}, dead[0])
	require.Equal(t, "link lost; exit status 1", dead[1].Cause)
	b.explain(dead)
	require.Equal(t, "link lost; exit status 1", dead[1].Cause, "once")
	lost := job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: 1, Text: "link lost"}
	for range 2 {
		b.explainLoss(&lost)
		require.Equal(t, "link lost; exit status 1", lost.Text)
	}
	exited := job.Failure{Class: job.CauseExit, Host: 1, Text: "a rank's"}
	b.explainLoss(&exited)
	require.Equal(t, "a rank's", exited.Text)
	(&boot{}).explainLoss(&lost)
	require.EqualError(t, b.summon(t.Context(), "a", overlay.Summon{}), "exit status 1")
	require.EqualError(t, (&boot{}).summon(t.Context(), "a", overlay.Summon{}), "no agents call in this job")
	(&boot{}).explain(dead)
}

// The manager's word may come later than the loss of the connection.
func TestTheManagerIsAwaited(t *testing.T) {
	source, err := stage.Self()
	require.NoError(t, err)
	words := make(chan *bootstrap.Error)
	opened := &bootstrap.Opened{Bulk: toldBulk(words), Listen: "127.0.0.1"}
	bulk, err := startBulk(t.Context(), opened, 0, []job.Host{{Name: "a"}}, source, overlay.Common{StartOptions: overlay.StartOptions{ConnectTimeout: time.Minute}}, t.Logf)
	require.NoError(t, err)
	defer bulk.close()
	b := &boot{bulk: bulk, hosts: []overlay.HostEntry{{Name: "a"}}}
	dead := []overlay.DeadHost{{Phase: "agent hello", Cause: "link lost"}}
	explained := make(chan struct{})
	go func() {
		b.explain(dead)
		close(explained)
	}()
	words <- &bootstrap.Error{Host: "a", Err: errors.New("signal: killed")}
	<-explained
	close(words)
	require.Equal(t, "link lost; signal: killed", dead[0].Cause)
}

// toldBulk starts nothing and has its errors from a test.
type toldBulk chan *bootstrap.Error

func (b toldBulk) Start(context.Context, []bootstrap.Host, []string, io.Reader) (<-chan *bootstrap.Error, error) {
	return b, nil
}

// sourceOf is a source with another executable.
type sourceOf struct {
	stage.Source
	path string
}

func (s sourceOf) Path() string { return s.path }

// An agent may be sent to those above it alone.
func TestSummon(t *testing.T) {
	hostKey, _ := signer(t)
	tr, _ := signing(t, hostKey) // a job of four, whose root is host 0
	calls, err := rendezvous.Listen(t.Context(), rendezvous.Config{Secret: tlslink.NewSecret(), Addr: "127.0.0.1:0", Hosts: []string{"a", "b"}, Log: func(string) {}})
	require.NoError(t, err)
	defer calls.Close()
	calls.Fail("b", &bootstrap.Error{Host: "b", Err: errors.New("no room")})
	tr.boot.bulk = &bulk{calls: calls, within: time.Minute, late: time.NewTimer(time.Minute), stop: func() {}, ended: make(chan struct{})}
	close(tr.boot.bulk.ended)
	for _, x := range []struct {
		by, host job.HostIndex
		want     string
	}{{0, 1, "no room"}, {0, 9, "another host may not call a"}, {9, 1, "b may not call another host"}} {
		tr.requests.summon(0, overlay.Summon{ID: 5, By: x.by, Host: x.host, Addr: "127.0.0.1:1"})
		tr.tasks.Wait()
		events := tr.inbox.Take(nil)
		require.Equal(t, signatureMade{0, overlay.SignAnswer{ID: 5, Refusal: x.want}}, events[len(events)-1])
	}
}

// The wait for a manager's word is time in which its commands may end: that of a dead
// node never does, and keeps golaunch no longer for it.
func TestTheWordIsAwaitedWhileCommandsEnd(t *testing.T) {
	calls, err := rendezvous.Listen(t.Context(), rendezvous.Config{Secret: tlslink.NewSecret(), Addr: "127.0.0.1:0", Hosts: []string{"a"}, Log: func(string) {}})
	require.NoError(t, err)
	calls.Close()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan struct{})
		b := &bulk{calls: calls, late: time.NewTimer(time.Hour), word: make(chan struct{}, 1), ended: ended, stop: func() { close(ended) }}
		begin := time.Now()
		require.Nil(t, (&boot{bulk: b, hosts: []overlay.HostEntry{{Name: "a"}}}).whole(&job.Failure{Class: job.CauseNodeLost}))
		require.Equal(t, lastWord, time.Since(begin))
		b.close()
		require.Equal(t, bulkEnd, time.Since(begin))
	})
}

// The manager's word of its command for all hosts counts for the loss of a host, and for
// nothing else; that of one host is none.
func TestTheWordOfAllAgents(t *testing.T) {
	for whole, ended := range map[bootstrap.Whole]bool{bootstrap.WholeCancelled: true, bootstrap.WholeEnded: true, bootstrap.WholeRuns: false} {
		calls, err := rendezvous.Listen(t.Context(), rendezvous.Config{Secret: tlslink.NewSecret(), Addr: "127.0.0.1:0", Hosts: []string{"a", "b"}, Log: func(string) {}})
		require.NoError(t, err)
		defer calls.Close()
		calls.Fail("b", &bootstrap.Error{Host: "b", Err: errors.New("the step was cancelled"), Whole: whole})
		_, hosts := hostsNamed("a", "b")
		b := &boot{bulk: &bulk{calls: calls, ended: make(chan struct{})}, hosts: hosts}
		close(b.bulk.ended)
		e := b.whole(&job.Failure{Class: job.CauseNodeLost, Rank: -1, Text: "link lost"})
		require.Equal(t, ended, e != nil, whole)
		require.Nil(t, b.whole(&job.Failure{Class: job.CauseExit, Code: 3}), "a rank's own end")
	}
}
