package e2e

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// shell runs a shell command on a node.
func shell(t *testing.T, c *cluster.Cluster, node, command string) string {
	t.Helper()
	out, err := c.CommandContext(context.Background(), node, "sh", "-c", command).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// noFilesLeft asserts that nothing of a job's files is on any of the nodes.
func noFilesLeft(t *testing.T, c *cluster.Cluster, names ...string) {
	t.Helper()
	nothingLeft(t, c, names...)
	for _, name := range names {
		require.Eventually(t, func() bool {
			return shell(t, c, name, "ls -d /dev/shm/golaunch-* /tmp/golaunch-* ~/.cache/golaunch-* 2> /dev/null; true") == ""
		}, limit, 100*time.Millisecond, "left on %s", name)
	}
}

// onlyOnHead puts a program and a file of so many bytes into a directory of
// the head that no node sees, and returns it with the file's SHA-256.
func onlyOnHead(t *testing.T, c *cluster.Cluster, script string, size int) (dir, sum string) {
	t.Helper()
	content := make([]byte, size)
	for i := range content {
		content[i] = byte(i>>16) ^ byte(i*7)
	}
	file := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.WriteFile(file, content, 0o600))
	source, err := os.Open(file)
	require.NoError(t, err)
	defer source.Close()
	dir = "/tmp/job-" + strings.ReplaceAll(filepath.Base(t.TempDir()), "/", "")
	cmd := c.Command(cluster.Head, "sh", "-c", "mkdir -p "+dir+" && cd "+dir+" && cat > data && printf '%s' \"$1\" > app && chmod 755 app", "sh", script)
	cmd.Stdin = source
	require.NoError(t, cmd.Run())
	t.Cleanup(func() { shell(t, c, cluster.Head, "rm -rf "+dir) })
	return dir, fmt.Sprintf("%x", sha256.Sum256(content))
}

const checker = `#!/bin/sh
cd "$GOLAUNCH_STAGE_DIR" || exit
[ "$0" = "$PWD/app" ] || echo "runs as $0"
echo "$(hostname) $1 $(sha256sum data) $(stat -c '%a' . app data | tr '\n' ' ')"
`

// TestStage has a program and a large file, which only the head has, run and
// read on sixteen nodes in a tree of depth two.
func TestStage(t *testing.T) {
	const n = 16
	c := theCluster(t)
	dir, sum := onlyOnHead(t, c, checker, 50<<20)
	for _, flags := range [][]string{
		{"-H", hostsArg(n), "--ssh-config", c.SSHConfig(), "--degree", "4"},
		append(viaSSH(c), "-H", hostsArg(4)),
	} {
		ranks := n
		if flags[0] == "--bootstrap" {
			ranks = 4
		}
		r := onNode(t, c, cluster.Head, append(flags, "-n", fmt.Sprint(ranks), "-l", "--stage", dir+"/data", "--stage", dir+"/app", dir+"/app", "word")...)
		require.Zero(t, r.code, r.stderr)
		var want []string
		for i := range ranks {
			want = append(want, fmt.Sprintf("[%d] n%03d word %s  data 700 700 600 ", i, i+1, sum))
		}
		require.ElementsMatch(t, want, r.lines())
		noFilesLeft(t, c, append(firstNodes(c, n), cluster.Head)...)
	}
}

// A program named as the file that is brought, without its directory, is that file.
func TestStageOfAProgramByName(t *testing.T) {
	script := filepath.Join(t.TempDir(), "staged-program")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n[ \"$0\" = \"$GOLAUNCH_STAGE_DIR/staged-program\" ] && echo \"$@\"\n"), 0o755))
	r := local(t, "", "-n", "2", "--nodes", "2", "--stage", script, "staged-program", "one", "two")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "one two\none two\n", r.stdout)
}

