package e2e

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// The files of make install work from below DESTDIR, and make uninstall takes all of
// them away.
func TestInstall(t *testing.T) {
	needBuilt(t, "lib/golaunch/libpmi.so", "gcc")
	dest := t.TempDir()
	run := func(target string) {
		t.Helper()
		text, err := exec.Command("make", "-C", "../..", target, "BIN="+built, "DESTDIR="+dest, "PREFIX=/opt/x").CombinedOutput()
		require.NoError(t, err, "%s", text)
	}
	prefix := filepath.Join(dest, "opt", "x")
	files := func() (names []string) {
		require.NoError(t, filepath.WalkDir(dest, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				names = append(names, strings.TrimPrefix(path, prefix+"/"))
			}
			return err
		}))
		return names
	}
	run("install")
	want := []string{
		"bin/golaunch",
		"libexec/golaunch/nla-" + runtime.GOOS + "-" + runtime.GOARCH,
		"lib/golaunch/libmpiinit.so",
		"lib/golaunch/libpmi.so",
		"lib/golaunch/libmpichfinalize.so",
		"lib/libgolaunch.so.1", "lib/libgolaunch.so", "lib/pkgconfig/golaunch.pc", "include/golaunch.h",
		"share/golaunch/python/golaunch/__init__.py", "share/golaunch/python/golaunch/_buffer.py", "share/golaunch/python/golaunch/_comm.py",
		"share/golaunch/python/golaunch/_job.py", "share/golaunch/python/golaunch/_library.py", "share/golaunch/python/golaunch/_request.py",
		"share/man/man1/golaunch.1",
		"share/man/man1/golaunch-run.1", "share/man/man1/golaunch-topo.1", "share/man/man1/golaunch-netsim.1", "share/man/man1/golaunch-sched.1", "share/man/man1/golaunch-report.1", "share/man/man1/golaunch-doctor.1", "share/man/man1/golaunch-xrcsim.1",
		"share/man/man1/golaunch-completion.1",
		"share/man/man1/golaunch-help.1",
		"share/bash-completion/completions/golaunch",
		"share/zsh/site-functions/_golaunch",
		"share/fish/vendor_completions.d/golaunch.fish",
	}
	for _, library := range []string{"lib/golaunch/libprofile-mpich.so", "lib/golaunch/libprofile-openmpi.so", "lib/golaunch/golaunch-pmix"} {
		if _, err := os.Stat(bin(library)); err == nil { // its MPI, or PMIx, is here
			want = append(want, library)
		}
	}
	require.ElementsMatch(t, want, files())
	run("install") // once more, over it

	golaunch := filepath.Join(prefix, "bin", "golaunch")
	output := func(cmd *exec.Cmd) string {
		t.Helper()
		out, err := cmd.Output()
		require.NoError(t, err, "%v", cmd.Args)
		return string(out)
	}
	// The agents are the installed golaunch, and find its libraries.
	out := output(exec.Command(golaunch, "run", "-n", "4", "--nodes", "2", "--mpich-fix", "sh", "-c", "echo $LD_PRELOAD"))
	require.Len(t, strings.Fields(out), 4)
	for line := range strings.Lines(out) {
		require.Regexp(t, `^/proc/\d+/fd/\d+\n$`, line)
	}
	t.Run("programs of the tree", func(t *testing.T) { ofInstalled(t, dest, golaunch) })
	t.Run("Python", func(t *testing.T) {
		needShell(t, "python3")
		run := exec.Command(golaunch, "-n", "2", "python3", "../../python/examples/workqueue.py", "10")
		run.Env = append(os.Environ(), "PYTHONPATH="+filepath.Join(prefix, "share/golaunch/python")) // the module finds the library
		require.Equal(t, "10 tasks, results add up to 285\n", output(run))
	})
	// The shell that has loaded what is installed completes.
	completion := filepath.Join(prefix, "share/bash-completion/completions/golaunch")
	bash := exec.Command("bash", "--norc", "--noprofile", "-i")
	bash.Stdin = strings.NewReader("source " + completion + "\n" + golaunch + " completion ba\t >" + dest + "/script\n")
	bash.Env = append(os.Environ(), "TERM=dumb", "INPUTRC=/dev/null", "HOME="+t.TempDir())
	bash.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // it leaves our terminal alone
	output(bash)
	script, err := os.ReadFile(filepath.Join(dest, "script"))
	require.NoError(t, err)
	installed, err := os.ReadFile(completion)
	require.NoError(t, err)
	require.Equal(t, string(installed), string(script))
	require.NoError(t, os.Remove(filepath.Join(dest, "script")))

	run("uninstall")
	require.Empty(t, files())
	require.NoDirExists(t, filepath.Join(prefix, "lib", "golaunch"))
	require.NoDirExists(t, filepath.Join(prefix, "libexec", "golaunch"))
	require.NoDirExists(t, filepath.Join(prefix, "share", "golaunch"))
}

// ofInstalled builds a program with what pkg-config tells of the installed library, and
// runs it with that library.
func ofInstalled(t *testing.T, dest, golaunch string) {
	if _, err := exec.LookPath("pkg-config"); err != nil {
		t.Skip("skipped: no pkg-config; apt-get install pkg-config")
	}
	program := filepath.Join(t.TempDir(), "treetour")
	build := exec.Command("sh", "-c", `gcc -o "$0" ../../native/programs/treetour.c $(pkg-config --cflags --libs golaunch)`, program)
	build.Env = append(os.Environ(), "PKG_CONFIG_PATH="+filepath.Join(dest, "opt/x/lib/pkgconfig"), "PKG_CONFIG_SYSROOT_DIR="+dest)
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	run := exec.Command(golaunch, "-n", "3", "--nodes", "2", program)
	run.Env = append(os.Environ(), "LD_LIBRARY_PATH="+filepath.Join(dest, "opt/x/lib"))
	output, err = run.CombinedOutput()
	require.NoError(t, err, "%s", output)
	require.Equal(t, "tour of 3 ranks on 2 nodes: ok\n", string(output))
}

// Programs of PATH that are called like commands run when the name is not the
// first word.
func TestProgramsCalledLikeCommands(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"run", "help", "completion"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\necho \"program $0 $*\"\n"), 0o755))
		for _, words := range [][]string{
			{"--", name, "bash"},
			{"-n", "1", name, "bash"},
			{"run", name, "bash"},
			{"run", "--", name, "bash"},
			{filepath.Join(dir, name), "bash"},
		} {
			cmd := exec.Command(bin("golaunch"), words...)
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "GOLAUNCH_NP=1")
			out, err := cmd.Output()
			require.NoError(t, err, "%v", words)
			require.Equal(t, "program "+filepath.Join(dir, name)+" bash\n", string(out), "%v", words)
		}
	}
}
