package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// restricted has the engine's flags for a pod of deploy/kubernetes: an ordinary user, no
// capabilities, a read-only root, volumes as the kubelet makes emptyDirs.
var restricted = []string{
	"--user", "1000:1000", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--read-only", "--memory", "1g",
	"--tmpfs", "/tmp:exec,mode=2777,gid=1000", "--tmpfs", "/dev/shm:exec,mode=2777,gid=1000,size=256m",
}

// secret makes a directory with files as the kubelet has those of a secret: links to
// files of root's.
func secret(t *testing.T, mode os.FileMode, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	require.NoError(t, os.Chmod(dir, 0o1777))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "..1"), 0o755))
	require.NoError(t, os.Symlink("..1", filepath.Join(dir, "..data")))
	for name, text := range files {
		file := filepath.Join(dir, "..1", name)
		require.NoError(t, os.WriteFile(file, []byte(text), mode))
		require.NoError(t, os.Chmod(file, mode))
		require.NoError(t, os.Chown(file, 0, 1000))
		require.NoError(t, os.Symlink("..data/"+name, filepath.Join(dir, name)))
	}
	return dir
}

// newKey is a key of a kind, as the mpi-operator and ssh-keygen make it.
func newKey(t *testing.T, args ...string) (private, public string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	out, err := exec.Command("ssh-keygen", append([]string{"-q", "-N", "", "-f", file}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	texts := [2]string{}
	for i, name := range []string{file, file + ".pub"} {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		texts[i] = string(b)
	}
	return texts[0], texts[1]
}

// podFiles are the files of golaunch-mpi beyond the image of nodes, as volumes, which are faster
// to make.
func podFiles(t *testing.T) (volumes []string) {
	t.Helper()
	dir := t.TempDir()
	users := filepath.Join(dir, "passwd")
	require.NoError(t, os.WriteFile(users, []byte("root:x:0:0::/root:/bin/sh\nsshd:x:101:65534::/run/sshd:/usr/sbin/nologin\nmpiuser:x:1000:1000::/home/mpiuser:/bin/sh\n"), 0o644))
	for from, to := range map[string]string{
		bin("golaunch"): "/usr/local/bin/golaunch", "../../deploy/kubernetes/pod.sh": "/usr/local/bin/pod.sh",
		"../../deploy/kubernetes/ssh_config": "/etc/ssh/ssh_config", users: "/etc/passwd",
	} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		copied := filepath.Join(dir, "copy-"+filepath.Base(to))
		require.NoError(t, os.WriteFile(copied, text, 0o755))
		volumes = append(volumes, "--volume", copied+":"+to+":ro")
	}
	return append(volumes, "--volume", filepath.Join(built, "lib/golaunch")+":/usr/local/lib/golaunch:ro")
}

// podImage builds an image of deploy/kubernetes/Dockerfile, with golaunch as it was built
// for the tests. It is gone after the test.
func podImage(t *testing.T) (name string) {
	t.Helper()
	name, dir := containerName(), t.TempDir()
	for from, to := range map[string]string{
		bin("golaunch"): "bin/golaunch", "../../deploy/kubernetes/pod.sh": "deploy/kubernetes/pod.sh",
		"../../deploy/kubernetes/ssh_config": "deploy/kubernetes/ssh_config", "../../deploy/kubernetes/Dockerfile": "Dockerfile",
	} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, to), text, 0o755))
	}
	require.NoError(t, os.Chmod(filepath.Join(dir, "deploy/kubernetes/ssh_config"), 0o644))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "bin/lib/golaunch"), os.DirFS(filepath.Join(built, "lib/golaunch"))))
	engine(t, "build", "--quiet", "--build-arg", "BASE="+cluster.NodeImage, "--target", "mpi", "--tag", name, dir)
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "--force", name).Run() })
	return name
}

// mpiJob is the MPIJob of mpijob.yaml, whose pods are containers of a network of its own.
type mpiJob struct {
	t       *testing.T
	image   string
	options []string // of the engine, for each pod
	config  string   // volume with the list of hosts
}

