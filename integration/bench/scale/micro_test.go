package scale

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What is measured can be done, and takes some time.
func TestMicro(t *testing.T) {
	var c costs
	require.NoError(t, micro(t.Context(), &c))
	require.Positive(t, c.Encode)
	require.Positive(t, c.Decode)
	require.Positive(t, c.Sign)
	t.Logf("%+v", c)
}
