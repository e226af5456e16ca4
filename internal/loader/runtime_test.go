package loader

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHasRuntime(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(dir+"/script", []byte("#!/bin/sh\n"), 0o700))
	require.NoError(t, os.WriteFile(dir+"/libgolaunchtest.so.9", nil, 0o600))
	shell := Program{File: "/bin/sh"}
	require.True(t, HasRuntime(shell, "libc.so.6"))
	require.False(t, HasRuntime(shell, "libgolaunchtest.so.9"))
	require.True(t, HasRuntime(Program{File: "/bin/sh", Env: []string{"LD_LIBRARY_PATH=/none:" + dir}}, "libgolaunchtest.so.9"))
	require.True(t, HasRuntime(Program{File: "/bin/sh", Dir: dir, Env: []string{"LD_LIBRARY_PATH=."}}, "libgolaunchtest.so.9"))
	require.True(t, HasRuntime(Program{File: dir + "/script"}, "libgolaunchtest.so.9"), "a script")
}
