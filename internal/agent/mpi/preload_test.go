package mpi

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/profile"
)

// The profiler is in front of what the user preloads, what ends MPICH's hang behind it.
func TestProfilerIsPreloadedInFront(t *testing.T) {
	a, w, _ := newWorld(t, 1)
	w.view.Launch.Profile, w.view.Launch.ProfileFrom = profile.Volume, profile.FromStart
	w.view.Apps[0].Env = []string{"LD_PRELOAD=own.so"}
	self, err := os.ReadFile("/proc/self/exe") // a library of this platform, as far as that is looked at
	require.NoError(t, err)
	w.view.Launch.Libraries = []overlay.Library{{Name: overlay.LibProfileMPICH, Contents: self}, {Name: overlay.LibProfileOpenMPI, Contents: self}}
	lib := &appLibrary{name: "libmpi.so.12", fix: &mpichFix{mpich: "MPICH", file: "/fix.so"}}
	w.libraries[0] = lib
	lib.needs.Platform, err = proc.LibraryPlatform(self)
	require.NoError(t, err)
	env := w.preloadEnv(0)
	require.Equal(t, []string{"LD_PRELOAD=/memory/" + overlay.LibProfileMPICH + ":own.so:/fix.so", "ASAN_OPTIONS=verify_asan_link_order=no"}, env)
	require.Contains(t, a.files, overlay.LibProfileMPICH)
	lib.openMPI, lib.fix = true, nil
	require.Equal(t, "LD_PRELOAD=/memory/"+overlay.LibProfileOpenMPI+":own.so", w.preloadEnv(0)[0])
}
