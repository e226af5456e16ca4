package loader

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// build compiles C text to dir/name with further arguments of gcc.
func build(t *testing.T, dir, name, text string, args ...string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	out := filepath.Join(dir, name)
	cmd := exec.Command("gcc", append([]string{"-o", out, "-xc", "-", "-xnone"}, args...)...)
	cmd.Stdin = strings.NewReader(text)
	words, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", words)
	return out
}

// library compiles a shared library that needs others.
func library(t *testing.T, dir, name, text string, needs ...string) string {
	t.Helper()
	return build(t, dir, name, text, append([]string{"-shared", "-fPIC", "-Wl,--no-as-needed", "-Wl,-soname," + name}, needs...)...)
}

const emptyMain = "int main(void) { return 0; }"

// theirs: a program that needs libouter, which needs libinner, which is in two places.
func theirs(t *testing.T) (program, first, second string) {
	dir := t.TempDir()
	first, second = filepath.Join(dir, "first"), filepath.Join(dir, "second")
	inner := library(t, first, "libinner.so.1", "int x;")
	library(t, second, "libinner.so.1", "int x, y;")
	outer := library(t, first, "libouter.so.1", "", inner)
	return build(t, dir, "program", emptyMain, "-Wl,--no-as-needed", outer, "-Wl,-rpath-link,"+first), first, second
}

func TestList(t *testing.T) {
	program, first, second := theirs(t)
	for name, env := range map[string][]string{
		first:  {"LD_LIBRARY_PATH=" + second, "LD_LIBRARY_PATH=" + first}, // the last counts
		second: {"LD_LIBRARY_PATH=" + second + ":" + first},
	} {
		list, err := List(context.Background(), Program{File: program, Env: env})
		require.NoError(t, err)
		require.Contains(t, list, Library{"libinner.so.1", filepath.Join(name, "libinner.so.1")})
		require.Contains(t, list, Library{"libouter.so.1", filepath.Join(first, "libouter.so.1")})
	}
	// Seen from the working directory, as ranks see it.
	list, err := List(context.Background(), Program{File: "./program", Dir: filepath.Dir(program), Env: []string{"LD_LIBRARY_PATH=first"}})
	require.NoError(t, err)
	require.Contains(t, list, Library{"libinner.so.1", "first/libinner.so.1"})

	list, err = List(context.Background(), Program{File: program, Env: []string{"LD_LIBRARY_PATH=/nowhere"}})
	require.ErrorContains(t, err, "libouter.so.1")
	require.NotContains(t, list, Library{"libouter.so.1", filepath.Join(first, "libouter.so.1")})

	// Preloaded libraries come first.
	mine := library(t, t.TempDir(), "mine.so", "")
	list, err = List(context.Background(), Program{File: program, Env: []string{"LD_LIBRARY_PATH=" + first, "LD_PRELOAD=" + mine}})
	require.NoError(t, err)
	require.Equal(t, Library{"mine.so", mine}, firstWithFile(list))
}

func firstWithFile(list []Library) Library {
	for _, l := range list {
		if l.File != "" {
			return l
		}
	}
	return Library{}
}

func TestListOfWhatHasNone(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755))
	for _, file := range []string{script, build(t, dir, "static", emptyMain, "-static")} {
		list, err := List(context.Background(), Program{File: file})
		require.NoError(t, err)
		require.Empty(t, list)
		require.False(t, MayLoad(Program{File: file}, func(string) bool { return true }))
	}
	_, err := List(context.Background(), Program{File: "/no/such"})
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A loader that does not answer ends with the context.
func TestListIsBounded(t *testing.T) {
	dir := t.TempDir()
	stuck := build(t, dir, "stuck", "#include <unistd.h>\nint main(void) { for (;;) pause(); }", "-static")
	program := build(t, dir, "program", emptyMain, "-Wl,--dynamic-linker="+stuck)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	_, err := List(ctx, Program{File: program})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestParseList(t *testing.T) {
	require.Equal(t, []Library{
		{"linux-vdso.so.1", ""}, {"libmpi.so.12", "/opt/a b/libmpi.so.12"}, {"libx.so", ""}, {"ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2"},
		{"libc.musl-x86_64.so.1", "/lib/ld-musl-x86_64.so.1"},
	}, parseList("\tlinux-vdso.so.1 => (0x00007f0456884000)\n\tlibmpi.so.12 => /opt/a b/libmpi.so.12 (0x00007f0454000000)\n"+
		"\tlibx.so => not found\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f0456886000)\n\tlinux-gate.so.1 (0x1)\n"+
		"\tlibc.musl-x86_64.so.1 => /lib/ld-musl-x86_64.so.1 (0x7f)\n"))
}

func TestMayLoad(t *testing.T) {
	program, first, second := theirs(t)
	path := "LD_LIBRARY_PATH=" + first
	is := func(name string) func(string) bool { return func(l string) bool { return l == name } }
	may := func(p Program, name string) bool { return MayLoad(p, is(name)) }
	assert.True(t, may(Program{File: program, Env: []string{path}}, "libouter.so.1"), "it names it itself")
	assert.True(t, may(Program{File: program, Env: []string{path}}, "libinner.so.1"), "a library of its names it")
	assert.False(t, may(Program{File: program, Env: []string{path}}, "libmpi.so.12"))
	assert.True(t, may(Program{File: program}, "libmpi.so.12"), "who knows what libouter needs")
	assert.True(t, may(Program{File: "program", Dir: filepath.Dir(program), Env: []string{"LD_LIBRARY_PATH=second:first"}}, "libinner.so.1"))
	assert.False(t, may(Program{File: "/bin/sh"}, "libmpi.so.12"))

	// All of a name count: the loader may take either.
	mpi := library(t, first, "libmpi.so.12", "")
	library(t, second, "libouter.so.1", "", mpi)
	assert.True(t, may(Program{File: program, Env: []string{path + ":" + second}}, "libmpi.so.12"))

	// In a directory that the file names.
	near := build(t, filepath.Dir(program), "near", emptyMain, "-Wl,--no-as-needed", filepath.Join(first, "libouter.so.1"), "-Wl,-rpath-link,"+first, "-Wl,-rpath,$ORIGIN/first")
	assert.True(t, may(Program{File: near}, "libinner.so.1"))
	assert.False(t, may(Program{File: near}, "libmpi.so.12"))
}

func TestPlain(t *testing.T) {
	assert.True(t, Plain([]string{"libc.so.6", "libstdc++.so.6", "ld-linux-x86-64.so.2"}))
	assert.True(t, Plain(nil))
	assert.False(t, Plain([]string{"libc.so.6", "libmpi.so.12"}))
	assert.False(t, Plain([]string{"libcmpi.so.1"}))
}

func TestTexts(t *testing.T) {
	lib := library(t, t.TempDir(), "libmpi.so.12", `const char a[] = "4.0.2"; char b[] = "ch4:ucx"; static char c[] = "c"; char *d = c; extern char e[]; char *f(void) { return e; }`)
	texts, err := Texts(lib, "b", "a")
	require.NoError(t, err)
	require.Equal(t, []string{"ch4:ucx", "4.0.2"}, texts)
	for _, name := range []string{"missing", "e", "c"} {
		_, err := Texts(lib, "a", name)
		require.ErrorContains(t, err, name+": no such symbol")
	}
	texts, err = Texts(lib, "a")
	require.NoError(t, err)
	require.Equal(t, []string{"4.0.2"}, texts)
	for _, file := range []string{"/no/such", "/etc/passwd"} {
		_, err := Texts(file, "a")
		require.ErrorContains(t, err, file)
	}
}
