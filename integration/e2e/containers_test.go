package e2e

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// needEngine skips where there are no containers.
func needEngine(t *testing.T) {
	if err := cluster.DockerUnavailable(); err != nil {
		t.Skipf("skipped: no container engine here: %v", err)
	}
}

// engine runs the engine's client.
func engine(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("docker", args...).CombinedOutput()
	require.NoError(t, err, "docker %q: %s", args, out)
	return strings.TrimSpace(string(out))
}

func containerName() string {
	b := make([]byte, 6)
	_, _ = rand.Read(b) // never fails
	return "golaunch-e2e-" + hex.EncodeToString(b)
}

// container starts one with options of docker run, an image and a command. It is gone
// after the test.
func container(t *testing.T, name string, args ...string) {
	t.Helper()
	t.Cleanup(func() {
		_ = exec.Command("docker", "rm", "--force", name).Run() // gone already
	})
	engine(t, append([]string{"run", "--detach", "--name", name}, args...)...)
}

// inside lists the command lines of what runs in a container.
func inside(t *testing.T, name string) string {
	return engine(t, "top", name, "-eo", "pid,stat,args")
}

// Containers have troubles of their own: each cell is one, docs/containers.md is the
// table.
func TestContainers(t *testing.T) {
	needEngine(t)
	stay := []string{cluster.NodeImage, "sleep", "infinity"}
	golaunch, err := filepath.EvalSymlinks(bin("golaunch")) // as golaunch names itself
	require.NoError(t, err)
	for _, x := range []struct {
		name     string
		run      []string // options of docker run
		want     string   // each rank prints, else:
		code     int
		messages []string
	}{
		{name: "plain", want: "uid 0"},
		{name: "unknown uid", run: []string{"--user", "4242:4343"}, want: "uid 4242"},
		{name: "no capabilities", run: []string{"--cap-drop", "ALL"}, want: "uid 0"},
		{name: "no new privileges, ordinary user", run: []string{"--security-opt", "no-new-privileges", "--cap-drop", "ALL", "--user", "nobody"}, want: "uid 65534"},
		{name: "read-only root, nothing executable", run: []string{"--read-only", "--tmpfs", "/tmp:noexec"}, code: 125, messages: []string{
			"no directory takes the agent", "/tmp: nothing may be executed there", "--tmpfs /tmp:exec", "install golaunch there"}},
		{name: "read-only root, executable /tmp", run: []string{"--read-only", "--tmpfs", "/tmp:exec"}, want: "uid 0"},
		{name: "read-only root, golaunch in the image", run: []string{"--read-only", "--volume", golaunch + ":" + golaunch + ":ro"}, want: "uid 0"},
		{name: "64 kB of /dev/shm", run: []string{"--shm-size", "64k"}, want: "uid 0"},
		{name: "24 processes", run: []string{"--pids-limit", "24"}, want: "uid 0"},
		{name: "8 processes", run: []string{"--pids-limit", "8"}, code: 125, messages: []string{"host golaunch-e2e-"}},
		{name: "32 MiB of memory", run: []string{"--memory", "32m"}, want: "uid 0"},
		{name: "an init", run: []string{"--init"}, want: "uid 0"},
	} {
		t.Run(x.name, func(t *testing.T) {
			name := containerName()
			container(t, name, append(x.run, stay...)...)
			r := local(t, "", "--bootstrap", "docker", "-H", name+":3", "sh", "-c", "echo uid $(id -u)")
			require.Equal(t, x.code, r.code, r.stderr)
			for _, text := range x.messages {
				require.Contains(t, r.stderr, text)
			}
			if x.want != "" {
				require.Equal(t, []string{x.want, x.want, x.want}, r.lines(), r.stderr)
			}
			left := inside(t, name)
			assert.NotContains(t, left, "golaunch")
			if x.want != "" && len(x.run) > 0 && x.run[0] == "--init" {
				assert.NotContains(t, left, "defunct", "an init reaps")
			}
		})
	}
}

// A container whose process 1 does not reap has no more zombies after a job than
// before: the agent and the warden reap what ranks leave.
func TestContainerThatDoesNotReap(t *testing.T) {
	needEngine(t)
	name := containerName()
	container(t, name, cluster.NodeImage, "sleep", "infinity")
	r := local(t, "", "--bootstrap", "docker", "-H", name+":2", "sh", "-c", "(sleep 1000 &) ; (sleep 1000 & exec true) ; echo ok")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, []string{"ok", "ok"}, r.lines())
	require.Eventually(t, func() bool { return strings.Count(inside(t, name), "\n") == 1 }, limit, 50*time.Millisecond, "only process 1")
}

