package bootstrap

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The missing part of a host decides on the time that it is tried.
func TestPatience(t *testing.T) {
	const long = 15 * time.Second
	short := Limits{ConnectTimeout: long, MissAfter: time.Second, LateAfter: 2 * time.Second, UnknownAfter: 3 * time.Second}
	for name, x := range map[string]struct {
		err        Error
		short, own time.Duration // with such limits, and with a connect timeout alone
	}{
		"permanent":     {Error{Permanent: true, Absent: NoListener}, 0, 0},
		"a dying agent": {Error{Phase: Handshake}, dyingFor, dyingFor},
		"no answer":     {Error{Phase: Connect, Absent: NoAnswer}, time.Second, long},
		"refused":       {Error{Phase: Connect, Absent: NoListener}, 2 * time.Second, long},
		"no such name":  {Error{Phase: Resolve, Absent: NoName}, 3 * time.Second, long},
		"anything":      {Error{Phase: Connect}, long, long},
	} {
		require.Equal(t, x.short, x.err.Patience(short), name)
		require.Equal(t, x.own, x.err.Patience(Limits{ConnectTimeout: long}), name)
	}
	e := Error{Phase: Resolve, Absent: NoName}
	require.Equal(t, time.Second, e.Patience(Limits{ConnectTimeout: time.Second, UnknownAfter: long}), "the connect timeout is the most")
}

// A user's own number of tries holds beyond all limits, at one a second.
func TestTriesOfTheUser(t *testing.T) {
	l := Limits{ConnectTimeout: 2 * time.Second}
	for _, x := range []struct {
		allowed, made int
		spent         time.Duration
		want          bool
	}{
		{made: 1, spent: 2 * time.Second, want: true}, {made: 1, spent: 3 * time.Second},
		{allowed: 1, made: 1, spent: 3 * time.Second},
		{allowed: 5, made: 9, spent: 4 * time.Second, want: true}, {allowed: 5, made: 9, spent: 5 * time.Second}, // so many were made, in less time
		{allowed: 5, made: 4, spent: time.Minute, want: true}, {allowed: 5, made: 5, spent: time.Minute}, // each took longer
	} {
		e := Error{Phase: Connect, Tries: x.allowed}
		require.Equal(t, x.want, e.Again(l, x.made, x.spent), "%+v", x)
	}
	require.False(t, (&Error{Permanent: true, Tries: 9}).Again(l, 1, 0))
}
