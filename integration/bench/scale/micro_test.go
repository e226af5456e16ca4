package scale

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// All measured things can be done, and take some time.
func TestMicro(t *testing.T) {
	var c costs
	require.NoError(t, micro(t.Context(), &c))
	require.Positive(t, c.Encode)
	require.Positive(t, c.Decode)
	require.Positive(t, c.Sign)
	t.Logf("%+v", c)
}