// newMPIJob makes what pods of an image need, with files of the image as volumes.
func newMPIJob(t *testing.T, image string, files []string) *mpiJob {
	t.Helper()
	network := containerName()
	engine(t, "network", "create", network)
	t.Cleanup(func() { _ = exec.Command("docker", "network", "rm", network).Run() })
	private, public := newKey(t, "-t", "ecdsa", "-b", "521", "-m", "PEM")
	login := secret(t, 0o644, map[string]string{"id_rsa": private, "id_rsa.pub": public, "authorized_keys": public})
	return &mpiJob{t: t, image: image,
		options: slices.Concat([]string{"--network", network, "--volume", login + ":/home/mpiuser/.ssh:ro", "--volume", built + ":" + built + ":ro"}, restricted, files),
		config:  secret(t, 0o644, map[string]string{"hostfile": "golaunch-worker-0.golaunch.default.svc slots=2\ngolaunch-worker-1.golaunch.default.svc slots=2\n"})}
}

// launch starts the launcher's pod, with the hosts' secret and a command of the ranks.
func (j *mpiJob) launch(hosts string, command ...string) (cmd *exec.Cmd, stdout *bytes.Buffer, stderr *saidSoFar) {
	j.t.Helper()
	name := containerName()
	j.t.Cleanup(func() { _ = exec.Command("docker", "rm", "--force", name).Run() })
	argv := slices.Concat([]string{"run"}, j.options, []string{"--name", name, "--volume", hosts + ":/etc/golaunch:ro", "--volume", j.config + ":/etc/mpi:ro",
		"--env", "OMPI_MCA_orte_default_hostfile=/etc/mpi/hostfile", "--env", "OMPI_MCA_plm_rsh_args=-o ConnectionAttempts=10",
		j.image, "golaunch", "-n", "4", "--wait", "--connect-timeout", "2m", "--timeout", "2m",
		"--lost-after", "1m"}, command) // the kernel of a busy machine may hold up what starts processes in containers for 10 s
	cmd, stdout, stderr = exec.Command("docker", argv...), &bytes.Buffer{}, &saidSoFar{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	begin(j.t, cmd, cmd)
	return cmd, stdout, stderr
}

// round has the launcher up first, with its secret of hosts, and then the workers with
// theirs. They are there until the end of the test, if not removed before.
func (j *mpiJob) round(mine, theirs string) (workers []string) {
	t := j.t
	t.Helper()
	job, stdout, stderr := j.launch(mine, bin("mpisum"))
	require.Eventually(t, func() bool { return strings.Contains(stderr.String(), "waiting up to 2m0s for it") }, limit, 10*time.Millisecond, "golaunch waits for the workers")
	for i := range 2 {
		name := containerName()
		container(t, name, slices.Concat(j.options, []string{"--volume", theirs + ":/etc/golaunch:ro", "--network-alias", fmt.Sprintf("golaunch-worker-%d.golaunch.default.svc", i), j.image, "pod.sh", "worker"})...)
		workers = append(workers, name)
	}
	for _, name := range workers {
		require.Eventually(t, func() bool { return strings.Contains(engine(t, "logs", name), "Server listening on 0.0.0.0 port 2222") }, limit, 10*time.Millisecond, name)
	}
	ready := time.Now()
	require.NoError(t, job.Wait(), stderr)
	t.Logf("the job has ended %v after the last worker was ready", time.Since(ready).Round(10*time.Millisecond))
	require.Equal(t, 2, strings.Count(stdout.String(), ": sum 10 ok\n"), "a line of each node: %s", stdout)
	for _, name := range workers {
		require.NotContains(t, inside(t, name), "mpisum")
		require.NotContains(t, inside(t, name), "nla-")
		require.Empty(t, engine(t, "exec", name, "find", "/dev/shm", "-mindepth", "1"))
	}
	return workers
}

// The pods of mpijob.yaml, as containers: the launcher is up first and waits for workers,
// and for their names; MPI runs in them; nothing is left. PODS_RUNS=N is for N rounds each
// with and without known hosts in a secret, in the image that Dockerfile makes.
func TestPodsOfAnMPIJob(t *testing.T) {
	needMPI(t)
	needEngine(t)
	if os.Getuid() != 0 {
		t.Skip("skipped: only root can make files as the kubelet does")
	}
	rounds, image, files := 1, cluster.NodeImage, []string{}
	if text := os.Getenv("PODS_RUNS"); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err, "PODS_RUNS")
		rounds, image = n, podImage(t)
	} else {
		files = podFiles(t)
	}
	hostKey, hostPublic := newKey(t, "-t", "ed25519")
	_, otherPublic := newKey(t, "-t", "ed25519")
	none := secret(t, 0o440, nil)
	known, keyed := secret(t, 0o440, map[string]string{"known_hosts": "* " + hostPublic}), secret(t, 0o440, map[string]string{"ssh_host_key": hostKey})
	for name, secrets := range map[string][2]string{"any hosts": {none, none}, "known hosts": {known, keyed}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newMPIJob(t, image, files)
			for n := range rounds {
				workers := j.round(secrets[0], secrets[1])
				if name == "known hosts" && n == 0 { // a worker that has another key is none
					job, _, stderr := j.launch(secret(t, 0o440, map[string]string{"known_hosts": "* " + otherPublic}), "true")
					require.Error(t, job.Wait())
					require.Contains(t, stderr.String(), "host key")
				}
				for _, name := range workers {
					engine(t, "rm", "--force", name)
				}
			}
		})
	}
}

