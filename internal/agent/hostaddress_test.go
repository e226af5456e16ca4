package agent

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// A child may ask for the addresses of its own range, and for no others.
func TestAddressesThatAChildMayAskFor(t *testing.T) {
	a, slot, above, below := withChild(t)
	for _, tc := range []struct {
		by, host job.HostIndex
		allowed  bool
	}{{1, 2, true}, {2, 3, true}, {1, 4, false}, {4, 2, false}, {1, 0, false}} {
		a.requests.childAddress(slot, overlay.AddrRequest{ID: 7, By: tc.by, Host: tc.host})
		if tc.allowed {
			passed := received[overlay.AddrRequest](t, above, overlay.KindAddress)
			require.Equal(t, overlay.AddrRequest{ID: passed.ID, By: tc.by, Host: tc.host}, passed)
			a.requests.signed(overlay.SignAnswer{ID: passed.ID, Signature: []byte("10.0.0.1")})
		}
		answer := received[overlay.SignAnswer](t, below, overlay.KindSigned)
		require.Equal(t, uint64(7), answer.ID)
		addr, err := answer.Result()
		if tc.allowed {
			require.NoError(t, err)
			require.Equal(t, "10.0.0.1", string(addr))
		} else {
			require.ErrorContains(t, err, "may not ask for ")
		}
	}
}
