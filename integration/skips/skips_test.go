package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatWasLeftOut(t *testing.T) {
	a := filepath.Join(t.TempDir(), "a.json")
	require.NoError(t, os.WriteFile(a, []byte(`
{"Action":"start","Package":"p"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"    a_test.go:7: skipped: no cgroup here\n"}
{"Action":"skip","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:7: a remark\n"}
{"Action":"pass","Package":"p","Test":"TestB"}
{"Action":"fail","Package":"p","Test":"TestC"}
{"Action":"skip","Package":"q","Test":"TestD"}
{"Action":"fail","Package":"p"}
`), 0o600))
	var out strings.Builder
	require.NoError(t, run([]string{a, a}, &out))
	require.Equal(t, "2 passed, 2 failed, 4 skipped (2: no cgroup here; 2: no reason given)\n", out.String())

	require.NoError(t, os.WriteFile(a, []byte("ok p 1s\n"), 0o600))
	require.ErrorContains(t, run([]string{a}, &out), "a.json: no output of go test -json")
}