// The workers of job.yaml, as containers, entered by a stand-in for kubectl. A right that
// is lacking is told at once.
func TestPodsByKubectl(t *testing.T) {
	needEngine(t)
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	kubectl := func(script string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "kubectl"), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
	}
	// As kubectl is called: exec -i POD -- WORD...
	kubectl(`pod=$3; shift 4; exec docker exec -i "$pod" "$@"`)
	var workers []string
	for range 2 {
		name := containerName()
		container(t, name, append(slices.Clone(restricted), cluster.NodeImage, "sleep", "infinity")...)
		workers = append(workers, name+":2")
	}
	via := []string{"--bootstrap", "kubectl", "--connect-timeout", "2m", "-H", strings.Join(workers, ",")}
	r := local(t, "", append(via, "id", "-u")...)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, []string{"1000", "1000", "1000", "1000"}, r.lines())

	kubectl(`echo 'Error from server (Forbidden): pods "w" is forbidden: User "system:serviceaccount:default:default" cannot create resource "pods/exec" in API group "" in the namespace "default"' >&2; exit 1`)
	r = local(t, "", append(via, "true")...)
	require.Equal(t, 125, r.code, r.stderr)
	require.Contains(t, r.stderr, "kubectl auth can-i create pods/exec")
	require.NotContains(t, r.stderr, "waiting")
	require.Less(t, r.took, time.Minute)
	t.Logf("refused after %v", r.took)
}

// The pod of job.yaml's job ends as golaunch has, also where its workers cannot be ended.
func TestPodOfAJob(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", strings.Join([]string{dir, filepath.Dir(bin("golaunch")), os.Getenv("PATH")}, ":"))
	t.Setenv("WORKERS", "statefulset/w")
	for kubectl, message := range map[string]string{"echo $*": "scale statefulset/w --replicas=0\n", "exit 1": "pod.sh: the workers of statefulset/w still run\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "kubectl"), []byte("#!/bin/sh\n"+kubectl+"\n"), 0o755))
		for _, status := range []int{0, 7} {
			var stderr strings.Builder
			pod := exec.Command("sh", "../../deploy/kubernetes/pod.sh", "job", "-q", "sh", "-c", fmt.Sprint("exit ", status))
			pod.Stderr = &stderr
			_ = pod.Run()
			require.Equal(t, status, pod.ProcessState.ExitCode(), "%s: %s", kubectl, &stderr)
			require.Contains(t, stderr.String(), message)
		}
	}
}
