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
	// Stands in for ssh's treatment of its words.
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
		{template: "/no/such/program {command}", host: here, phase: bootstrap.Command, permanent: true, want: "/no/such/program cannot be run: no such file or directory", hint: "installed"},
		{template: "no-such-program {command}", host: here, phase: bootstrap.Command, permanent: true, want: "no-such-program cannot be run: executable file not found in $PATH", hint: "installed"},
		{template: "/etc/passwd {command}", host: here, phase: bootstrap.Command, permanent: true, want: "/etc/passwd cannot be run: permission denied", hint: "installed"},
		{template: "env {addr} {command}", host: here, phase: bootstrap.Resolve, want: "its name does not resolve, and {addr} is in --exec-command", hint: "use {host}"},
		{template: "env {user} {command}", host: here, phase: bootstrap.Command, permanent: true, want: "nothing is known for {user}"},
		{template: "sh -c 'echo no such container >&2; exit 3' {host} {command}", host: here, phase: bootstrap.Command, permanent: false,
			want: "sh ended before the agent spoke (exit status 3): no such container", hint: "try sh -c 'echo no such container >&2; exit 3' here true"},
		{template: "sh -c 'sleep 3 >/dev/null & exit 3' {command}", host: here, phase: bootstrap.Command, want: "sh ended before the agent spoke (exit status 3)", hint: "try "}, // stderr stays open
		{template: "sh -c 'kill -9 $$' {command}", host: here, phase: bootstrap.Command, want: "sh ended before the agent spoke (signal: killed)", hint: "try "},
		{template: "sh -c 'exec >/dev/null; sleep 1000' {command}", host: here, phase: bootstrap.Command, want: "sh closed its output before the agent spoke", hint: "try "},
		{template: "sh -c 'exec sleep 1000 # {command}'", silence: 300 * time.Millisecond, host: here, phase: bootstrap.Connect, permanent: true, want: "sh said nothing for 300ms", hint: `try sh -c 'exec sleep 1000 # true'`},
		{template: "false {command}", host: here, phase: bootstrap.Command, want: "false ended before the agent spoke (exit status 1)",
			hint: "try false true; if a shell reads the command on its way, write '{command}' in quotes"},
	} {
		e := failure(t, c.template, c.silence, c.host)
		require.Equal(t, "here", e.Host)
		require.Equal(t, c.phase, e.Phase, c.template)
		require.Equal(t, c.permanent, e.Permanent, c.template)
		require.EqualError(t, e.Err, c.want)
		require.Contains(t, e.Hint, c.hint)
	}
}

// The words of engines tell whether another try is worth it, and the user's news
// meanwhile: the missing part, or the engine's last line.
func TestWhatEnginesSay(t *testing.T) {
	const kubectl, docker = "kubectl", "docker"
	for _, x := range []struct {
		engine, said string
		status       int
		final        bool
		awaited      string // "" for the last line of said
		hint         string
	}{
		{engine: docker, said: "Error response from daemon: No such container: c1", status: 1, awaited: "there is no such container yet", hint: "try "},
		{engine: docker, said: `Error: no container with name or ID "c1" found: no such container`, status: 125, awaited: "there is no such container yet", hint: "try "},
		{engine: docker, said: "Error response from daemon: container 0a1b is not running", status: 1, awaited: "its container does not run", hint: "try "},
		{engine: docker, said: "Error response from daemon: Container 0a1b is paused, unpause the container before exec", status: 1, awaited: "its container is paused", hint: "try "},
		{engine: docker, said: "Error response from daemon: Container 0a1b is restarting, wait until the container is running", status: 1, awaited: "its container is restarting", hint: "try "},
		{engine: docker, said: "OCI runtime exec failed: exec failed: cannot exec in a stopped container: unknown", status: 126, awaited: "its container does not run", hint: "try "},
		{engine: docker, said: "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?", status: 1, hint: "try "},
		{engine: docker, said: "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock", status: 1, final: true, hint: "the group docker"},
		{engine: docker, said: `OCI runtime exec failed: exec failed: unable to start container process: exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown`, status: 127, final: true, hint: "no /bin/sh"},
		{engine: docker, said: "OCI runtime exec failed: something new", status: 126, final: true, hint: "try "},
		{engine: "kubexec.sh", said: "OCI runtime exec failed: something new", status: 126, hint: "try "}, // a shell's own status, for all we know
		{engine: kubectl, said: `Error from server (NotFound): pods "c1" not found`, status: 1, awaited: "there is no such pod yet", hint: "try "},
		{engine: kubectl, said: "Defaulted container x out of: x, y\nError from server (BadRequest): pod c1 does not have a host assigned", status: 1, awaited: "its pod has no node yet", hint: "try "},
		{engine: kubectl, said: `error: unable to upgrade connection: container not found ("x")`, status: 1, awaited: "its container is not up yet", hint: "try "},
		{engine: kubectl, said: "first\nThe connection to the server 10.0.0.1:6443 was refused", status: 1, awaited: "The connection to the server 10.0.0.1:6443 was refused", hint: "try "},
		{engine: kubectl, said: `Error from server (Forbidden): pods "c1" is forbidden: User "x" cannot create resource "pods/exec"`, status: 1, final: true, hint: "kubectl auth can-i create pods/exec"},
		{engine: "kubexec.sh", said: "error: cannot exec into a container in a completed pod; current phase is Succeeded", status: 1, final: true, hint: "go on running"},
		{engine: kubectl, said: "error: You must be logged in to the server (Unauthorized)", status: 1, final: true, hint: "kubectl auth whoami"},
		{engine: kubectl, said: "error: unable to upgrade connection: Forbidden (user=apiserver, verb=create, resource=nodes, subresource=proxy)", status: 1, final: true, hint: "no right"},
		{engine: kubectl, said: "The connection to the server localhost:8080 was refused - did you specify the right host or port?", status: 1, final: true, hint: "KUBECONFIG"},
		{engine: kubectl, said: "Unable to connect to the server: x509: certificate signed by unknown authority", status: 1, final: true, hint: "KUBECONFIG"},
		{engine: kubectl, said: `error: context "x" does not exist`, status: 1, final: true, hint: "get-contexts"},
		{engine: kubectl, said: "Error from server (BadRequest): container y is not valid for pod c1", status: 1, final: true, hint: "kubectl exec -c"},
		{engine: kubectl, said: "error: unknown flag: --inn", status: 1, final: true, hint: "try "},
		{engine: docker, said: `unable to resolve docker endpoint: context "x": context not found: open meta.json`, status: 1, final: true, hint: "docker context ls"},
		{engine: kubectl, status: 1, awaited: "kubectl failed", hint: "try "},
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

// failure returns the error of a command that starts no agent.
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

// The first command's output may still be on its way when a second one is to run: that
// is waited for.
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