// TestStageFailures names the host that cannot take the files, and why.
func TestStageFailures(t *testing.T) {
	t.Parallel()
	const n = 3
	for _, x := range []struct {
		name, damage string
		code         int
		phrases      []string
	}{
		{"full", "for d in /dev/shm /tmp; do mount -o remount,size=2m $d; done; mkdir -p ~/.cache; mount -t tmpfs -o size=2m none ~/.cache", 125,
			[]string{"host n002 (rank 1): stage files: no directory takes 50.0 MiB", "/dev/shm: no space left on device", "/tmp: no space left on device", ".cache: no space left on device", "make room"}},
		{"noexec", "for d in /dev/shm /tmp; do mount -o remount,noexec $d; done; mkdir -p ~/.cache; mount -t tmpfs -o noexec none ~/.cache", 126,
			[]string{"host n002 (rank 1): stage files: no directory takes 50.0 MiB", "/dev/shm: nothing may be executed there", "noexec"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := ownCluster(t, n)
			dir, _ := onlyOnHead(t, c, checker, 50<<20)
			shell(t, c, "n002", x.damage)
			for _, more := range []string{"-q", "--keep-going"} {
				r := over(t, c, n, "-n", fmt.Sprint(n), "--degree", "2", more, "--stage", dir+"/data", "--stage", dir+"/app", dir+"/app")
				require.Equal(t, x.code, r.code, r.stderr)
				for _, phrase := range x.phrases {
					require.Contains(t, r.stderr, phrase)
				}
				noFilesLeft(t, c, firstNodes(c, n)...)
			}
		})
	}
}

// TestStageKill ends a job in the middle of it, or while its files travel:
// nothing of them stays.
func TestStageKill(t *testing.T) {
	t.Parallel()
	const n = 7
	c := ownCluster(t, n)
	dir, _ := onlyOnHead(t, c, "#!/bin/sh\nexec "+bin("rankprobe")+" stubborn\n", 8<<20)
	args := []string{"--stage", dir + "/data", "--stage", dir + "/app"}
	for _, x := range []struct {
		name string
		do   func(*running)
	}{
		{"golaunch", func(r *running) { r.cmd.Process.Kill() }},
		{"golaunch and the root's agent", func(r *running) { // only its warden is left
			procs, err := c.Processes("n001")
			require.NoError(t, err)
			agent := find(t, procs, func(p cluster.Proc) bool { return slices.Contains(p.Cmdline, "nla-agent") })
			require.NoError(t, agent.Signal(syscall.SIGSTOP))
			r.cmd.Process.Kill()
			require.NoError(t, agent.Signal(syscall.SIGKILL))
		}},
		{"the root's agent", func(*running) { kill(t, c, "n001", "nla-agent") }},
		{"a leaf's agent", func(*running) { kill(t, c, "n007", "nla-agent") }},
		{"a warden", func(*running) { kill(t, c, "n003", "nla-warden") }},
		{"agent and warden of a middle node", func(*running) { killBoth(t, c, "n002") }},
		{"SIGTERM to golaunch", func(r *running) { r.cmd.Process.Signal(syscall.SIGTERM) }},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := probes(t, c, n, "stubborn", append(args, "--grace", "100ms")...)
			require.NotEmpty(t, shell(t, c, "n007", "ls -d /dev/shm/golaunch-files-*"), "the files are there while the ranks run")
			x.do(r)
			r.wait(t)
			noFilesLeft(t, c, firstNodes(c, n)...)
		})
	}
	t.Run("while the files travel", func(t *testing.T) {
		shell(t, c, cluster.Head, "truncate -s 400M "+dir+"/large")
		for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGKILL} {
			r := &running{cmd: c.Command(cluster.Head, bin("golaunch"), "-H", hostsArg(2), "--ssh-config", c.SSHConfig(), "-n", "2", "--stage", dir+"/large",
				bin("rankprobe"), "sleep")} // should they come to run
			r.cmd.Stderr = &r.stderr
			begin(t, r.cmd, r.cmd.Cmd)
			require.Eventually(t, func() bool {
				return shell(t, c, "n002", "ls /dev/shm/golaunch-files-*/large 2> /dev/null; true") != ""
			}, limit, 10*time.Millisecond)
			require.NoError(t, r.cmd.Process.Signal(sig))
			require.Equal(t, map[syscall.Signal]int{syscall.SIGTERM: 143, syscall.SIGINT: 130, syscall.SIGKILL: -1}[sig], r.wait(t), r.stderr.String())
			noFilesLeft(t, c, firstNodes(c, 2)...)
		}
	})
}
