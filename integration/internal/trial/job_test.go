package trial

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Processes that come to a machine while another is waited for are seen, too.
func TestAwaitNothingLooksAtAllAgain(t *testing.T) {
	all := []string{"n001", "n002"}
	turns := []map[string][]string{{"n001": {"agent"}}, {}, {"n002": {"late agent"}}, {}, {}}
	var asked [][]string
	_, last, err := awaitNothing(all, func(names []string) (map[string][]string, error) {
		asked = append(asked, names)
		return turns[len(asked)-1], nil
	}, time.Now(), time.Minute)
	require.NoError(t, err)
	require.Equal(t, "late agent", last)
	require.Equal(t, [][]string{all, {"n001"}, all, {"n002"}, all}, asked)

	_, _, err = awaitNothing(all, func([]string) (map[string][]string, error) { return turns[0], nil }, time.Now(), 0)
	require.ErrorContains(t, err, "agent")
	_, _, err = awaitNothing(all, func([]string) (map[string][]string, error) { return nil, errors.New("gone") }, time.Now(), 0)
	require.EqualError(t, err, "gone")
}
