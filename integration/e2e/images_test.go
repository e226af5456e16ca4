package e2e

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/cluster"
)

// image is the contents of an image from scratch.
type image struct {
	files   map[string]string // files of this machine, links followed, by their paths there
	links   map[string]string // symbolic links
	texts   map[string]string // executable files by their paths
	dirs    map[string]int64  // modes
	changes []string          // as "ENV A=b"
}

// add adds files under the same paths.
func (i *image) add(paths ...string) {
	for _, p := range paths {
		i.files[p] = p
	}
}

// applets adds busybox under names of its applets.
func (i *image) applets(t *testing.T, names ...string) {
	t.Helper()
	program, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip("skipped: no busybox; apt-get install busybox-static")
	}
	i.files["/bin/busybox"] = program
	for _, name := range names {
		i.links["/bin/"+name] = "busybox"
	}
}

func newImage(t *testing.T) *image {
	t.Helper()
	needEngine(t)
	return &image{map[string]string{}, map[string]string{}, map[string]string{}, map[string]int64{}, nil}
}

// make imports the image, which is gone after the test, and returns its name.
func (i *image) make(t *testing.T) string {
	t.Helper()
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	add := func(h tar.Header, body []byte) {
		h.Size = int64(len(body))
		h.Name = strings.TrimPrefix(h.Name, "/")
		require.NoError(t, w.WriteHeader(&h))
		_, err := w.Write(body)
		require.NoError(t, err)
	}
	for name, mode := range i.dirs {
		add(tar.Header{Name: name + "/", Typeflag: tar.TypeDir, Mode: mode}, nil)
	}
	for name, from := range i.files {
		body, err := os.ReadFile(from)
		require.NoError(t, err)
		add(tar.Header{Name: name, Mode: 0o755}, body)
	}
	for name, text := range i.texts {
		add(tar.Header{Name: name, Mode: 0o755}, []byte(text))
	}
	for name, to := range i.links {
		add(tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: to}, nil)
	}
	require.NoError(t, w.Close())
	tag := containerName() + ":test"
	args := []string{"import"}
	for _, c := range i.changes {
		args = append(args, "--change", c)
	}
	cmd := exec.Command("docker", append(args, "-", tag)...)
	cmd.Stdin = &layer
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Cleanup(func() { _ = exec.Command("docker", "rmi", "--force", tag).Run() })
	return tag
}

// libraries are the files that the loader maps for a program, itself too.
func libraries(t *testing.T, program string) (files []string) {
	t.Helper()
	out, err := exec.Command("ldd", program).CombinedOutput()
	require.NoError(t, err, "%s", out)
	for word := range strings.FieldsSeq(string(out)) {
		if path.IsAbs(word) {
			files = append(files, word)
		}
	}
	return files
}

// names are the variables of lines of env.
func names(lines []string) (names []string) {
	for _, kv := range lines {
		name, _, _ := strings.Cut(kv, "=")
		names = append(names, name)
	}
	return names
}

// ownNames begin the names of variables that golaunch sets (golaunch help environment).
var ownNames = []string{"GOLAUNCH_", "PMI_", "MPI_LOCAL", "MPIR_CVAR_CH3_INTERFACE_HOSTNAME", "RANK", "WORLD_SIZE", "LOCAL_", "GROUP_", "ROLE_", "MASTER_", "PWD"}

// preloads begin the variables that preload golaunch's library. Only static programs see
// them: the library takes itself out of the environment where it is loaded.
var preloads = []string{"LD_PRELOAD=/proc/", "ASAN_OPTIONS=verify_asan_link_order=no"}

