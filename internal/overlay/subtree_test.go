package overlay

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/stage"
	"github.com/golaunch/golaunch/tree"
)

// companionPipe notes what is run on its host.
type companionPipe struct {
	agentPipe
	ran chan []string
}

func (p companionPipe) Also(_ context.Context, argv []string) error {
	p.ran <- argv
	return nil
}

// A child that is lost before the launch may have left a cgroup, as agent and
// warden may both have been killed: its node is swept, too.
func TestALostChildIsSweptBeforeTheLaunch(t *testing.T) {
	inbox := NewInbox(func() {})
	ctx, cancel := context.WithCancel(t.Context())
	starter := NewStarter(ctx, &madeUpHosts{tries: map[string]int{}}, stage.Source(nil), Common{StartOptions: StartOptions{ConnectTimeout: time.Minute}, JobID: "job"}, inbox, nil)
	f := NewSubtree(starter, Common{JobID: "job"}, inbox, func(tree.Slot) Sink { return func(tree.Header, []byte) {} })
	f.Begin(Ready{}, nil, 2)
	near, far := memlink.Pair()
	defer far.Close()
	pipe := companionPipe{agentPipe{link: near}, make(chan []string, 1)}
	slot := f.Join(Joined{Host: HostEntry{Index: 3, Name: "n3"}, Link: near, Pipe: pipe})
	f.Lose(slot, errors.New("it was killed"))
	select {
	case argv := <-pipe.ran:
		require.Equal(t, []string{"golaunch", "3.job"}, argv[len(argv)-2:])
	case <-time.After(time.Minute):
		require.Fail(t, "nothing was run on the lost child's node")
	}
	cancel()
	f.Close()
}
