package overlay

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// On request each try is told: its outcome, its steps, its obstacles.
func TestTriesAreTold(t *testing.T) {
	inbox := NewInbox(func() {})
	var c Common
	c.Verbose = LevelTries
	s := newStarts(c, inbox)
	for _, err := range []error{nil, errors.New("no")} {
		ctx, done := s.try(t.Context(), 4)
		end := bootstrap.BeginStep(ctx, bootstrap.Connect)
		bootstrap.Detail(ctx, "reached %s", "n4")
		end()
		done(err)
	}
	told := inbox.Take(nil)
	require.Len(t, told, 2)
	require.Regexp(t, `^started in \d+m?s: connect \d+m?s; reached n4$`, told[0].(HostTried).Text)
	require.Regexp(t, `^a try to start it failed after \d+m?s: connect \d+m?s; reached n4$`, told[1].(HostTried).Text)

	c.Verbose = LevelTries - 1
	_, done := newStarts(c, inbox).try(t.Context(), 4)
	done(nil)
	require.Empty(t, inbox.Take(nil))
}