// A worker that comes up while golaunch looks for it is waited for.
func TestContainerThatComesLate(t *testing.T) {
	needEngine(t)
	name := containerName()
	t.Cleanup(func() { _ = exec.Command("docker", "rm", "--force", name).Run() })
	// The first call finds no container, and says so to the pipe; then there is one.
	dir := t.TempDir()
	pipe, script := filepath.Join(dir, "pipe"), filepath.Join(dir, "client")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nmkdir "+dir+"/first 2>/dev/null || exec docker exec -i \"$@\"\n"+
		"docker exec -i \"$@\"\nstatus=$?\necho $status >"+pipe+"\nexit $status\n"), 0o755))
	type answer struct {
		status string
		err    error
	}
	up := make(chan answer, 1)
	go func() { // ends with the first call, or the test's process
		status, err := os.ReadFile(pipe)
		if err == nil {
			err = exec.Command("docker", "run", "--detach", "--name", name, cluster.NodeImage, "sleep", "infinity").Run()
		}
		up <- answer{string(status), err}
	}()
	r := local(t, "", "--bootstrap", "exec", "--exec-command", script+" {host} {command}", "--connect-timeout", "60s", "-H", name, "echo", "ok")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "ok\n", r.stdout)
	a := <-up
	require.NoError(t, a.err)
	require.Equal(t, "1\n", a.status, "there was no container at first")
}

// The next job removes the leftovers of a container that was killed in the middle of a
// copy, after it was started again.
func TestContainerKilledInTheMiddleOfACopy(t *testing.T) {
	needEngine(t)
	name := containerName()
	container(t, name, cluster.NodeImage, "sleep", "infinity")
	const stale = "/tmp/golaunch-0123456789abcdef0123456789abcdef-01234567-89ab-cdef-0123-456789abcdef"
	engine(t, "exec", name, "sh", "-c", "mkdir -m 700 "+stale+"; : >"+stale+"/nla; touch -d '1 hour ago' "+stale)
	engine(t, "kill", name)
	engine(t, "start", name)
	// The agent itself goes where it may execute: /tmp here.
	r := local(t, "", "--bootstrap", "docker", "-H", name, "echo", "ok")
	require.Zero(t, r.code, r.stderr)
	require.NotContains(t, engine(t, "exec", name, "ls", "/tmp"), "golaunch")
}

// An image from scratch with busybox alone will do.
func TestBusyboxContainer(t *testing.T) {
	name := busybox(t, "sh", "uname", "mkdir", "chmod", "head", "rm", "mv", "id", "sleep", "stat", "echo")
	r := local(t, "", "--bootstrap", "docker", "-H", name+":2", "sh", "-c", "echo $RANK")
	require.Zero(t, r.code, r.stderr)
	require.ElementsMatch(t, []string{"0", "1"}, r.lines())
}

// An image without a shell is told as such, however long hosts are waited for: it will
// have none later.
func TestContainerWithoutAShell(t *testing.T) {
	r := local(t, "", "--bootstrap", "docker", "--connect-timeout", "2m", "-H", busybox(t), "true")
	require.Equal(t, 125, r.code)
	require.Contains(t, r.stderr, "stat /bin/sh: no such file or directory")
	require.Contains(t, r.stderr, "(the image has no /bin/sh: mount golaunch into the container, and name its path there with --agent-path)")
	require.Less(t, r.took, time.Minute)
}

// busybox runs a container of an image from scratch, with some of busybox's applets.
func busybox(t *testing.T, applets ...string) (name string) {
	t.Helper()
	i := newImage(t)
	i.applets(t, applets...)
	i.dirs["/tmp"] = 0o1777
	name = containerName()
	container(t, name, i.make(t), "/bin/busybox", "sleep", "1000")
	return name
}

// golaunch works inside a container, as a user without a name, agents and all.
func TestGolaunchInAContainer(t *testing.T) {
	needEngine(t)
	name := containerName()
	container(t, name, "--user", "4242:4343", "--cap-drop", "ALL", "--read-only", "--tmpfs", "/tmp:exec", "--volume", built+":"+built+":ro", cluster.NodeImage, "sleep", "infinity")
	out := engine(t, "exec", name, bin("golaunch"), "-n", "8", "--nodes", "4", bin("pmiclient"))
	require.Equal(t, 8, strings.Count(out, "\n")+1, out)
	out = engine(t, "exec", name, bin("golaunch"), "-n", "4", bin("mpisum"))
	require.Contains(t, out, "rank 0 of 4")
}

// An operator's pod: its host file, and a command that is called as ssh is.
func TestOperatorsCommand(t *testing.T) {
	needEngine(t)
	name := containerName()
	container(t, name, cluster.NodeImage, "sleep", "infinity")
	dir := t.TempDir()
	hosts, agent := filepath.Join(dir, "hostfile"), filepath.Join(dir, "kubexec.sh")
	require.NoError(t, os.WriteFile(hosts, []byte(name+" slots=2\n"), 0o600))
	t.Setenv("OMPI_MCA_orte_default_hostfile", hosts)
	t.Setenv("OMPI_MCA_plm_rsh_agent", agent)
	for flag, code := range map[string]int{"-i ": 0, "": 125} {
		require.NoError(t, os.WriteFile(agent, []byte("#!/bin/sh\nPOD=$1\nshift\nexec docker exec "+flag+"$POD /bin/sh -c \"$*\"\n"), 0o755))
		r := local(t, "", "echo", "ok")
		require.Equal(t, code, r.code, r.stderr)
		if code == 0 {
			require.Equal(t, []string{"ok", "ok"}, r.lines())
		} else {
			require.Contains(t, r.stderr, "the shell there has no input")
			require.Contains(t, r.stderr, "kubectl exec -i")
		}
	}
}

