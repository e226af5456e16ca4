package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestInterfaceSent(t *testing.T) {
	const dev = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:       0       0    0    0    0     0          0         0        0       0    0    0    0     0       0          0
   up1:    1200      10    0    0    0     0          0         0     3400      20    0    0    0     0       0          0
   up2: 1 2
   up3: 1 2 3 4 5 6 7 8 x 10 11 12 13 14 15 16
`
	sent, err := interfaceSent(dev, "up1")
	require.NoError(t, err)
	require.EqualValues(t, 3400, sent)
	for name, want := range map[string]string{
		"up2": "interface up2: 2 fields, want 16",
		"up3": `interface up3: strconv.ParseUint: parsing "x": invalid syntax`,
		"up4": "no interface up4",
	} {
		_, err := interfaceSent(dev, name)
		require.EqualError(t, err, want)
	}
}
