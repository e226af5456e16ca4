package execboot_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/bootstraptest"
	execboot "github.com/golaunch/golaunch/internal/bootstrap/exec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var here = bootstrap.Host{Index: 0, Name: "here"}

// newPiper returns a Piper for a template, and checks at the end of the test
// that nothing it started is left.
func newPiper(t *testing.T, template string, c execboot.Config) *execboot.Piper {
	t.Helper()
	var err error
	c.Template, err = execboot.Parse(template)
	require.NoError(t, err)
	p := execboot.New(c)
	t.Cleanup(p.Wait)
	return p
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	// What ssh does with its words.
	ssh := filepath.Join(dir, "ssh")
	require.NoError(t, os.WriteFile(ssh, []byte("#!/bin/sh\nshift\nexec /bin/sh -c \"$*\"\n"), 0o755))
	for _, template := range []string{
		"env {command}",
		"sh -c '{command}'",
		`sh -c "exec {command}" {host}`,
		ssh + " {host} {command}",
	} {
		t.Run(strings.ReplaceAll(template, dir+"/", ""), func(t *testing.T) {
			p := newPiper(t, template, execboot.Config{KillAfter: time.Second})
			require.Equal(t, bootstrap.LauncherOnly, p.Reach())
			require.True(t, p.NeedsStaging())
			bootstraptest.Run(t, p, here)
		})
	}
	require.Equal(t, bootstrap.Anywhere, newPiper(t, "{command}", execboot.Config{FromNodes: true}).Reach())
}

// Close leaves nothing of the command's process group.
func TestCloseKillsTheGroup(t *testing.T) {
	script := filepath.Join(t.TempDir(), "stubborn")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\ntrap '' HUP TERM PIPE\nsleep 1000 & echo $!\nsleep 1000\n"), 0o755))
	p, err := newPiper(t, script+" {command}", execboot.Config{KillAfter: 10 * time.Millisecond}).Start(t.Context(), here, []string{"x"})
	require.NoError(t, err)
	line := make([]byte, 16)
	n, err := p.Read(line)
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(line[:n])))
	require.NoError(t, err)
	require.NoError(t, p.Close())
	require.Eventually(t, func() bool { return !alive(pid) }, 2*time.Minute, time.Millisecond)
}

// alive tells whether a process runs; a zombie nobody waits for does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && syscall.Kill(pid, 0) == nil && !strings.Contains(string(stat), ") Z ")
}

func TestFailuresAreExplained(t *testing.T) {
	for _, c := range []struct {
		template  string
		silence   time.Duration // 0: for ever
		host      bootstrap.Host
		phase     bootstrap.Phase
		permanent bool
		want      string
		hint      string
	}{
		{"/no/such/program {command}", 0, here, bootstrap.Command, true, "/no/such/program cannot be run: no such file or directory", "installed"},
		{"no-such-program {command}", 0, here, bootstrap.Command, true, "no-such-program cannot be run: executable file not found in $PATH", "installed"},
		{"/etc/passwd {command}", 0, here, bootstrap.Command, true, "/etc/passwd cannot be run: permission denied", "installed"},
		{"env {addr} {command}", 0, here, bootstrap.Resolve, false, "its name does not resolve, and {addr} is in --exec-command", "use {host}"},
		{"env {user} {command}", 0, here, bootstrap.Command, true, "nothing is known for {user}", ""},
		{"sh -c 'echo no such container >&2; exit 3' {host} {command}", 0, here, bootstrap.Command, false,
			"sh ended before the agent spoke (exit status 3): no such container", "try sh -c 'echo no such container >&2; exit 3' here true"},
		{"sh -c 'sleep 3 >/dev/null & exit 3' {command}", 0, here, bootstrap.Command, false, "sh ended before the agent spoke (exit status 3)", "try "}, // stderr stays open
		{"sh -c 'kill -9 $$' {command}", 0, here, bootstrap.Command, false, "sh ended before the agent spoke (signal: killed)", "try "},
		{"sh -c 'exec >/dev/null; sleep 1000' {command}", 0, here, bootstrap.Command, false, "sh closed its output before the agent spoke", "try "},
		{"sh -c 'exec sleep 1000 # {command}'", 300 * time.Millisecond, here, bootstrap.Connect, true, "sh said nothing for 300ms", `try sh -c 'exec sleep 1000 # true'`},
		{"false {command}", 0, here, bootstrap.Command, false, "false ended before the agent spoke (exit status 1)",
			"try false true; if a shell reads the command on its way, write '{command}' in quotes"},
	} {
		e := failure(t, c.template, c.silence, c.host)
		require.Equal(t, "here", e.Host)
		require.Equal(t, c.phase, e.Phase, c.template)
		require.Equal(t, c.permanent, e.Permanent, c.template)
		require.EqualError(t, e.Err, c.want)
		require.Contains(t, e.Hint, c.hint)
	}
}

