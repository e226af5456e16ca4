package overlay

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/stage"
)

// sweepTimeout bounds the sweep of a node whose agent is lost.
const sweepTimeout = 5 * time.Second

// sweepScript kills the processes that a job ($1) left on a node whose warden and agent
// are both dead, so that neither can, nor any executable of ours need be there. It
// looks for the job's cgroup and for its name in the environment of processes, until
// two scans in a row find nothing, and then removes the job's files. It gives up on
// those that are there after 200 scans: nobody may be left to end the script. Like that
// of package stage it is one line that every login shell takes for the same words.
var sweepScript = sync.OnceValue(func() string {
	return strings.Join(strings.Fields(`
n=0; scans=0;
while [ $n -lt 2 ] && [ $scans -lt 200 ]; do
	n=$((n+1)); scans=$((scans+1));
	while read -r dev dir type rest; do
		if [ "$type" = cgroup2 ]; then
			find "$dir" -type d -name "golaunch-job-$1-*" 2> /dev/null | while read -r c; do
				echo 1 > "$c/cgroup.kill"; find "$c" -depth -type d -exec rmdir {} ";";
			done;
		fi;
	done < /proc/mounts;
	for p in $(grep -l -a -s "GOLAUNCH_JOB=$1" /proc/[0-9]*/environ); do
		p=${p#/proc/}; p=${p%/environ};
		kill -9 "$p" && n=0;
	done;
done 2> /dev/null;
`), " ") + " " + stage.RemoveScript(stage.ScratchPrefix+"$1-*")
})

// NodeJob returns a job's name on one node: the GOLAUNCH_JOB of its ranks there. Nodes
// may share a machine.
func NodeJob(host job.HostIndex, jobID string) string { return fmt.Sprintf("%d.%s", host, jobID) }

// sweep has a node cleaned over the connection that its lost agent leaves
// behind, if there is one.
//
// If it may have no shell, the agent at agentPath does it.
func sweep(pipe bootstrap.Pipe, jobID, agentPath string) {
	c, ok := pipe.(bootstrap.Companion)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	if agentPath != "" {
		_ = c.Also(ctx, []string{agentPath, SweepWord, jobID}) // as below
		return
	}
	// Where it fails the connection is gone, and with it all help.
	_ = c.Also(ctx, []string{"/bin/sh", "-c", sweepScript(), "golaunch", jobID})
}

// leftOpen is a pipe as its link has it: when the command has ended by itself, the
// link's Close leaves the connection to the owner of the pipe, which may have use for
// it. When it has not, and the agent fell silent, or nobody there watches it yet, Close
// ends it: it may be stopped, and would not see that its link ends.
type leftOpen struct {
	bootstrap.Pipe
	job string // its name there, see NodeJob
	// agentPath is StartOptions.AgentPath, "" of a relay.
	agentPath string
	ended     chan struct{} // closed by noteEnd
	noteEnd   func()        // called by the reader when the command has ended; again does nothing
	exiting   atomic.Bool   // the link has ended in good order: the agent has only to exit
	watched   atomic.Bool   // by a warden; or else it is known to run
	joined    atomic.Bool   // it may have a warden
	silent    atomic.Bool
	tell      atomic.Pointer[func(error)] // of silence; nil while nobody wants to know
	cleaned   sync.Once
}

func newLeftOpen(p bootstrap.Pipe, job string) *leftOpen {
	ended := make(chan struct{})
	return &leftOpen{Pipe: p, job: job, ended: ended, noteEnd: sync.OnceFunc(func() { close(ended) })}
}

// exitWait is the time that an agent that has nothing more to say may take to exit.
const exitWait = time.Second

// watch notes that the agent need not be ended. There may be no p: others' links
// have none.
func (p *leftOpen) watch() {
	if p != nil {
		p.watched.Store(true)
	}
}

// bidFarewell notes that the agent has only to exit, see exits.
func (p *leftOpen) bidFarewell() {
	if p != nil {
		p.watched.Store(true)
		p.exiting.Store(true)
	}
}

// exits waits until the agent has exited, and reports false where it is stopped in that
// moment for good: nobody watches it any more.
func (p *leftOpen) exits() bool {
	late := time.NewTimer(exitWait)
	defer late.Stop()
	select {
	case <-p.ended:
		return true
	case <-late.C:
		return false
	}
}

// hasEnded tells whether the command is known to have ended.
func (p *leftOpen) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// fellSilent notes that the link counts as lost for the agent's silence, and has
// that told before the node is cleaned.
func (p *leftOpen) fellSilent(cause error) {
	p.silent.Store(true)
	if tell := p.tell.Load(); tell != nil {
		(*tell)(cause)
	}
}

// clean cleans the node of an agent that fell silent, and ends the agent: it may be
// stopped, and its warden be dead, or be killed with the rest. It reports false of
// others, which end by themselves.
func (p *leftOpen) clean() bool {
	if p == nil || !p.silent.Load() {
		return false
	}
	p.end()
	return true
}

// end ends the agent, and its warden, which may be stopped and not see that. Of an
// agent that has not joined only itself: another one may have joined in its place.
func (p *leftOpen) end() {
	p.cleaned.Do(func() {
		var both sync.WaitGroup
		both.Go(func() { stage.Sweep(p.Pipe) })
		if p.joined.Load() {
			both.Go(func() { sweep(p.Pipe, p.job, p.agentPath) })
		}
		both.Wait()
	})
}

func (p *leftOpen) Read(b []byte) (int, error) {
	n, err := p.Pipe.Read(b)
	if err != nil {
		p.noteEnd()
	}
	return n, err
}

// Close closes the pipe unless its reader knows that it has ended.
func (p *leftOpen) Close() error {
	switch {
	case p.hasEnded():
		return nil
	case p.exiting.Load() && !p.silent.Load():
		if p.exits() {
			return nil
		}
		p.end()
	case !p.clean() && !p.watched.Load():
		p.end()
	}
	return p.Pipe.Close()
}
