package bootstraptest_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var hosts = []bootstrap.Host{{Index: 0, Name: "a"}, {Index: 1, Name: "b"}, {Index: 2, Name: "c"}}

func TestBulkRunsOnePerHostWithTheSecret(t *testing.T) {
	var out bytes.Buffer
	b := &bootstraptest.Bulk{Stdout: &out, Env: func(h bootstrap.Host) []string { return []string{"WHO=" + h.Name} }}
	failures, err := b.Start(t.Context(), hosts,
		[]string{"/bin/sh", "-c", `read s; echo "$WHO $` + bootstraptest.IndexVariable + ` $s"`}, strings.NewReader("hush\n"))
	require.NoError(t, err)
	for f := range failures {
		require.NoError(t, f)
	}
	lines := strings.Fields(strings.ReplaceAll(out.String(), " ", "_"))
	slices.Sort(lines)
	require.Equal(t, []string{"a_0_hush", "b_1_hush", "c_2_hush"}, lines)
}

func TestBulkReportsEachFailure(t *testing.T) {
	b := &bootstraptest.Bulk{}
	failures, err := b.Start(t.Context(), hosts,
		[]string{"/bin/sh", "-c", `[ $` + bootstraptest.IndexVariable + ` = 1 ] || exit 0; echo "no room" >&2; exit 7`}, strings.NewReader(""))
	require.NoError(t, err)
	var got []string
	for f := range failures {
		got = append(got, f.Error())
	}
	require.Equal(t, []string{"host b: run command: exit status 7: no room"}, got)
}

func TestBulkEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := &bootstraptest.Bulk{}
	failures, err := b.Start(ctx, hosts, []string{"sleep", "100"}, strings.NewReader(""))
	require.NoError(t, err)
	cancel()
	n := 0
	for range failures {
		n++
	}
	require.Equal(t, len(hosts), n)
}

func TestBulkRefusesNonsense(t *testing.T) {
	b := &bootstraptest.Bulk{}
	_, err := b.Start(t.Context(), hosts, nil, strings.NewReader(""))
	require.ErrorContains(t, err, "no command")
	_, err = b.Start(t.Context(), hosts, []string{"true"}, strings.NewReader(strings.Repeat("x", 5000)))
	require.ErrorContains(t, err, "longer than 4096")
}