// What engines say tells whether another try is worth it, and what the user is told
// meanwhile: what is not there yet, or the engine's last line.
func TestWhatEnginesSay(t *testing.T) {
	const kubectl, docker = "kubectl", "docker"
	for _, x := range []struct {
		engine, said string
		status       int
		final        bool
		awaited      string // "" for the last line of said
		hint         string
	}{
		{docker, "Error response from daemon: No such container: c1", 1, false, "there is no such container yet", "try "},
		{docker, `Error: no container with name or ID "c1" found: no such container`, 125, false, "there is no such container yet", "try "},
		{docker, "Error response from daemon: container 0a1b is not running", 1, false, "its container does not run", "try "},
		{docker, "Error response from daemon: Container 0a1b is paused, unpause the container before exec", 1, false, "its container is paused", "try "},
		{docker, "Error response from daemon: Container 0a1b is restarting, wait until the container is running", 1, false, "its container is restarting", "try "},
		{docker, "OCI runtime exec failed: exec failed: cannot exec in a stopped container: unknown", 126, false, "its container does not run", "try "},
		{docker, "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", 1, false, "", "try "},
		{docker, "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock", 1, true, "", "the group docker"},
		{docker, `OCI runtime exec failed: exec failed: unable to start container process: exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown`, 127, true, "", "no /bin/sh"},
		{docker, "OCI runtime exec failed: something new", 126, true, "", "try "},
		{"kubexec.sh", "OCI runtime exec failed: something new", 126, false, "", "try "}, // a shell's own status, for all we know
		{kubectl, `Error from server (NotFound): pods "c1" not found`, 1, false, "there is no such pod yet", "try "},
		{kubectl, "Defaulted container x out of: x, y\nError from server (BadRequest): pod c1 does not have a host assigned", 1, false, "its pod has no node yet", "try "},
		{kubectl, `error: unable to upgrade connection: container not found ("x")`, 1, false, "its container is not up yet", "try "},
		{kubectl, "first\nThe connection to the server 10.0.0.1:6443 was refused", 1, false, "The connection to the server 10.0.0.1:6443 was refused", "try "},
		{kubectl, `Error from server (Forbidden): pods "c1" is forbidden: User "x" cannot create resource "pods/exec"`, 1, true, "", "kubectl auth can-i create pods/exec"},
		{"kubexec.sh", "error: cannot exec into a container in a completed pod; current phase is Succeeded", 1, true, "", "go on running"},
		{kubectl, "error: You must be logged in to the server (Unauthorized)", 1, true, "", "kubectl auth whoami"},
		{kubectl, "error: unable to upgrade connection: Forbidden (user=apiserver, verb=create, resource=nodes, subresource=proxy)", 1, true, "", "no right"},
		{kubectl, "The connection to the server localhost:8080 was refused - did you specify the right host or port?", 1, true, "", "KUBECONFIG"},
		{kubectl, "Unable to connect to the server: x509: certificate signed by unknown authority", 1, true, "", "KUBECONFIG"},
		{kubectl, `error: context "x" does not exist`, 1, true, "", "get-contexts"},
		{kubectl, "Error from server (BadRequest): container y is not valid for pod c1", 1, true, "", "kubectl exec -c"},
		{kubectl, "error: unknown flag: --inn", 1, true, "", "try "},
		{docker, `unable to resolve docker endpoint: context "x": context not found: open meta.json`, 1, true, "", "docker context ls"},
		{kubectl, "", 1, false, "kubectl failed", "try "},
	} {
		script := filepath.Join(t.TempDir(), x.engine)
		require.NoError(t, os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\nprintf '%%s\\n' '%s' >&2\nexit %d\n", x.said, x.status), 0o755))
		e := failure(t, script+" {host} {command}", 0, here)
		require.Equal(t, x.final, e.Permanent, x.said)
		want := x.awaited
		if want == "" && !x.final {
			want = x.said
		}
		require.Equal(t, want, e.Awaited, x.said)
		require.ErrorContains(t, e.Err, x.said)
		require.Contains(t, e.Hint, x.hint, x.said)
	}
}

// failure is why no agent came of a command.
func failure(t *testing.T, template string, silence time.Duration, host bootstrap.Host) *bootstrap.Error {
	t.Helper()
	p, err := newPiper(t, template, execboot.Config{Silence: silence, KillAfter: time.Millisecond}).Start(t.Context(), host, []string{"agent"})
	if err == nil {
		_, _ = io.ReadAll(p) // ends as the command does, or as its pipe is closed
		err = p.(bootstrap.Explainer).Explain(strings.TrimSpace(p.Diagnostics()))
		require.NoError(t, p.Close())
	}
	var e *bootstrap.Error
	require.ErrorAs(t, err, &e)
	return e
}

// A command that is given up for its silence may have told the user why.
func TestSilenceOfACommandThatWaits(t *testing.T) {
	for silence := 100 * time.Millisecond; ; silence *= 2 { // until the shell is fast enough
		require.Less(t, silence, time.Minute)
		e := failure(t, "sh -c 'echo waiting >&2; sleep 1000' {command}", silence, here)
		require.Equal(t, bootstrap.Connect, e.Phase)
		require.True(t, e.Permanent)
		if nothing := fmt.Sprintf("sh said nothing for %v", silence); e.Err.Error() != nothing {
			require.EqualError(t, e.Err, nothing+": waiting")
			return
		}
	}
}

// A command that says nothing is told of, unless it was closed by then, or has spoken.
func TestSilenceIsTold(t *testing.T) {
	t.Parallel()
	told := make(chan string, 3)
	for _, command := range []string{"sh -c 'exec sleep 1000 # {command}'", "sh -c 'echo; exec sleep 1000 # {command}'"} {
		ctx := bootstrap.WithAwaited(t.Context(), func(text string) { told <- command + ": " + text })
		p, err := newPiper(t, command, execboot.Config{KillAfter: time.Millisecond}).Start(ctx, here, []string{"agent"})
		require.NoError(t, err)
		defer p.Close()
		if strings.Contains(command, "echo") {
			_, err = p.Read(make([]byte, 1))
			require.NoError(t, err)
		}
	}
	ctx := bootstrap.WithAwaited(t.Context(), func(string) { told <- "closed" })
	p, err := newPiper(t, "sleep 1000 {command}", execboot.Config{KillAfter: time.Millisecond}).Start(ctx, here, []string{"1"})
	require.NoError(t, err)
	require.NoError(t, p.Close())
	require.Equal(t, "sh -c 'exec sleep 1000 # {command}': sh has said nothing yet", <-told)
	require.Empty(t, told)
}

// A command that has spoken is not given up, however long it is silent then.
func TestSilenceEndsWithTheFirstByte(t *testing.T) {
	p, err := newPiper(t, "sh -c 'echo hello; sleep 4; echo bye' {command}", execboot.Config{Silence: 3 * time.Second}).Start(t.Context(), here, []string{"agent"})
	require.NoError(t, err)
	defer p.Close()
	text, err := io.ReadAll(p)
	require.NoError(t, err)
	require.Equal(t, "hello\nbye\n", string(text))
}

// A second command runs on the same host, also when the first has ended.
func TestAlso(t *testing.T) {
	p, err := newPiper(t, "env NAME={host} {command}", execboot.Config{}).Start(t.Context(), here, []string{"echo", "up"})
	require.NoError(t, err)
	_, err = io.ReadAll(p)
	require.NoError(t, err)
	mark := filepath.Join(t.TempDir(), "mark")
	require.NoError(t, p.(bootstrap.Companion).Also(t.Context(), []string{"/bin/sh", "-c", `echo $NAME > "$0"`, mark}))
	text, err := os.ReadFile(mark)
	require.NoError(t, err)
	require.Equal(t, "here\n", string(text))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.Error(t, p.(bootstrap.Companion).Also(ctx, []string{"sh", "-c", "sleep 1000; true"}), "it ends with its context")
	require.NoError(t, p.Close())
}

// Nothing more is run for a host of which nothing was heard: the command may never
// have reached it.
func TestAlsoNeedsAHostThatWasHeard(t *testing.T) {
	p, err := newPiper(t, "env {command}", execboot.Config{}).Start(t.Context(), here, []string{"true"})
	require.NoError(t, err)
	defer p.Close()
	_, err = io.ReadAll(p)
	require.NoError(t, err)
	mark := filepath.Join(t.TempDir(), "mark")
	require.ErrorContains(t, p.(bootstrap.Companion).Also(t.Context(), []string{"touch", mark}), "nothing was heard of env")
	require.NoFileExists(t, mark)
}

// asked is a context that tells when somebody waits for it.
type asked struct {
	context.Context
	tell func()
}

func (a asked) Done() <-chan struct{} {
	a.tell()
	return a.Context.Done()
}

// What the first command has said may still be on its way when a second one is to
// run: that is waited for.
func TestAlsoAwaitsTheFirstWord(t *testing.T) {
	dir := t.TempDir()
	gate, mark := filepath.Join(dir, "gate"), filepath.Join(dir, "mark")
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	p, err := newPiper(t, "env {command}", execboot.Config{}).Start(t.Context(), here, []string{"sh", "-c", `read go < "$0"; echo up; cat`, gate})
	require.NoError(t, err)
	defer p.Close()
	go io.Copy(io.Discard, p) // ends with Close
	open := sync.OnceFunc(func() { require.NoError(t, os.WriteFile(gate, []byte("go\n"), 0o600)) })
	require.NoError(t, p.(bootstrap.Companion).Also(asked{t.Context(), open}, []string{"touch", mark}))
	require.FileExists(t, mark)
}
