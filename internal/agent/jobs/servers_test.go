package jobs

import (
	"errors"
	"fmt"
	"reflect"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/tree"
)

// slowServer is a server whose helper answers when the test says so, and that keeps
// what it is told.
type slowServer struct {
	serve.Idle
	w     *serve.World
	ready func(error)
	told  []string
	wrong *job.Failure // what it finds in a rank's end
}

func (s *slowServer) tell(format string, args ...any) {
	s.told = append(s.told, fmt.Sprintf(format, args...))
}

func (s *slowServer) Open(ready func(error)) { s.ready = ready }
func (s *slowServer) Kinds() []tree.Kind     { return []tree.Kind{overlay.KindRecords} }
func (s *slowServer) Hear(r ...*serve.Rank)  { s.tell("hear %d", len(r)) }
func (s *slowServer) Ended(r *serve.Rank)    { s.tell("ended %d", r.Number) }
func (s *slowServer) Shut()                  { s.tell("shut") }
func (s *slowServer) Close()                 { s.tell("close") }

func (s *slowServer) Env(r *serve.Rank) []string {
	if r == nil {
		return []string{"ALL=1"}
	}
	return []string{fmt.Sprintf("ONE=%d", r.Number)}
}

func (s *slowServer) Message(m serve.Message) error {
	s.tell("message %q of %d", m.Body, m.Neighbor)
	return nil
}

func (s *slowServer) Judge(_ *serve.Rank, ok bool) *job.Failure {
	s.tell("judge %v", ok)
	return s.wrong
}

// slowWorld is a world with a slowServer beside the others, about to start.
func slowWorld(t *testing.T) (*testNode, *world, *slowServer, <-chan overlay.Message, *[]proc.Spec) {
	t.Helper()
	var launched []proc.Spec
	a, w, said := nodeOf(t, willingWarden{launched: &launched})
	w.spec.Apps = []job.App{{Argv: []string{"app"}}}
	served(t, a, w)
	s := &slowServer{w: w.servers.view}
	w.servers.add(s)
	w.launched, w.unborn = false, 1
	w.started.Merge = (*overlay.Started).Merge
	w.started.Expect(1)
	w.mpi = &fakeLibraries{}
	a.job.startIf()
	require.NotNil(t, s.ready)
	require.Empty(t, launched)
	return a, w, s, said, &launched
}

// Ranks start when the last of their world's servers is ready, with what servers
// have for them.
func TestRanksStartWhenTheirServersAreReady(t *testing.T) {
	a, w, s, _, launched := slowWorld(t)
	a.job.startIf() // some other event
	require.Empty(t, *launched)
	s.ready(nil)
	require.True(t, w.launched)
	require.Len(t, *launched, 1)
	require.Contains(t, (*launched)[0].Env, "ALL=1")
	require.Equal(t, "PMI_FD", (*launched)[0].Socket)
	require.NotContains(t, (*launched)[0].Env, "GOLAUNCH_WORLD=0", "the first world's ranks are not told")
	a.job.startIf()
	require.Len(t, *launched, 1)
}

// The agent makes sure of the descriptors that its servers need, for the ranks that
// live.
func TestDescriptorsThatServersNeed(t *testing.T) {
	files := func(l overlay.Launch, living int, more ...serve.Server) int {
		a, w, _ := nodeOf(t, nil)
		a.job.launch, w.living = &l, living
		served(t, a, w)
		for _, s := range more {
			w.servers.add(s)
		}
		return a.job.ranks.openFiles()
	}
	none := files(overlay.Launch{}, 0)
	require.Equal(t, none, files(overlay.Launch{LaunchOptions: overlay.LaunchOptions{PMIPort: true, PMGR: true}}, 0, needy{}), "nobody can call any more")
	own := files(overlay.Launch{}, 4) // for each rank two pipes, and sockets of PMI and the tree's service; two files of the board
	require.Equal(t, none+4*4+2, own)
	const callers = serve.MoreCallers + 1
	require.Equal(t, own+2*4+callers, files(overlay.Launch{LaunchOptions: overlay.LaunchOptions{PMIPort: true}}, 4))
	require.Equal(t, own+2*4+callers, files(overlay.Launch{LaunchOptions: overlay.LaunchOptions{PMGR: true}}, 4))
	require.Equal(t, own+3*4+5, files(overlay.Launch{}, 4, needy{}))
}