// Ranks in a container have the environment of its image, as docker exec has it, and no
// variable of the launcher's but those that the user names.
func TestImagesEnvironment(t *testing.T) {
	i := newImage(t)
	i.applets(t, "sh", "uname", "mkdir", "chmod", "head", "rm", "mv", "id", "sleep", "env", "pwd")
	i.texts["/opt/image/tool"] = "#!/bin/sh\necho the image\n"
	i.dirs["/tmp"], i.dirs["/work"] = 0o1777, 0o755
	i.changes = []string{"ENV PATH=/opt/image:/bin OMP_NUM_THREADS=3 SSL_CERT_FILE=/image.pem GOMAXPROCS=7", "WORKDIR /work"}
	name := containerName()
	container(t, name, i.make(t), "/bin/busybox", "sleep", "1000")

	mine := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(mine, "tool"), []byte("#!/bin/sh\necho the launcher\n"), 0o755))
	for name, value := range map[string]string{
		"PATH": mine + ":" + os.Getenv("PATH"), "OMP_NUM_THREADS": "9", "SSL_CERT_FILE": "/launcher.pem", "LD_LIBRARY_PATH": "/launcher",
		"AWS_SECRET_ACCESS_KEY": "secret", "GOMAXPROCS": "5",
	} {
		t.Setenv(name, value)
	}
	via := []string{"-v", "--bootstrap", "docker", "-H", name}
	want := strings.Fields(engine(t, "exec", name, "env"))
	r := local(t, "", append(via, "env")...)
	require.Zero(t, r.code, r.stderr)
	require.Subset(t, r.lines(), want)
	lines := slices.DeleteFunc(r.lines(), func(kv string) bool {
		return slices.ContainsFunc(preloads, func(begin string) bool { return strings.HasPrefix(kv, begin) })
	})
	for _, name := range names(lines) {
		own := slices.ContainsFunc(ownNames, func(begin string) bool { return strings.HasPrefix(name, begin) })
		require.True(t, own || slices.Contains(names(want), name), "%s is neither golaunch's nor the image's", name)
	}
	require.Contains(t, r.stderr, "ranks have the environment of their containers' images, not golaunch's (--env-from)")

	r = local(t, "", append(via, "-x", "OMP_NUM_THREADS", "--genv", "A=b", "sh", "-c", "tool; pwd; echo $OMP_NUM_THREADS $A $AWS_SECRET_ACCESS_KEY")...)
	require.Equal(t, []string{"the image", "/work", "9 b"}, r.lines(), r.stderr)
	r = local(t, "", append(via, "--env-from", "launcher", "sh", "-c", "echo $OMP_NUM_THREADS $SSL_CERT_FILE")...)
	require.Equal(t, "9 /launcher.pem\n", r.stdout, r.stderr)

	// A user without an account has the engine's HOME, also by a command of the user's.
	r = local(t, "", "--bootstrap", "exec", "--exec-command", "docker exec --user 4242 -i {host} {command}", "-H", name, "sh", "-c", "echo $HOME $SSL_CERT_FILE")
	require.Equal(t, engine(t, "exec", "--user", "4242", name, "sh", "-c", "echo $HOME $SSL_CERT_FILE")+"\n", r.stdout, r.stderr)
}

// Images without a shell run golaunch from its mount, as any user: programs that link
// glibc and MPI, and those that link nothing.
func TestImagesWithoutAShell(t *testing.T) {
	needMPI(t)
	i := newImage(t)
	for _, program := range []string{"pmiclient", "mpisum"} {
		i.add(libraries(t, bin(program))...)
		i.files["/app/"+program] = bin(program)
	}
	i.applets(t)
	i.changes = []string{"ENV PATH=/app"}
	tag := i.make(t)
	agents := map[string]string{"golaunch": bin("golaunch"), "nla": filepath.Join(built, "libexec/golaunch/nla-linux-amd64")}
	for user, agent := range map[string]string{"0": "golaunch", "4242:4242": "nla"} {
		containers := []string{containerName(), containerName()}
		for _, name := range containers {
			container(t, name, "--user", user, "--read-only", "--volume", agents[agent]+":/nla:ro", tag, "/bin/busybox", "sleep", "1000")
		}
		via := []string{"--bootstrap", "docker", "--agent-path", "/nla", "-H", strings.Join(containers, ":2,") + ":2"}
		checkClients(t, local(t, "", append(via, "-l", "pmiclient")...), 4)
		r := local(t, "", append(via, "/bin/busybox", "echo", "static")...)
		require.Equal(t, slices.Repeat([]string{"static"}, 4), r.lines(), r.stderr)
		r = local(t, "", append(via, "mpisum")...)
		require.Zero(t, r.code, r.stderr)
		require.Contains(t, r.stdout, "rank 0 of 4 ")
		require.Contains(t, r.stdout, "sum 10 ok")
		require.NotContains(t, inside(t, containers[0]), "nla")
		if agent == "golaunch" {
			r := local(t, "", append([]string{"doctor"}, via...)...)
			require.Contains(t, r.stdout, "  agent      at /nla\n  system     Linux ", r.stderr)
			require.Contains(t, r.stdout, "ways from host to host that were tried are answered\n")
			require.NotContains(t, r.stdout, "directory", "none is needed")
		}
	}

	// A file that is not there, or is no agent, is told as such.
	name := containerName()
	container(t, name, tag, "/bin/busybox", "sleep", "1000")
	r := local(t, "", "--bootstrap", "docker", "--agent-path", "/nla", "-H", name, "pmiclient")
	require.Equal(t, 125, r.code)
	require.Contains(t, r.stderr, "is golaunch, or nla, at /nla there (--agent-path), and may it be executed?")
}

