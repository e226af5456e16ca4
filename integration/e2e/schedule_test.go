package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The ranks of eight nodes, two on each, carry out the schedules that they are told,
// by both libraries: one is told to receive the messages that the other is told to
// send.
func TestScheduleOfAJob(t *testing.T) {
	c := theCluster(t)
	names := podsMap(t)
	for _, program := range []string{"schedule", "treeschedule"} {
		for algorithm, want := range map[string]string{
			"alltoall/tacs1":     "15 stages, 240 messages, 15360 bytes",
			"allgather/doubling": "4 stages, 64 messages, 15360 bytes",
			"gather/racks":       "4 stages, 15 messages, 2048 bytes",
		} {
			r := over(t, c, 8, "-n", "16", "-N", "2", "--degree", "2", "--topology", pods, "--map", names, bin(program), algorithm, "64")
			require.Zero(t, r.code, r.stderr)
			require.Empty(t, r.stderr)
			require.Equal(t, algorithm+" 64: "+want+"\n", r.stdout, program)
		}
	}
	nothingLeft(t, c, firstNodes(c, 8)...)
}

// Spawned worlds have schedules of their own.
func TestScheduleOfASpawnedWorld(t *testing.T) {
	r := local(t, "", "-n", "1", "--nodes", "2", bin("spawnclient"), "4", "--", bin("treeschedule"), "ring", "8")
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "ring 8: 1 stages, 4 messages, 32 bytes\n")
}

// A job without a network has the schedules that need none. A rank that asks for one
// that cannot be made is told so.
func TestScheduleWithoutANetwork(t *testing.T) {
	for _, program := range []string{"schedule", "treeschedule"} {
		r := local(t, "", "-n", "4", bin(program), "shift", "8")
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, "shift 8: 3 stages, 12 messages, 96 bytes\n", r.stdout)
		for args, want := range map[[2]string]string{
			{"alltoall/tacs1", "8"}:      "alltoall/tacs1 depends on the network: say which, with --topology",
			{"nonsense", "8"}:            `"nonsense" is no algorithm that it knows; see golaunch netsim list`,
			{"", "8"}:                    "an algorithm's name has 1 to 64 bytes, not 0; see golaunch netsim list",
			{"ring", "1099511627776"}:    "4 ranks of 1099511627776 bytes: there may be 0 bytes to 1 TiB in all",
			{"ring", "1099511627777"}:    "ring of 1099511627777 bytes; 0 to 1099511627776 are allowed",
			{"shift", "274877906944000"}: "0 to 1099511627776 are allowed",
		} {
			r := local(t, "", "-n", "4", bin(program), args[0], args[1])
			require.Equal(t, 1, r.code, r.stderr)
			require.Contains(t, r.stderr, want)
			require.Empty(t, r.stdout)
		}
	}
}