// Ranks that ask when MPI begins mostly do so at once, each with a pipe for the answer.
func TestDescriptorsForAnswers(t *testing.T) {
	a, w, _ := nodeOf(t, nil)
	served(t, a, w)
	none := a.job.ranks.openFiles()
	w.mpi = &fakeLibraries{files: 7}
	require.Equal(t, none+7, a.job.ranks.openFiles())
}

// needy is a server that needs descriptors.
type needy struct{ serve.Idle }

func (needy) Files() (perRank, more int) { return 3, 5 }

// Where a server cannot serve, its world's ranks do not start, and the reason is told.
func TestAServerThatCannotServe(t *testing.T) {
	a, w, s, said, launched := slowWorld(t)
	s.ready(errors.New("no helper"))
	require.False(t, a.end.Over())
	require.True(t, w.launched)
	require.Zero(t, a.job.end.Living())
	require.Empty(t, *launched)
	f, err := overlay.As[job.Failure](<-said)
	require.NoError(t, err)
	require.Equal(t, job.CauseStart, f.Class)
	require.Contains(t, f.Text, "no helper")
	s.ready(errors.New("again")) // and not a second time
	a.job.startIf()
	require.Empty(t, *launched)
}

// A job that ends while a server gets ready does not wait for it.
func TestTheEndDoesNotWaitForAServer(t *testing.T) {
	a, w, s, _, launched := slowWorld(t)
	a.job.Kill(0)
	require.True(t, w.launched)
	require.Zero(t, a.job.end.Living())
	s.ready(nil) // late
	require.Empty(t, *launched)
	w.spawned = true // that of the launch is never forgotten
	require.NoError(t, a.job.forget(w))
	require.Equal(t, []string{"hear 1", "shut", "close"}, s.told)
}

// Servers hear the last words of a rank, and judge its end, before it counts; what
// they find is reported with who and where.
func TestServersJudgeTheEndOfARank(t *testing.T) {
	const exited, killed = syscall.WaitStatus(3 << 8), syscall.WaitStatus(syscall.SIGKILL)
	wrong := &job.Failure{Class: job.CauseAbort, Code: 9, Text: "as it said"}
	for name, x := range map[string]struct {
		end    proc.Exited
		wrong  *job.Failure
		killed bool
		told   []string
		want   job.Failure
		done   overlay.Done
	}{
		"all is well":        {proc.Exited{}, nil, false, []string{"hear 1", "judge true", "ended 0"}, job.Failure{}, overlay.Done{Ranks: 1}},
		"a server objects":   {proc.Exited{}, wrong, false, []string{"hear 1", "judge true", "ended 0"}, *wrong, overlay.Done{Failed: 1}},
		"a server explains":  {proc.Exited{Status: exited}, wrong, false, []string{"hear 1", "judge false", "ended 0"}, *wrong, overlay.Done{Failed: 1}},
		"its status says it": {proc.Exited{Status: exited}, nil, false, []string{"hear 1", "judge false", "ended 0"}, job.Failure{Class: job.CauseExit, Code: 3}, overlay.Done{Failed: 1}},
		"it was told to":     {proc.Exited{Status: exited, Provoked: true}, wrong, false, []string{"hear 1", "ended 0"}, job.Failure{}, overlay.Done{Ended: 1}},
		"it was late":        {proc.Exited{Status: killed, Provoked: true, Cut: true}, nil, false, []string{"hear 1", "ended 0"}, job.Failure{}, overlay.Done{Ended: 1, Cut: 1}},
		"its world was":      {proc.Exited{Status: exited}, wrong, true, []string{"hear 1", "ended 0"}, job.Failure{}, overlay.Done{Ended: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			a, w, said := nodeOf(t, lostWarden{})
			a.job.end.RanksCome(&a.end, 1) // another goes on, of another world
			a.job.end.RanksHanded(1)
			w.killed = x.killed
			served(t, a, w)
			s := &slowServer{wrong: x.wrong}
			w.servers.add(s)
			x.end.PID, w.ranks[0].PID = 7, 7
			a.job.WardenSaid(x.end)
			require.Equal(t, x.told, s.told[:len(x.told)])
			require.Equal(t, x.done, w.ended)
			if reflect.ValueOf(x.want).IsZero() {
				return
			}
			f, err := overlay.As[job.Failure](<-said)
			require.NoError(t, err)
			x.want.PID, x.want.Phase, x.want.Age, x.want.Said, x.want.Clock = 7, "running", f.Age, f.Said, f.Clock
			require.Equal(t, x.want, f)
		})
	}
}

