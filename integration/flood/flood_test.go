package flood

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/integration/programs"
	"github.com/golaunch/golaunch/internal/unix"
)

const (
	crowd = 10000
	// wait is the delay of an honest process beside a crowd at most: the kernel sends
	// packets that found a full queue again, a second later.
	wait = 2500 * time.Millisecond
	// cost bounds the processor time that golaunch takes for a stranger. It is about 25 us
	// (docs/security.md); the rest is room for a machine that is busy.
	cost = 100 * time.Microsecond
	// tries are the measurements of which one has to be within the bounds: others of this
	// machine may have been in the way of the rest.
	tries = 5
	// limit bounds every other wait.
	limit = time.Minute
	// strangerWord makes the test binary a crowd of another user: strangerWord ADDRESS HOLD.
	strangerWord = "flood-test-stranger"
)

// built holds golaunch and native programs.
var built string

func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == strangerWord {
		if err := strangers(os.Args[2], os.Args[3] == "true"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	var err error
	if built, err = programs.Make(); err != nil {
		fmt.Fprintln(os.Stderr, "flood: build what the tests run:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(built)
	os.Exit(code)
}

// strangers makes the connections of another user. It reports the first, and then all.
// Those that it holds stay, and say nothing, until standard input ends; else each is
// closed at once.
func strangers(address string, hold bool) error {
	if _, err := unix.RaiseNoFile(crowd + 100); err != nil {
		return err
	}
	if err := syscall.Setuid(65534); err != nil {
		return err
	}
	d := net.Dialer{Timeout: limit}
	var held []net.Conn
	for i := range crowd {
		c, err := d.Dial("tcp", address)
		if err != nil {
			return fmt.Errorf("stranger %d: %w", i, err)
		}
		if i == 0 {
			fmt.Println("first")
		}
		if hold {
			held = append(held, c)
		} else {
			c.Close()
		}
	}
	fmt.Println("all")
	_, _ = bufio.NewReader(os.Stdin).ReadByte() // it ends
	for _, c := range held {
		c.Close()
	}
	return nil
}

// call has strangers call, and returns when the first has. awaitAll waits for the last.
func call(t *testing.T, address string, hold bool) (awaitAll func()) {
	cmd := exec.Command(os.Args[0], strangerWord, address, strconv.FormatBool(hold))
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait() // its output was read
	})
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan(), "no stranger got through")
	return func() { require.True(t, lines.Scan(), "not all strangers got through") }
}

// place is something of golaunch's that listens, and honest ones who are to call.
type place struct {
	t       *testing.T
	cmd     *exec.Cmd
	address string
	output  *bufio.Scanner
	errs    strings.Builder
	honest  func() // has them call, and waits until they were served
}

// start runs golaunch until the test ends, and finds its address in its output.
func start(t *testing.T, env []string, at string, args ...string) *place {
	p := &place{t: t, cmd: exec.Command(filepath.Join(built, "golaunch"), args...)}
	p.cmd.Env = append(os.Environ(), env...)
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.cmd.Stderr = &p.errs
	if args[0] == "topo" {
		p.cmd.Stderr = nil
		out, err = p.cmd.StderrPipe()
		require.NoError(t, err)
	}
	require.NoError(t, p.cmd.Start())
	late := time.AfterFunc(3*limit, func() { _ = p.cmd.Process.Signal(syscall.SIGTERM) })
	t.Cleanup(func() {
		late.Stop()
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			_ = p.cmd.Wait()
		}
	})
	p.output = bufio.NewScanner(out)
	for found := regexp.MustCompile(at); p.address == ""; {
		require.True(t, p.output.Scan(), "golaunch has ended: %s", &p.errs)
		if m := found.FindStringSubmatch(p.output.Text()); m != nil {
			p.address = m[1]
		}
	}
	return p
}

// job runs two ranks that call at a port when they are let go, and end.
func job(t *testing.T, flag, variable, client string) *place {
	gate := filepath.Join(t.TempDir(), "gate")
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	p := start(t, nil, `at .*?(127\.0\.0\.1:\d+)`, "-n", "2", flag, "sh", "-c",
		"echo at "+variable+"; read go < "+gate+"; exec "+filepath.Join(built, client))
	p.honest = func() { p.open(gate) }
	return p
}

// open opens a gate, and waits for the end of the job.
func (p *place) open(gate string) {
	f, err := os.OpenFile(gate, os.O_RDWR, 0) // waits for no reader
	require.NoError(p.t, err)
	defer f.Close()
	_, err = f.WriteString("go\ngo\ngo\ngo\n")
	require.NoError(p.t, err)
	for p.output.Scan() {
	}
	require.NoError(p.t, p.cmd.Wait(), "%s", &p.errs)
}

// srun stands for Slurm's: it prints the address that agents are to call, and starts
// them when the gate is open.
const srun = `#!/bin/sh
[ "$1" != --help ] || { echo --overlap; exit; }
while [ "$1" != -- ]; do shift; done
shift
read -r secret
for word in "$@"; do [ "$last" != --dial ] || echo "$word" > WHERE; last=$word; done
read go < GATE
for h in 127.0.0.2 127.0.0.3; do
	printf '%s\n' "$secret" | SLURMD_NODENAME=$h "$@" &
done
wait
`

