package stage

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnExecutableOfOtherSourcesIsNotTaken(t *testing.T) {
	exe, err := os.Executable()
	require.NoError(t, err)
	version, module := []byte(runtime.Version()), []byte("\tgithub.com/golaunch/golaunch\t")
	require.True(t, builtFrom(exe, [][]byte{version, module}))
	require.False(t, builtFrom(exe, [][]byte{version, []byte("\tvcs.revision=none\n")}))
	require.False(t, builtFrom(exe, nil), "sources that are not known")
	script := filepath.Join(t.TempDir(), "nla")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"+runtime.Version()), 0o755))
	require.False(t, builtFrom(script, [][]byte{version}))
	require.False(t, builtFrom(script+".none", [][]byte{version}))
}