// What the parent says of a world that is on its way waits for it; what it says of
// one that is over is dropped.
func TestMessagesWaitForTheirWorld(t *testing.T) {
	a, w, _ := nodeOf(t, lostWarden{})
	s := &slowServer{}
	w.servers.add(s)
	say := func(world int, body string) error {
		h := tree.Header{Kind: overlay.KindRecords, Job: job.Cold, World: uint16(world), To: tree.Neighbor, From: tree.Launcher}
		return a.job.FromNeighbor(overlay.Message{From: tree.Up, Stream: link.Data, Header: h, Body: []byte(body)})
	}
	require.NoError(t, say(0, "now"))
	require.NoError(t, say(1, "never"))
	require.NoError(t, say(2, "one"))
	require.NoError(t, say(2, "two"))
	require.Equal(t, []string{`message "now" of -1`}, s.told)
	require.ErrorContains(t, say(3, string(make([]byte, mostEarly))), "about world 3 before the world")
	var err error
	for i := 0; err == nil && i < 1<<17; i++ {
		err = say(4, "")
	}
	require.ErrorContains(t, err, "about world 4 before the world", "empty messages count, too")

	later, second := &world{id: 2, spawned: true}, &slowServer{}
	later.servers.add(second)
	a.job.worlds[2], a.job.newest = later, 2
	require.NoError(t, a.job.serving.hearEarly(later))
	require.NoError(t, say(2, "three"))
	require.Equal(t, []string{`message "one" of -1`, `message "two" of -1`, `message "three" of -1`}, second.told)
	require.NotContains(t, a.job.early, 1, "it never came here")
	require.NotContains(t, a.job.early, 2)
	require.NoError(t, say(1, "over"))
	require.Len(t, s.told, 1)

	err = a.job.FromNeighbor(overlay.Message{From: 0, Header: tree.Header{Kind: overlay.KindRecords, Job: job.Cold, World: 3}})
	require.ErrorContains(t, err, "world 3, which does not exist", "a child hears of worlds from here")
	err = a.job.FromNeighbor(overlay.Message{From: 0, Header: tree.Header{Kind: overlay.KindRecords, Job: job.Cold, World: 2}})
	require.ErrorContains(t, err, "from where nothing of world 2 is")
}

// What servers say carries their world.
func TestServersSpeakForTheirWorld(t *testing.T) {
	a, _, said := nodeOf(t, lostWarden{})
	w := &world{id: 0, nodes: []job.HostIndex{0, 1}}
	s := station{a.job, w}
	s.Send(serve.Parent, link.Data, overlay.KindRecords, []byte("up"))
	m := <-said
	require.Equal(t, []any{overlay.KindRecords, uint16(0), "up"}, []any{m.Header.Kind, m.Header.World, string(m.Body)})
	w.id, w.spawned = 4, true
	s.Fail(&serve.Rank{Number: 0, PID: 9}, job.Failure{Class: job.CauseProtocol, Phase: job.PhaseTree})
	require.False(t, s.Ending())
	w.killed = true
	require.True(t, s.Ending())
}
