package mpi

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/loader"
)

func TestWhichProgramsSpeakPMIx(t *testing.T) {
	at := func(names ...string) (list []loader.Library) {
		for _, n := range names {
			list = append(list, loader.Library{Name: n, File: "/lib/" + n})
		}
		return append(list, loader.Library{Name: "libc.so.6", File: "/lib/libc.so.6"}, loader.Library{Name: "linux-vdso.so.1"})
	}
	for name, x := range map[string]struct {
		list []loader.Library
		want string
	}{
		"Open MPI 5":                  {at("libmpi.so.40", "libopen-pal.so.80", "libpmix.so.2"), "Open MPI 5 or later (/lib/libmpi.so.40)"},
		"Open MPI 5, its own libpmix": {at("libmpi.so.40", "libopen-pal.so.80"), "Open MPI 5 or later (/lib/libmpi.so.40)"},
		"Open MPI 6":                  {at("libmpi_mpifh.so.40", "libmpi.so.40", "libopen-pal.so.90"), "Open MPI 5 or later (/lib/libmpi.so.40)"},
		"Open MPI 4":                  {at("libmpi.so.40", "libopen-rte.so.40", "libopen-pal.so.40"), ""},
		"Open MPI 4 that links PMIx":  {at("libmpi.so.40", "libopen-rte.so.40", "libopen-pal.so.40", "libpmix.so.2"), ""},
		"Open MPI 2":                  {at("libmpi.so.20", "libopen-rte.so.20", "libopen-pal.so.20"), ""},
		"libpmix":                     {at("libpmix.so.2"), "/lib/libpmix.so.2"},
		"MPICH":                       {at("libmpich.so.12"), ""},
		"MPICH that knows PMIx":       {at("libmpi.so.12", "libpmix.so.2"), ""},
		"MPICH built for PMIx":        {at("libmpich.so.12", "libpmix.so.2"), "MPICH built for PMIx (/lib/libmpich.so.12)"},
		"Open MPI that is not found":  {[]loader.Library{{Name: "libmpi.so.40"}}, ""},
		"none":                        {at(), ""},
	} {
		require.Equal(t, x.want, pmixIn(x.list, func(libmpi string) bool { return libmpi == "/lib/libmpich.so.12" }), name)
	}
}

// An MPICH that was built for PMIx says nothing of PMI-1's variable among what it says.
func TestMPICHBuiltForPMIx(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	helper := compile(t, filepath.Join(dir, "helper"), emptyMain)
	for name, x := range map[string]struct{ source, want string }{
		"both":  {`const char *variable(void) { return "PMI_FD"; }`, ""},
		"none":  {"", ""},
		"alone": {`const char *variable(void) { return "PMIX_RANK"; }`, "MPICH built for PMIx (" + filepath.Join(dir, "alone", "libmpi.so.12") + ")"},
	} {
		pmix := library(t, filepath.Join(dir, name, "libpmix.so.2"), "")
		mpi := library(t, filepath.Join(dir, name, "libmpi.so.12"), x.source, pmix)
		program := compile(t, filepath.Join(dir, name, "program"), emptyMain, mpi, "-Wl,-rpath,"+filepath.Join(dir, name))
		u := lookForPMIx(context.Background(), loader.Program{File: program}, "", helper, "")
		require.Equal(t, x.want, u.uses, name)
	}
}

// distribution makes the libraries of an Open MPI, and a program that links it.
func distribution(t *testing.T, dir string, libraries ...string) (program string) {
	var needs []string
	for _, name := range libraries {
		needs = append(needs, library(t, filepath.Join(dir, "lib", name), "", needs...))
	}
	return compile(t, filepath.Join(dir, "program"), emptyMain, append(needs, "-Wl,-rpath,"+filepath.Join(dir, "lib"))...)
}

// The helper runs with the libpmix that the program takes, and finds other libraries
// where the program does.
func TestLookForPMIx(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	five := distribution(t, filepath.Join(dir, "5"), "libpmix.so.2", "libopen-pal.so.80", "libmpi.so.40")
	four := distribution(t, filepath.Join(dir, "4"), "libopen-pal.so.40", "libopen-rte.so.40", "libmpi.so.40")
	other := library(t, filepath.Join(dir, "other", "libpmix.so.2"), "")
	helper := compile(t, filepath.Join(dir, "helper"), emptyMain)
	find := func(program, asked, why string, env ...string) pmixUse {
		return lookForPMIx(context.Background(), loader.Program{File: program, Env: env}, asked, helper, why)
	}

	u := find(five, "", "", "X=1", "LD_PRELOAD=", "PMIX_RANK=7", "PMIX_SERVER_URI41=x")
	lib := filepath.Join(dir, "5", "lib")
	require.Equal(t, "Open MPI 5 or later ("+filepath.Join(lib, "libmpi.so.40")+")", u.uses)
	require.False(t, u.four)
	require.Empty(t, u.why)
	require.Equal(t, filepath.Join(lib, "libpmix.so.2"), u.plan.library)
	require.Equal(t, []string{helper, "--fd", "3", "--library", u.plan.library}, u.plan.argv)
	require.Contains(t, u.plan.env, "X=1")
	require.Len(t, u.plan.env, 2)
	require.Regexp(t, "^LD_LIBRARY_PATH="+lib+":", u.plan.env[1])

	mpich := distribution(t, filepath.Join(dir, "mpich"), "libmpich.so.12")
	require.Equal(t, pmixUse{later: true, four: true}, find(four, "", ""))
	require.Equal(t, pmixUse{later: true}, find(helper, "", ""), "what it opens later is not known")
	require.Equal(t, pmixUse{}, find(mpich, "", ""))
	require.Equal(t, "not built", find(five, "", "not built").why)
	require.Empty(t, find(four, "", "not built").why, "nobody needs it yet")

	// Who is asked to speak it has the libpmix that the user's path leads to.
	u = find(four, "--mpi pmix", "", "LD_LIBRARY_PATH=/nowhere:"+filepath.Dir(other))
	require.Equal(t, "--mpi pmix", u.uses)
	require.True(t, u.four)
	require.Equal(t, other, u.plan.library)
	u = find("", "--mpi pmix", "", "LD_LIBRARY_PATH="+filepath.Dir(other)) // a script
	require.True(t, u.four)
	require.Equal(t, other, u.plan.library)
	require.False(t, find(five, "--mpi pmix", "").four)

	// A helper that does not run here.
	broken := compile(t, filepath.Join(dir, "broken"), emptyMain, library(t, filepath.Join(dir, "libgone.so.1"), ""))
	require.NoError(t, os.Remove(filepath.Join(dir, "libgone.so.1")))
	u = lookForPMIx(context.Background(), loader.Program{File: five}, "", broken, "")
	require.Contains(t, u.why, "golaunch-pmix does not run here: ")
	require.Contains(t, u.why, "libgone.so.1")
}

