package agent

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link/tlslink"
	"github.com/golaunch/golaunch/internal/overlay"
)

// A child may have agents of its own range called together, and no others.
func TestSummonsOfAChild(t *testing.T) {
	a, slot, above, below := withChild(t)
	for _, tc := range []struct {
		by, host job.HostIndex
		allowed  bool
	}{
		{1, 2, true}, {2, 3, true}, {1, 1, false}, {1, 4, false}, {4, 2, false}, {1, 0, false},
	} {
		a.requests.childSummon(slot, overlay.Summon{ID: 7, By: tc.by, Host: tc.host, Addr: "10.0.0.1:9"})
		if tc.allowed {
			passed := received[overlay.Summon](t, above, overlay.KindSummon)
			require.Equal(t, overlay.Summon{ID: passed.ID, By: tc.by, Host: tc.host, Addr: "10.0.0.1:9"}, passed)
			a.requests.signed(overlay.SignAnswer{ID: passed.ID})
		}
		answer := received[overlay.SignAnswer](t, below, overlay.KindSigned)
		require.Equal(t, uint64(7), answer.ID)
		if tc.allowed {
			require.Empty(t, answer.Refusal)
		} else {
			require.Contains(t, answer.Refusal, "may not call ")
		}
	}
}

// An agent that is to call reads who it is, and the secret.
func TestWordsOfAnAgentThatCalls(t *testing.T) {
	o, err := own([]string{
		overlay.AgentWord, overlay.DialWord, "10.0.0.1:99", overlay.HostVariableWord, "NODE",
		overlay.WithinWord, "3s", overlay.LostAfterWord, "9s", overlay.SecretWord, "file",
	})
	require.NoError(t, err)
	require.Equal(t, words{dial: "10.0.0.1:99", hostVariable: "NODE", within: 3e9, lostAfter: 9e9, secretFile: "file"}, o)
	_, err = own([]string{overlay.AgentWord, overlay.WithinWord, "soon"})
	require.ErrorContains(t, err, "soon")

	t.Setenv("NODE", "n1")
	host, err := callingHost("NODE")
	require.NoError(t, err)
	require.Equal(t, "n1", host)
	t.Setenv("NODE", "")
	_, err = callingHost("NODE")
	require.EqualError(t, err, "the environment has no NODE, which is to name this host")

	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("x"), 0o644))
	_, err = readSecret(file)
	require.ErrorContains(t, err, "has mode 0644, not 0600")

	_, err = joined(t, &Agent{}).callers(overlay.Range{Common: overlay.Common{Bulk: true}})
	require.ErrorContains(t, err, "this one did not")
	p, err := joined(t, &Agent{calls: &calls{secret: tlslink.NewSecret()}}).callers(overlay.Range{})
	require.NoError(t, err, "nobody is to call a leaf: it does not listen")
	require.False(t, p.NeedsStaging())
}
