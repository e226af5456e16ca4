package mpi

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/loader"
)

func TestWhichMPICHHangs(t *testing.T) {
	for _, x := range []struct {
		version, device string
		want            bool
	}{
		{"4.0.2", "ch4:ucx", true}, // Debian 12's
		{"3.4", "ch4:ucx", true},
		{"3.4.3", "ch4:ucx", true},
		{"3.4a2", "ch4:ucx", true},
		{"4.1rc1", "ch4:ucx", true},
		{"4.1.3", "ch4:ucx", true},
		{"4.2.0", "ch4:ucx", false},
		{"4.2.0rc1", "ch4:ucx", false},
		{"4.3", "ch4:ucx", false},
		{"5.0", "ch4:ucx", false},
		{"3.3.2", "ch4:ucx", false},
		{"4.0.2", "ch4:ofi", false},
		{"4.0.2", "ch3:nemesis", false},
		{"4.0.2", "", false},
		{"2021.6", "ch4:ucx", false}, // Intel's
		{"", "ch4:ucx", false},
		{"main", "ch4:ucx", false},
	} {
		require.Equal(t, x.want, hangs(x.version, x.device), "%+v", x)
	}
}

// compile makes a shared library or program of C text.
func compile(t *testing.T, out, text string, args ...string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(out), 0o755))
	cmd := exec.Command("gcc", append([]string{"-o", out, "-xc", "-", "-xnone", "-Wl,--no-as-needed"}, args...)...)
	cmd.Stdin = strings.NewReader(text)
	words, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", words)
	return out
}

func library(t *testing.T, out, text string, needs ...string) string {
	t.Helper()
	return compile(t, out, text, append([]string{"-shared", "-fPIC", "-Wl,-soname," + filepath.Base(out)}, needs...)...)
}

// mpich makes a library that says of itself what MPICH's do.
func mpich(t *testing.T, out, version, device string) string {
	return library(t, out, fmt.Sprintf("const char MPII_Version_string[] = %q, MPII_Version_device[] = %q;", version, device))
}

const emptyMain = "int main(void) { return 0; }"