// MPI between networks that do not reach each other hangs in silence: the addresses that
// do not connect are told.
func TestMPIBetweenIsolatedNetworks(t *testing.T) {
	needMPI(t)
	needEngine(t)
	var hosts []string
	for range 2 {
		name := containerName()
		engine(t, "network", "create", name)
		t.Cleanup(func() { _ = exec.Command("docker", "network", "rm", name).Run() })
		container(t, name, "--network", name, cluster.NodeImage, "sleep", "infinity")
		hosts = append(hosts, name)
	}
	for _, program := range []string{"mpisum", "mpisum.openmpi"} {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			needBuilt(t, program, "libmpich-dev libopenmpi-dev")
			cmd := exec.Command(bin("golaunch"), "--bootstrap", "docker", "--stall-after", "500ms", "-H", strings.Join(hosts, ","), "--stage", bin(program), bin(program))
			lines, ended := hear(t, cmd, cmd, func(line string) {
				if strings.Contains(line, "nobody answers connections") {
					require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
				}
			})
			require.Error(t, ended, lines)
			require.Equal(t, 143, cmd.ProcessState.ExitCode(), lines)
			require.Regexp(t, `(?m)^golaunch: after 500ms: nobody answers connections of ranks: rank [01] on (?:`+strings.Join(hosts, "|")+`), [0-9.]+ to [0-9.]+:\d+`, strings.Join(lines, "\n"))
		})
	}
}

// Blows of an engine at a container of a running job, and at one that is being entered,
// end the job, name the container with the engine's word for it, and leave nothing in
// it.
func TestWhatAnEngineDoes(t *testing.T) {
	needEngine(t)
	for _, x := range []struct {
		name    string
		do      []string // to the second container
		undo    []string
		message string
	}{
		{"kill", []string{"kill"}, []string{"start"}, "the container has exited with code 137"},
		{"stop", []string{"stop", "--time", "1"}, []string{"start"}, "the container has exited with code 137"},
		{"pause", []string{"pause"}, []string{"unpause"}, "the container is paused"},
		{"restart", []string{"restart", "--time", "0"}, nil, "the container (was restarted|has exited with code 137)"},
		{"remove", []string{"rm", "--force"}, nil, "(there is no such container any more|the container .*)"},
		// Process 1 takes all the memory: the kernel ends it.
		{"out of memory", []string{"kill", "--signal", "USR1"}, nil, "the container has exited with code 137, OOM-killed"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			names := []string{containerName(), containerName()}
			for _, name := range names {
				container(t, name, "--memory", "64m", cluster.NodeImage, "sh", "-c", "trap 'exec tail /dev/zero' USR1; sleep infinity & wait")
			}
			j := startLocal(t, 2, "--bootstrap", "docker", "--lost-after", "5s", "-H", strings.Join(names, ","), "sh", "-c", "echo runs; exec sleep 1000")
			engine(t, append(x.do, names[1])...)
			j.over(t, 125)
			require.Regexp(t, "golaunch: host "+names[1]+" .*lost: .*; docker says: "+x.message+"\n", j.errorText(t))
			switch {
			case x.undo != nil:
				engine(t, append(x.undo, names[1])...)
			case x.name != "restart":
				names = names[:1]
			}
			for _, name := range names {
				require.Eventually(t, func() bool {
					return !strings.Contains(inside(t, name), "sleep 1000") && !strings.Contains(inside(t, name), "golaunch")
				},
					limit, 50*time.Millisecond, name)
			}
		})
	}
}

// Ranks that miss a lost container may end before its loss is known: it is told all the
// same, in the engine's words.
func TestAContainerIsLostAfterItsPeersFailed(t *testing.T) {
	needEngine(t)
	names := []string{containerName(), containerName()}
	for _, name := range names {
		container(t, name, cluster.NodeImage, "sleep", "infinity")
	}
	cmd := exec.Command(bin("golaunch"), "--bootstrap", "docker", "--grace", "1m", "-H", strings.Join(names, ","), "sh", "-c",
		`[ $PMI_RANK = 1 ] && trap "echo told >&2" TERM; echo runs; if [ $PMI_RANK = 0 ]; then read x; exit 3; fi; while :; do sleep 0.1; done`)
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	j := startCommand(t, 2, cmd)
	require.NoError(t, stdin.Close()) // rank 0 fails
	require.Eventually(t, func() bool { return strings.Contains(j.errorText(t), "told") }, limit, 10*time.Millisecond)
	engine(t, "kill", names[1])
	j.over(t, 125)
	require.Regexp(t, "golaunch: host "+names[1]+" .*lost: .*; docker says: the container has exited with code 137\n", j.errorText(t))
	require.Contains(t, j.errorText(t), "exited with code 3")
}
