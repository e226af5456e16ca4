package e2e

import (
	"bytes"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
)

// needShell skips where a login shell is not installed.
func needShell(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("skipped: no %s; make setup installs it", name)
	}
	return path
}

// loginShell makes a shell the login shell of root on a node.
func loginShell(path string) string {
	return edit("passwd", "s|^\\(root:.*\\):[^:]*$|\\1:"+path+"|")
}

// Nodes that are unlike what one would wish for are good enough to start agents and to
// take files: with shells of any kind that print at login, and with places that are full,
// or forbid to write or to execute. In the tree of degree one every node starts the next.
//
//report:hosts htcondor/htcondor#179, tudo-r/BatchJobs#44 shells that print at login
func TestOddHosts(t *testing.T) {
	t.Parallel()
	const n = 3
	for _, x := range []struct {
		name   string
		shell  string   // that has to be there
		damage []string // shell commands for every node
		hears  string   // the words of every node's shell at login
	}{
		{"csh", "csh", []string{loginShell("/bin/csh"), "echo 'echo hello from cshrc; setenv NOISE 1' > ~/.cshrc"}, "hello from cshrc"},
		{"fish", "fish", []string{loginShell("/usr/bin/fish"), "mkdir -p ~/.config/fish; echo 'echo hello from fish' > ~/.config/fish/config.fish"}, "hello from fish"},
		{"noisy bashrc", "bash", []string{loginShell("/bin/bash"),
			"printf 'printf \"no newline \\\\001\\\\377\"; seq 1 5000; echo to stderr >&2; head -c 70000 /dev/zero\\n' > ~/.bashrc"}, "4999"},
		{"read-only home", "sh", []string{"mount --bind ~ ~ && mount -o remount,bind,ro ~ && ! touch ~/x 2> /dev/null"}, ""},
		{"noexec /tmp", "sh", []string{"mount -o remount,noexec /tmp"}, ""},
		{"noexec /dev/shm", "sh", []string{"mount -o remount,noexec /dev/shm"}, ""},
		{"noexec /dev/shm and /tmp", "sh", []string{"mount -o remount,noexec /dev/shm; mount -o remount,noexec /tmp"}, ""},
		{"full /dev/shm", "sh", []string{"mount -o remount,size=64k /dev/shm"}, ""},
		{"full /dev/shm and /tmp", "sh", []string{"mount -o remount,size=64k /dev/shm; mount -o remount,size=64k /tmp"}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			needShell(t, x.shell)
			c := ownCluster(t, n)
			dir, sum := onlyOnHead(t, c, checker, 1<<20)
			for _, node := range firstNodes(c, n) {
				for _, command := range x.damage {
					shell(t, c, node, command)
				}
			}
			for _, more := range []string{"--copy-agent", "--copy-agent=false"} {
				r := over(t, c, n, "-n", fmt.Sprint(n), "--degree", "1", "-v", more, "-l", "--stage", dir+"/data", "--stage", dir+"/app", dir+"/app", "word")
				require.Zero(t, r.code, "%.3000q", r.stderr[max(0, len(r.stderr)-2500):])
				for _, node := range firstNodes(c, n) {
					if x.hears != "" {
						require.True(t, toldOf(node, "printed at login: "+x.hears, r.stderr), "%s: %s", node, r.stderr)
					}
				}
				var want []string
				for i := range n {
					want = append(want, fmt.Sprintf("[%d] n%03d word %s  data 700 700 600 ", i, i+1, sum))
				}
				require.ElementsMatch(t, want, r.lines())
				noFilesLeft(t, c, firstNodes(c, n)...)
			}
		})
	}
}

// TestTwoJobsAtOnce has two jobs bring their agents and files to the same hosts
// at the same time, for themselves and for good.
func TestTwoJobsAtOnce(t *testing.T) {
	const n, jobs = 8, 2
	c := theCluster(t)
	dir, sum := onlyOnHead(t, c, checker, 1<<20)
	for _, keep := range []string{"--keep-agent=false", "--keep-agent"} {
		var cmds [jobs]*cluster.Cmd
		var outs, errs [jobs]bytes.Buffer
		for i := range cmds {
			cmds[i] = c.Command(cluster.Head, bin("golaunch"), "-H", hostsArg(n), "--ssh-config", c.SSHConfig(), "-n", fmt.Sprint(n),
				"--degree", "2", "--copy-agent", keep, "--stage", dir+"/data", "--stage", dir+"/app", dir+"/app", fmt.Sprint("job", i))
			cmds[i].Stdout, cmds[i].Stderr = &outs[i], &errs[i]
			begin(t, cmds[i], cmds[i].Cmd)
		}
		for i, cmd := range cmds {
			require.NoError(t, cmd.Wait(), errs[i].String())
			require.Empty(t, errs[i].String())
			require.Equal(t, n, strings.Count(outs[i].String(), fmt.Sprintf(" job%d %s  data 700 700 600", i, sum)), outs[i].String())
		}
		if keep == "--keep-agent" {
			for _, node := range firstNodes(c, n) {
				shell(t, c, node, "rm -r /dev/shm/golaunch-0 /tmp/golaunch-0 2> /dev/null; true") // agents that were to be kept
			}
		}
		noFilesLeft(t, c, firstNodes(c, n)...)
	}
}

// toldOf reports whether golaunch has told something of a node, alone or with others.
func toldOf(node, word, stderr string) bool {
	for _, m := range regexp.MustCompile(`(?m)^golaunch: hosts? (\S+): `+regexp.QuoteMeta(word)).FindAllStringSubmatch(stderr, -1) {
		hosts, err := hostlist.Parse(m[1], "")
		if err == nil && slices.ContainsFunc(hosts, func(h job.Host) bool { return h.Name == node }) {
			return true
		}
	}
	return false
}