// bulk is a job whose agents call golaunch when they are let go.
func bulk(t *testing.T) *place {
	dir := t.TempDir()
	gate := filepath.Join(dir, "gate")
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	addresses := filepath.Join(dir, "where")
	require.NoError(t, syscall.Mkfifo(addresses, 0o600))
	script := strings.NewReplacer("GATE", gate, "WHERE", addresses).Replace(srun)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "srun"), []byte(script), 0o755))
	p := &place{t: t, cmd: exec.Command(filepath.Join(built, "golaunch"), "-n", "2", "--bootstrap", "slurm", "-H", "127.0.0.2,127.0.0.3", "echo", "up")}
	p.cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"),
		"SLURM_JOB_ID=1", "SLURM_JOB_NODELIST=127.0.0.2,127.0.0.3", "SLURM_TASKS_PER_NODE=1(x2)")
	out, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.cmd.Stderr = &p.errs
	require.NoError(t, p.cmd.Start())
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Signal(syscall.SIGTERM)
			_ = p.cmd.Wait()
		}
	})
	at, err := os.ReadFile(addresses) // when srun says it
	require.NoError(t, err)
	p.address = strings.TrimSpace(string(at))
	p.output = bufio.NewScanner(out)
	p.honest = func() { p.open(gate) }
	return p
}

// service is golaunch topo serve.
func service(t *testing.T) *place {
	const fabric = "../../network/topology/ibnet/testdata/pgft_16.opensm-"
	p := start(t, nil, ` at (127\.0\.0\.1:\d+)`, "topo", "serve", "--socket", "127.0.0.1:0", "--topology", fabric+"subnet.lst", "--tables", fabric+"lfts.dump")
	p.honest = func() {
		c, err := net.DialTimeout("tcp", p.address, limit)
		require.NoError(t, err)
		defer c.Close()
		_, err = fmt.Fprintln(c, "depth")
		require.NoError(t, err)
		answer, err := bufio.NewReader(c).ReadString('\n')
		require.NoError(t, err)
		require.Equal(t, "depth 2\n", answer)
	}
	return p
}

// used is the processor time that golaunch and its agents have used, without ranks: those of
// its processes that have its name.
func (p *place) used() (total time.Duration) {
	tree := map[int]bool{p.cmd.Process.Pid: true}
	for grew := true; grew; {
		grew = false
		stats, err := filepath.Glob("/proc/[0-9]*/stat")
		require.NoError(p.t, err)
		for _, name := range stats {
			pid, parent, _ := stat(name)
			if pid > 0 && tree[parent] && !tree[pid] {
				tree[pid], grew = true, true
			}
		}
	}
	for pid := range tree {
		if exe, _ := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); strings.HasPrefix(exe, "/bin") || strings.HasPrefix(exe, "/usr/bin") {
			continue
		}
		_, _, used := stat(fmt.Sprintf("/proc/%d/stat", pid))
		total += used
	}
	return total
}

// stat reads a process's line: of one that has ended everything is 0.
func stat(name string) (pid, parent int, used time.Duration) {
	b, _ := os.ReadFile(name)
	head, rest, _ := strings.Cut(string(b), " (")
	f := strings.Fields(rest[strings.LastIndex(rest, ")")+1:])
	if len(f) < 13 {
		return 0, 0, 0
	}
	number := func(s string) int {
		n, _ := strconv.Atoi(s)
		return n
	}
	const tick = 10 * time.Millisecond
	return number(head), number(f[1]), time.Duration(number(f[11])+number(f[12])) * tick
}

// Another user calls ten thousand times, wherever golaunch listens: it takes honest processes
// no longer than the bound, while he calls and when he has called; nothing stays of callers that
// have gone.
func TestNobodyIsFloodedOut(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("skipped: only root can act as another user")
	}
	client := func(flag, variable, program string) func(*testing.T) *place {
		return func(t *testing.T) *place {
			if _, err := os.Stat(filepath.Join(built, program)); err != nil {
				t.Skipf("skipped: %s was not built: a compiler or libpmix-dev is missing", program)
			}
			return job(t, flag, variable, program)
		}
	}
	for name, open := range map[string]func(*testing.T) *place{
		"PMI port":    client("--pmi-port", "$PMI_PORT", "pmiclient"),
		"PMGR":        client("--pmgr", "127.0.0.1:$MPIRUN_PORT", "pmgrclient"),
		"PMIx helper": client("--pmix", "$PMIX_SERVER_URI2", "pmixclient"),
		"topo serve":  service,
		"agents call": bulk,
	} {
		t.Run(name, func(t *testing.T) {
			timed := func(p *place) time.Duration {
				began := time.Now()
				p.honest()
				return time.Since(began)
			}
			for _, hold := range []bool{true, false} {
				within := false
				for try := 0; try < tries && !within; try++ {
					t.Run(fmt.Sprintf("held %v, try %d", hold, try), func(t *testing.T) {
						calm := timed(open(t))
						p := open(t)
						all := call(t, p.address, hold)
						during := timed(p)
						if name == "topo serve" { // it goes on
							all()
						}
						p = open(t)
						before := p.used()
						call(t, p.address, hold)()
						used := (p.used() - before) / crowd
						after := timed(p)
						t.Logf("calm %v, while strangers call %v, after that %v; %v a stranger", calm, during, after, used)
						within = max(during, after) < 2*calm+wait && used < cost
					})
				}
				require.True(t, within, "strangers (held: %v) hold up honest processes, or cost too much", hold)
			}
		})
	}
}
