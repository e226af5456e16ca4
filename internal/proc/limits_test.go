package proc

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Lower limits are worth a line where programs come up against them.
func TestLimitsThatMatter(t *testing.T) {
	for _, x := range []struct {
		resource int
		left     uint64
		want     bool
	}{
		{syscall.RLIMIT_NOFILE, 64, true},
		{syscall.RLIMIT_NOFILE, 4096, false},
		{syscall.RLIMIT_STACK, 8 << 20, true},
		{syscall.RLIMIT_AS, 1 << 30, true},
		{syscall.RLIMIT_CORE, 0, false},
	} {
		require.Equal(t, x.want, matters(Rlimit{Resource: x.resource, Cur: x.left}), x.resource)
	}
}
