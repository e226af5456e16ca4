package launcher

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

func TestShown(t *testing.T) {
	plan := &Plan{Size: 6, Blocks: []job.Block{{Host: 0, First: 0, Count: 2}, {Host: 1, First: 2, Count: 2}, {Host: 0, First: 4, Count: 1}, {Host: 1, First: 5, Count: 1}}}
	for text, want := range map[string][]bool{
		"":          nil,
		"0":         {true, false, false, false, false, false},
		"1,3-4":     {false, true, false, true, true, false},
		"local:0":   {true, false, true, false, false, false},
		"local:1-9": {false, true, false, true, true, true},
	} {
		s, err := parseShown(text)
		require.NoError(t, err)
		require.Equal(t, want, s.of(plan), text)
		require.NoError(t, s.check(plan))
	}
	for text, want := range map[string]string{
		"x":          `"x": "x" is no rank`,
		"0,":         `"0,": "" is no rank`,
		"3-1":        `"3-1": "3-1" is no rank`,
		"local:":     `"local:": "" is no rank`,
		"-1":         `"-1": "-1" is no rank`,
		"1-2-3":      `"1-2-3" is no rank`,
		"2147483648": "is no rank",
	} {
		_, err := parseShown(text)
		require.ErrorContains(t, err, want)
	}
	s, err := parseShown("0,6")
	require.NoError(t, err)
	require.EqualError(t, s.check(plan), "--show 0,6: there is no rank 6 among 6")
	s, err = parseShown("local:1,3")
	require.NoError(t, err)
	require.EqualError(t, s.check(plan), "--show local:1,3: no host has a rank 3 of its own: the most on one are 3")
}