// A program with a C library of its own has the helper run by its own loader.
func TestHelperOfAnotherDistribution(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	libraries, err := loader.List(context.Background(), loader.Program{File: "/bin/sh"})
	require.NoError(t, err)
	contents, err := os.ReadFile(fileOf(libraries, libC))
	require.NoError(t, err)
	lib := filepath.Join(dir, "lib")
	require.NoError(t, os.Mkdir(lib, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(lib, libC), contents, 0o755))
	interpreter := filepath.Join(dir, "ld.so")
	require.NoError(t, os.Symlink(loader.Interpreter(loader.Program{File: "/bin/sh"}), interpreter))
	pmix := library(t, filepath.Join(lib, libPMIx), "")
	compile(t, filepath.Join(dir, "program"), emptyMain, pmix, "-Wl,-rpath,"+lib, "-Wl,--dynamic-linker="+interpreter)
	helper := compile(t, filepath.Join(dir, "helper"), emptyMain)

	u := lookForPMIx(context.Background(), loader.Program{File: "program", Dir: dir}, "", helper, "")
	require.Equal(t, pmix, u.uses)
	require.Empty(t, u.why)
	require.Equal(t, []string{interpreter, "--library-path"}, u.plan.argv[:2])
	require.Contains(t, filepath.SplitList(u.plan.argv[2]), lib)
	require.Equal(t, []string{helper, "--fd", "3", "--library", pmix}, u.plan.argv[3:])
}

func TestHelperEnvironment(t *testing.T) {
	for name, x := range map[string]struct{ env, want []string }{
		"what others are told":   {[]string{"PMIX_NAMESPACE=x", "PMIX_SERVER_URI=y", "LD_PRELOAD=z", "PMIX_MCA_gds=hash", "PMIX_PREFIX=/p"}, []string{"PMIX_MCA_gds=hash", "PMIX_PREFIX=/p", "LD_LIBRARY_PATH=/a"}},
		"a bundle":               {[]string{"OPAL_PREFIX=/o", "LD_LIBRARY_PATH=/b"}, []string{"OPAL_PREFIX=/o", "PMIX_PREFIX=/o", "LD_LIBRARY_PATH=/a"}},
		"a bundle of two pieces": {[]string{"OPAL_PREFIX=/o", "PMIX_PREFIX=/p"}, []string{"OPAL_PREFIX=/o", "PMIX_PREFIX=/p", "LD_LIBRARY_PATH=/a"}},
	} {
		require.Equal(t, x.want, helperEnv(x.env, "/a"), name)
	}
	require.Empty(t, helperEnv(nil, ""))
}

// A world of a program that cannot do without PMIx does not start without; where there
// is one rank, it needs nobody.
func TestWorldThatLacksPMIx(t *testing.T) {
	for ranks, want := range map[int]struct{ lacks, note string }{
		2: {"app needs PMIx (Open MPI 5): not built", ""},
		1: {"", "1 app runs without PMIx (Open MPI 5): not built"},
	} {
		a, w, _ := newWorld(t, ranks)
		w.libraries[0] = &appLibrary{pmix: &pmixUse{uses: "Open MPI 5", why: "not built"}}
		require.True(t, w.Ready())
		first, err := w.Lacks()
		if want.lacks != "" {
			require.EqualError(t, err, want.lacks)
			require.Equal(t, job.Rank(0), first)
			require.Empty(t, a.notes)
			continue
		}
		require.NoError(t, err)
		require.Equal(t, []string{want.note}, a.notes)
	}
}

// Of a program whose loader is slow the ranks ask, unless the user says what they speak.
func TestPMIxOfASlowLoader(t *testing.T) {
	late := latePMIx("")
	lib := &appLibrary{pmix: &late}
	require.True(t, lib.asks())
	require.False(t, lib.needsPMIx())
	late = latePMIx("--mpi pmix")
	require.False(t, lib.asks())
	require.True(t, lib.needsPMIx())
	require.Contains(t, late.why, "the program's loader has not said within")
}