// The library that the program's own loader takes decides.
func TestLookForFix(t *testing.T) {
	dir := t.TempDir()
	old := mpich(t, filepath.Join(dir, "old", "libmpi.so.12"), "4.0.2", "ch4:ucx")
	mpich(t, filepath.Join(dir, "new", "libmpi.so.12"), "4.2.0", "ch4:ucx")
	mpich(t, filepath.Join(dir, "ofi", "libmpi.so.12"), "4.0.2", "ch4:ofi")
	library(t, filepath.Join(dir, "silent", "libmpi.so.12"), "int x;")
	cure := library(t, filepath.Join(dir, "cure.so"), "int y;")
	direct := compile(t, filepath.Join(dir, "direct"), emptyMain, old)
	solver := library(t, filepath.Join(dir, "old", "libsolver.so.1"), "", old)
	through := compile(t, filepath.Join(dir, "through"), emptyMain, solver, "-Wl,-rpath-link,"+filepath.Dir(old))
	other := compile(t, filepath.Join(dir, "other"), emptyMain, library(t, filepath.Join(dir, "old", "libother.so.1"), ""))
	damaged := filepath.Join(dir, "damaged.so")
	require.NoError(t, os.WriteFile(damaged, []byte("none"), 0o755))

	path := func(dirs ...string) []string {
		for i := range dirs {
			dirs[i] = filepath.Join(dir, dirs[i])
		}
		return []string{"LD_LIBRARY_PATH=" + strings.Join(dirs, ":")}
	}
	uses := "MPICH 4.0.2 (ch4:ucx, " + old + ")"
	for name, x := range map[string]struct {
		program string
		env     []string
		file    string
		want    mpichFix
	}{
		"affected":                    {direct, path("old", "new"), cure, mpichFix{mpich: uses, file: cure}},
		"through another library":     {through, path("old"), cure, mpichFix{mpich: uses, file: cure}},
		"the other is taken":          {direct, path("new", "old"), cure, mpichFix{}},
		"also through one":            {through, path("new", "old"), cure, mpichFix{}},
		"ofi":                         {direct, path("ofi"), cure, mpichFix{}},
		"a library that says nothing": {direct, path("silent"), cure, mpichFix{}},
		"none that is found":          {direct, path("nowhere"), cure, mpichFix{}},
		"none":                        {other, path("old"), cure, mpichFix{}},
		"the user's is kept":          {direct, append(path("old"), "LD_PRELOAD=libm.so.6"), cure, mpichFix{mpich: uses, file: cure}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, x.want, lookForFix(context.Background(), loader.Program{File: x.program, Env: x.env}, x.file, ""))
		})
	}
	// Without the directory, ranks run in another.
	require.Equal(t, mpichFix{mpich: uses, file: cure},
		lookForFix(context.Background(), loader.Program{File: direct, Dir: "/no/such", Env: path("old")}, cure, ""))
	// What the loader would not take is not handed over: ranks would not start, or complain.
	for _, file := range []string{damaged, filepath.Join(dir, "missing.so")} {
		require.Equal(t, mpichFix{mpich: uses, why: "its loader does not take libmpichfinalize.so"},
			lookForFix(context.Background(), loader.Program{File: direct, Env: path("old")}, file, ""))
	}
	gone := library(t, filepath.Join(dir, "libgone.so.1"), "")
	needy := library(t, filepath.Join(dir, "needy.so"), "", gone)
	require.NoError(t, os.Remove(gone))
	f := lookForFix(context.Background(), loader.Program{File: direct, Env: path("old")}, needy, "")
	require.Empty(t, f.file)
	require.Contains(t, f.why, "libgone.so.1")
	require.Equal(t, mpichFix{mpich: uses, why: "not built"},
		lookForFix(context.Background(), loader.Program{File: direct, Env: path("old")}, "", "not built"))
}

func TestPreloadKeepsTheUsers(t *testing.T) {
	for _, x := range []struct {
		env  []string
		want string
	}{
		{nil, "LD_PRELOAD=/x"},
		{[]string{"LD_PRELOAD="}, "LD_PRELOAD=/x"},
		{[]string{"LD_PRELOAD= "}, "LD_PRELOAD=/x"},
		{[]string{"LD_PRELOAD=a.so b.so"}, "LD_PRELOAD=a.so b.so:/x"},
		{[]string{"LD_PRELOAD=a.so", "LD_PRELOAD=c.so"}, "LD_PRELOAD=c.so:/x"}, // an app's own
	} {
		require.Equal(t, x.want, preload(x.env, "/x"))
	}
}

// Ranks start when it is known what they need; each program's loader is asked once.
func TestRanksWaitForTheirLoader(t *testing.T) {
	a, w, _ := newWorld(t, 1)
	w.view.Apps[0].Env = []string{"LD_PRELOAD=own.so"}
	for _, again := range []int{0, 1} { // a second world has the answer at once
		lib := &appLibrary{name: "libmpi.so.12", unknown: 1}
		w.libraries = map[int]*appLibrary{0: lib}
		never := func(ctx context.Context) mpichFix { <-ctx.Done(); return mpichFix{} }
		w.l.fixes.ask("app", never, mpichFix{}, func(f *mpichFix) { lib.unknown, lib.fix = 0, f })
		if again == 0 {
			require.False(t, w.Ready())
			w.l.fixes.known("app", mpichFix{mpich: "MPICH", file: "/fix.so"})
		}
		require.True(t, w.Ready())
		require.Equal(t, 1, a.learned)
		require.Equal(t, []string{"LD_PRELOAD=own.so", "LD_PRELOAD=own.so:/fix.so", "ASAN_OPTIONS=verify_asan_link_order=no"}, w.Env(0))
	}
}
