package unix

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Of the kernel's table only connections that nobody has answered count.
func TestAttempts(t *testing.T) {
	const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	got, err := attempts(strings.NewReader(head +
		"   0: 020012AC:B91B 00000000:0000 0A 00000000:00000001 00:00000000 00000000     0        0 41 1 0 100 0 0 10 0\n" +
		"   1: 020012AC:BB50 020013AC:A17F 02 00000001:00000000 01:00000064 00000003     0        0 42 2 0 200 0 0 1 -1\n" +
		"   2: 020012AC:880C 020012AC:B91B 01 00000000:00000000 02:00000064 00000000     0        0 43 2 0 20 0 0 1 -1\n" +
		"   3: nonsense 020012AC:B91B 02 0 0 0 0 0 44\n   4:\n" +
		"   5: 00000000000000000000000001000000:BB50 00000000000000000000000002000000:0016 02 00000001:00000000 01:00000064 00000003     0        0 45 2 0\n"))
	require.NoError(t, err)
	require.Equal(t, []Attempt{
		{netip.MustParseAddrPort("172.18.0.2:47952"), netip.MustParseAddrPort("172.19.0.2:41343"), "42"},
		{netip.MustParseAddrPort("[::1]:47952"), netip.MustParseAddrPort("[::2]:22"), "45"},
	}, got)
	_, err = Attempts()
	require.NoError(t, err)
}
