package pmi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

func TestMembersOfAGroup(t *testing.T) {
	for key, want := range map[string][]job.Rank{"WORLD:3": nil, "0:0": {0}, "0,2,7:12": {0, 2, 7}} {
		members, err := GroupMembers(key, 8)
		require.NoError(t, err, key)
		require.Equal(t, want, members, key)
	}
	for _, key := range []string{"", ":", "0", "0:", ":1", "0:-1", "0:+1", "0:01", "WORLD", "NODE:1", "0,:1", "1,0:1", "0,0:1", "8:1", "-1:1", "00:1", "99999999999999999999:1"} {
		_, err := GroupMembers(key, 8)
		require.Error(t, err, key)
	}
}

// A key that is taken is the one that a server makes of its members.
func FuzzGroupMembers(f *testing.F) {
	for _, key := range []string{"WORLD:3", "0,2,7:12", "0:", "1,0:1"} {
		f.Add(key, 8)
	}
	f.Fuzz(func(t *testing.T, key string, size int) {
		members, err := GroupMembers(key, size)
		if err != nil {
			return
		}
		for tag := range 100 {
			if groupKey(members, "WORLD", tag) == key && members == nil || members != nil && groupKey(members, "", tag) == key {
				return
			}
		}
		require.Greater(t, len(key), 4, "a tag beyond 99 takes three digits")
	})
}