// Where agent and warden of such a container are killed, or stopped, the file of the agent
// ends what they leave.
func TestImagesWithoutAShellAreLeftClean(t *testing.T) {
	t.Parallel()
	i := newImage(t)
	i.applets(t)
	tag, nla := i.make(t), filepath.Join(built, "libexec/golaunch/nla-linux-amd64")
	for _, signal := range []string{"KILL", "STOP"} {
		t.Run(signal, func(t *testing.T) {
			t.Parallel()
			name := containerName()
			container(t, name, "--volume", nla+":/nla:ro", tag, "/bin/busybox", "sleep", "1000")
			j := startLocal(t, 1, "--bootstrap", "docker", "--agent-path", "/nla", "--lost-after", "5s", "-H", name, "/bin/busybox", "sh", "-c", "echo runs; exec sleep 999")
			var pids []string
			for line := range strings.Lines(engine(t, "top", name, "-eo", "pid,args")) {
				if strings.Contains(line, "nla-") {
					pids = append(pids, strings.Fields(line)[0])
				}
			}
			require.Len(t, pids, 2, "agent and warden")
			require.NoError(t, exec.Command("kill", append([]string{"-" + signal}, pids...)...).Run())
			j.over(t, 125)
			require.Eventually(t, func() bool {
				left := inside(t, name)
				return !strings.Contains(left, "999") && !strings.Contains(left, "nla")
			}, limit, 50*time.Millisecond)
		})
	}
}

// An image with musl as its libc runs what is linked with it, as does busybox alone what is
// linked with nothing. Debian has no MPI library for musl: the program speaks PMI itself.
func TestMuslImages(t *testing.T) {
	compiler, err := exec.LookPath("musl-gcc")
	if err != nil {
		t.Skip("skipped: no musl-gcc; apt-get install musl-tools")
	}
	i := newImage(t)
	dir := t.TempDir()
	for name, flag := range map[string]string{"static": "-static", "dynamic": "-rdynamic"} {
		program := filepath.Join(dir, name)
		out, err := exec.Command(compiler, flag, "-std=gnu11", "-O2", "-o", program, "../../native/programs/pmiclient.c").CombinedOutput()
		require.NoError(t, err, "%s", out)
		i.files["/bin/"+name] = program
	}
	i.applets(t, "sh", "uname", "mkdir", "chmod", "head", "rm", "mv", "id", "stat", "sleep", "find", "rmdir", "ls")
	i.files["/lib/ld-musl-x86_64.so.1"] = "/lib/ld-musl-x86_64.so.1"
	i.dirs["/tmp"] = 0o755 // root's alone, which needs no sticky bit
	i.changes = []string{"ENV PATH=/bin"}
	tag := i.make(t)
	name := containerName()
	container(t, name, tag, "/bin/busybox", "sleep", "1000")
	for _, program := range []string{"static", "dynamic"} {
		checkClients(t, local(t, "", "--bootstrap", "docker", "-H", name+":3", "-l", program), 3)
	}

	// Another user may not write there, and is told so.
	r := local(t, "", "--bootstrap", "exec", "--exec-command", "docker exec --user 4242 -i {host} {command}", "-H", name, "static")
	require.Equal(t, 125, r.code)
	require.Contains(t, r.stderr, "/tmp: we may not write there")
	require.NotContains(t, r.stderr, "others may remove files there")

	// In a folder in which others may write without a sticky bit they could exchange
	// the agent. HOME, of a user without an account /, has room for it then, and
	// nothing stays there.
	engine(t, "exec", name, "/bin/busybox", "chmod", "777", "/tmp")
	r = local(t, "", "-v", "--bootstrap", "docker", "-H", name, "static")
	require.Equal(t, 0, r.code, r.stderr)
	require.NotContains(t, engine(t, "exec", name, "ls", "-a", "/"), ".cache")
	require.Empty(t, engine(t, "exec", name, "ls", "/tmp"))
}

// The obstacle to an agent in a container's /tmp is told by its right name.
func TestContainersTmp(t *testing.T) {
	needEngine(t)
	for _, x := range []struct {
		user, mode string
		message    string // "": it takes the agent
	}{
		{"0", "0755", ""},
		{"nobody", "0755", "/tmp: we may not write there"},
		{"0", "0777", "/tmp: others may remove files there"},
		{"nobody", "0777", "/tmp: others may remove files there"},
	} {
		name := containerName()
		container(t, name, "--user", x.user, "--env", "HOME=", "--read-only", "--tmpfs", "/tmp:exec", cluster.NodeImage, "sleep", "infinity")
		engine(t, "exec", "--user", "0", name, "chmod", x.mode, "/tmp")
		r := local(t, "", "--bootstrap", "docker", "-H", name, "echo", "ok")
		if x.message == "" {
			require.Equal(t, "ok\n", r.stdout, r.stderr)
			continue
		}
		require.Equal(t, 125, r.code, r.stdout)
		require.Contains(t, r.stderr, x.message)
	}
}
