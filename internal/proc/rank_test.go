package proc

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/unix"
)

func TestRankEnds(t *testing.T) {
	tests := []struct {
		script string
		want   syscall.WaitStatus
	}{
		{"exit 0", exitStatus(0)},
		{"exit 3", exitStatus(3)},
		{"exit 255", exitStatus(255)},
		{"kill -KILL $$", syscall.WaitStatus(syscall.SIGKILL)},
		{"kill -TERM $$", syscall.WaitStatus(syscall.SIGTERM)},
	}
	f := begin(t, Options{})
	var s Spec
	var ranks []Child
	for i, tt := range tests {
		s.Apps = append(s.Apps, App{Argv: []string{"/bin/sh", "-c", tt.script}})
		ranks = append(ranks, Child{World: 7, Rank: job.Rank(i), App: i})
	}
	require.NoError(t, f.Launch(s, ranks))
	f.ends(len(tests))
	for i, tt := range tests {
		e := f.exited[job.Rank(i)]
		assert.Equal(t, tt.want, e.Status, tt.script)
		assert.Equal(t, 7, e.World)
		assert.Positive(t, e.Usage.MaxRSS)
	}
	f.finishes()
}

func TestStartFails(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), mode))
	}
	write("plain", "#!/bin/sh\n", 0o644)
	write("garbage", "\x01\x02\x03", 0o755)
	write("lost", "#! /no/such/interpreter -x\n", 0o755)
	write("dos", "#!/bin/sh\r\necho\r\n", 0o755)
	write("ok", "#!/bin/sh\nexit 0\n", 0o755)
	require.NoError(t, os.Symlink("circle", filepath.Join(dir, "circle")))
	path := "PATH=" + dir + ":/usr/bin:/bin"
	tests := []struct {
		name string
		app  App
		code int
		text string
	}{
		{"of the working directory", App{Argv: []string{"ok"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir}, 127, "program not found: ok; did you mean ./ok?"},
		{"of the working directory, not executable", App{Argv: []string{"plain"}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: dir}, 127, "program not found: plain; did you mean ./plain? It is not executable: chmod +x plain"},
		{"a line of the shell", App{Argv: []string{"echo '$X'"}}, 127, `program not found: echo '$X'; for a line of the shell use sh -c 'echo '\''$X'\'''`},
		{"a path and arguments", App{Argv: []string{"./ok -v"}, Dir: dir}, 127, "program not found: ./ok -v; for a line of the shell use sh -c './ok -v'"},
		{"not in PATH", App{Argv: []string{"no-such-program"}}, 127, "program not found: no-such-program is in none of the 3 directories of PATH (-v names them); give"},
		{"no such file", App{Argv: []string{"/no/such"}}, 127, "program not found: /no/such"},
		{"below a file", App{Argv: []string{dir + "/ok/x"}}, 127, "program not found"},
		{"mode", App{Argv: []string{dir + "/plain"}}, 126, "program not executable: " + dir + "/plain: permission denied"},
		{"mode, by PATH", App{Argv: []string{"plain"}}, 126, "program not executable: plain"},
		{"directory", App{Argv: []string{dir}}, 126, "is a directory"},
		{"format", App{Argv: []string{"garbage"}}, 126, "another architecture"},
		{"interpreter", App{Argv: []string{"lost"}}, 126, "lost: its interpreter /no/such/interpreter (#! line) is missing on this host"},
		{"interpreter of DOS", App{Argv: []string{"dos"}}, 126, `its #! line ends with a carriage return, so that its interpreter is "/bin/sh\r"`},
		{"arguments", App{Argv: []string{"ok", strings.Repeat("x", 1<<20)}}, 126, "too long"},
		{"directory given", App{Argv: []string{"ok"}, Dir: "/no/dir", DirGiven: true}, 127, "working directory /no/dir: no such file or directory"},
		{"directory is a file", App{Argv: []string{"ok"}, Dir: dir + "/ok", DirGiven: true}, 126, "not a directory"},
		{"directory in a circle", App{Argv: []string{"ok"}, Dir: dir + "/circle", DirGiven: true}, 126, "too many levels of symbolic links"},
	}
	f := begin(t, Options{})
	s := Spec{Env: []string{path}}
	ranks := make([]Child, len(tests)+1)
	for i, tt := range tests {
		s.Apps = append(s.Apps, tt.app)
		ranks[i] = Child{Rank: job.Rank(i), App: i}
	}
	s.Apps = append(s.Apps, App{Argv: []string{"ok"}})
	last := job.Rank(len(tests))
	ranks[last] = Child{Rank: last, App: len(tests)}
	require.NoError(t, f.Launch(s, ranks))
	f.ends(len(ranks))
	for i, tt := range tests {
		e, ok := f.failed[job.Rank(i)]
		if assert.True(t, ok, tt.name) {
			assert.Equal(t, tt.code, e.Code, tt.name)
			assert.Contains(t, e.Text, tt.text, tt.name)
			assert.False(t, e.Provoked)
		}
	}
	assert.Contains(t, f.exited, last, "failures of others must not matter")
	f.finishes()
}

func TestLaunchRefuses(t *testing.T) {
	ok := App{Argv: []string{"/bin/true"}}
	tests := []struct {
		name  string
		spec  Spec
		ranks []Child
		text  string
	}{
		{"no program", Spec{Apps: []App{{}}}, nil, "app 0: no program"},
		{"empty program", Spec{Apps: []App{{Argv: []string{""}}}}, nil, "app 0: no program"},
		{"no app", Spec{}, []Child{{Rank: 4}}, "rank 4: app 0 of 0"},
		{"negative app", Spec{Apps: []App{ok}}, []Child{{Rank: 4, App: -1}}, "rank 4: app -1 of 1"},
		{"zero byte", Spec{Apps: []App{ok}, Env: []string{"A=\x00"}}, nil, "environment"},
		{"zero byte in argument", Spec{Apps: []App{{Argv: []string{"a", "\x00"}}}}, nil, "arguments"},
		{"zero byte of a rank", Spec{Apps: []App{ok}}, []Child{{Env: []string{"\x00"}}}, "rank 0: environment"},
		{"umask", Spec{Apps: []App{ok}, Umask: 0o1000}, nil, "umask"},
		{"limit", Spec{Apps: []App{ok}, Rlimits: []Rlimit{{Resource: 99}}}, nil, "resource 99"},
		{"limits crossed", Spec{Apps: []App{ok}, Rlimits: []Rlimit{{Resource: syscall.RLIMIT_NOFILE, Cur: 2, Max: 1}}}, nil, "nofile"},
	}
	f := begin(t, Options{})
	for _, tt := range tests {
		assert.ErrorContains(t, f.Launch(tt.spec, tt.ranks), tt.text, tt.name)
	}
	assert.Error(t, f.Signal(0))
	assert.Error(t, f.Signal(65))
	f.finishes()
}

func TestDirectory(t *testing.T) {
	wd, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(dir+"/bin", 0o755))
	require.NoError(t, os.WriteFile(dir+"/bin/prog", []byte("#!/bin/sh\necho $PWD $(pwd -P)\n"), 0o755))
	tests := []struct {
		name string
		app  App
		want string
		note string
	}{
		{"own", App{Argv: []string{"/bin/sh", "-c", "pwd -P"}}, wd, ""},
		{"given", App{Argv: []string{"bin/prog"}, Dir: dir, DirGiven: true}, dir + " " + dir, ""},
		{"PATH is relative to it", App{Argv: []string{"prog"}, Dir: dir, Env: []string{"PATH=bin:/bin"}}, dir + " " + dir, ""},
		{"empty PATH entry", App{Argv: []string{"prog"}, Dir: dir + "/bin", Env: []string{"PATH=/bin:"}}, dir + "/bin " + dir + "/bin", ""},
		{"Path comes first", App{Argv: []string{"prog"}, Dir: "/", Path: "/nowhere:" + dir + "/bin", Env: []string{"PATH=/bin"}}, "/ /", ""},
		{"relative", App{Argv: []string{"pwd"}, Dir: "testdata"}, wd + "/testdata", ""},
		{"missing", App{Argv: []string{"pwd"}, Dir: "/no/dir", Env: []string{"HOME=" + dir}}, dir, "working directory /no/dir: no such file or directory; ranks run in " + dir},
		{"home missing", App{Argv: []string{"pwd"}, Dir: "/no/dir", Env: []string{"HOME=/no/home"}}, "/", "ranks run in / instead"},
		{"own again", App{Argv: []string{"pwd"}}, wd, ""},
	}
	f := begin(t, Options{})
	s := Spec{Env: []string{"PATH=/usr/bin:/bin", "PWD=/stale"}}
	var ranks []Child
	for i, tt := range tests {
		s.Apps = append(s.Apps, tt.app)
		// Two of each, apps in turn.
		ranks = append(ranks, Child{Rank: job.Rank(2 * i), App: i}, Child{Rank: job.Rank(2*i + 1), App: i})
	}
	require.NoError(t, f.Launch(s, ranks))
	f.ends(len(ranks))
	notes := 0
	for i, tt := range tests {
		assert.Equal(t, tt.want+"\n", f.output(job.Rank(2*i)), tt.name)
		assert.Equal(t, tt.want+"\n", f.output(job.Rank(2*i+1)), tt.name)
		if tt.note != "" {
			notes++
			assert.Contains(t, strings.Join(f.notes, "\n"), tt.note)
		}
	}
	assert.Len(t, f.notes, notes, "one for each app, not for each rank")
	f.finishes()
}

func TestUmaskAndLimits(t *testing.T) {
	f := begin(t, Options{})
	app := []App{{Argv: []string{"/bin/sh", "-c", "umask; ulimit -Sn; ulimit -Hn; ulimit -Sc; ulimit -Hc"}}}
	limit := func(resource int, cur, most uint64) Rlimit { return Rlimit{Resource: resource, Cur: cur, Max: most} }
	f.launchSpec(Spec{Umask: 0o027, Apps: app, Rlimits: []Rlimit{
		limit(syscall.RLIMIT_NOFILE, 321, 4321), limit(syscall.RLIMIT_CORE, 0, 0),
	}}, 2)
	f.ends(2)
	assert.Equal(t, "0027\n321\n4321\n0\n0\n", f.output(0))
	assert.Equal(t, "0027\n321\n4321\n0\n0\n", f.output(1))
	assert.Empty(t, f.notes)
	f.finishes()
}

// Ranks get the launcher's own limits, as read by Rlimits.
func TestLimitsRoundTrip(t *testing.T) {
	limits, err := unix.Rlimits()
	require.NoError(t, err)
	f := begin(t, Options{})
	f.launchSpec(Spec{Apps: []App{{Argv: []string{"/bin/cat", "/proc/self/limits"}}}, Rlimits: limits}, 1)
	f.ends(1)
	text := f.output(0)
	assert.Empty(t, f.notes)
	for _, l := range limits {
		if l.Resource == syscall.RLIMIT_NOFILE {
			assert.Regexp(t, fmt.Sprintf(`Max open files +%d +%d`, l.Cur, l.Max), text)
		}
	}
	f.finishes()
}

// A small soft limit of open files, which the warden has to live with as well.
func TestFewDescriptors(t *testing.T) {
	f := begin(t, Options{})
	limits := []Rlimit{{Resource: syscall.RLIMIT_NOFILE, Cur: 32, Max: 1024}}
	f.launchSpec(Spec{Apps: []App{{Argv: []string{"/bin/true"}}}, Rlimits: limits}, 100)
	f.ends(100)
	assert.Empty(t, f.failed)
	f.finishes()

	f = begin(t, Options{})
	limits[0].Cur = 8
	f.launchSpec(Spec{Apps: []App{{Argv: []string{"/bin/true"}}}, Rlimits: limits}, 2)
	f.ends(2)
	require.Len(t, f.failed, 2)
	assert.Equal(t, job.ExitLauncher, f.failed[0].Code)
	assert.Contains(t, f.failed[0].Text, "open files")
	f.finishes()
}

func TestStdin(t *testing.T) {
	f := begin(t, Options{})
	s := Spec{Apps: []App{{Argv: []string{"/bin/sh", "-c", "readlink /proc/self/fd/0; cat"}}}}
	require.NoError(t, f.Launch(s, []Child{{Rank: 0, StdinPipe: true}, {Rank: 1}}))
	f.until("start", func() bool { return len(f.started) == 2 })
	require.NotNil(t, f.stdin[0])
	require.Nil(t, f.stdin[1])
	_, err := f.stdin[0].WriteString("hello\n")
	require.NoError(t, err)
	require.NoError(t, f.stdin[0].Close())
	f.stdin[0] = nil
	f.ends(2)
	assert.Regexp(t, `^pipe:\[\d+\]\nhello\n$`, f.output(0))
	assert.Equal(t, "/dev/null\n", f.output(1))
	f.finishes()
}

func TestOnlyFourDescriptors(t *testing.T) {
	f := begin(t, Options{})
	f.launch(40, "/bin/ls", "/proc/self/fd")
	f.ends(40)
	for r := range 40 {
		// 3 is the directory that ls reads.
		assert.Equal(t, "0\n1\n1008\n2\n3\n", f.output(job.Rank(r)))
	}
	f.finishes()
}

func TestOwnSession(t *testing.T) {
	f := begin(t, Options{})
	f.launch(2, "/bin/cat", "/proc/self/stat")
	f.ends(2)
	for r := range job.Rank(2) {
		p, ok := parseStat([]byte(f.output(r)))
		require.True(t, ok)
		assert.Equal(t, f.started[r].PID, p.pid)
		assert.Equal(t, p.pid, p.group)
		assert.Equal(t, p.pid, p.session)
		assert.Equal(t, f.PID(), p.parent)
	}
	f.finishes()
}

func TestEnvironment(t *testing.T) {
	f := begin(t, Options{JobID: "env-1"})
	s := Spec{
		Env:  []string{"PATH=/nowhere", "A=1", "B=1", "C=1", "A=2", "GOLAUNCH_JOB=other"},
		Apps: []App{{Argv: []string{"env"}, Env: []string{"B=2", "C=2"}}},
	}
	require.NoError(t, f.Launch(s, []Child{
		{Rank: 0, Env: []string{"PATH=/usr/bin:/bin", "C=3", "D=3", "D=4"}},
		{Rank: 1, Env: []string{"D=5"}},
	}))
	f.ends(2)
	wd, err := os.Getwd()
	require.NoError(t, err)
	assert.Equal(t, []string{"GOLAUNCH_JOB=env-1.1", "PATH=/usr/bin:/bin", "A=2", "B=2", "C=3", "PWD=" + wd, "D=4", ""},
		strings.Split(f.output(0), "\n"))
	assert.Equal(t, 127, f.failed[1].Code, "each rank's own PATH counts")
	f.finishes()
}

// Corner case 18 of PMI: a wrapper that forks and executes the real program, which speaks
// PMI over the inherited descriptor.
func TestCorner18PMIOfGrandchild(t *testing.T) {
	f := begin(t, Options{})
	const script = `bash -c 'read line <&$SOCKET; echo "got $line" >&$SOCKET'; exit 0`
	f.launchSpec(Spec{Env: []string{"PATH=/usr/bin:/bin"}, Apps: []App{{Argv: []string{"/bin/sh", "-c", script}}}, Socket: "SOCKET"}, 1)
	f.until("start", func() bool { return len(f.started) == 1 })
	_, err := f.pmi[0].WriteString("cmd\n")
	require.NoError(t, err)
	buf := make([]byte, 64)
	n, err := f.pmi[0].Read(buf)
	require.NoError(t, err)
	assert.Equal(t, "got cmd\n", string(buf[:n]))
	f.ends(1)
	n, err = f.pmi[0].Read(buf)
	assert.Zero(t, n, "the end of the rank closes its socket")
	assert.Error(t, err)
	f.finishes()
}

func TestManyQuickRanks(t *testing.T) {
	bothWays(t, func(t *testing.T, o Options) {
		before := openFiles(t)
		f := begin(t, o)
		const n = 500 // each event is checked to come once, see step
		f.launch(n, "/bin/true")
		f.ends(n)
		assert.Empty(t, f.failed)
		for r := range job.Rank(n) {
			assert.Equal(t, exitStatus(0), f.exited[r].Status)
		}
		f.finishes()
		f.close()
		// Files that an earlier test left to the collector may be closed by now.
		assert.LessOrEqual(t, openFiles(t), before)
	})
}

// An agent that does not read must lose nothing, and the warden waits for it.
func TestSlowAgent(t *testing.T) {
	f := begin(t, Options{})
	const n = 300
	f.launch(n, "/bin/sh", "-c", "exit 9")
	require.NoError(t, f.Signal(syscall.SIGCONT))
	// All of them have ended or the warden stands still when its children are few.
	require.Eventually(t, func() bool {
		all, err := processes()
		require.NoError(t, err)
		return len(descendants(all, f.PID(), nil)) == 0
	}, patience, 1e6)
	f.ends(n)
	assert.Empty(t, f.failed)
	f.finishes()
}

// Ctrl-C is for the ranks, no matter which signals the agent, or its parent, ignores.
func TestRanksIgnoreNoSignals(t *testing.T) {
	ignored := []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGPIPE, syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}
	signal.Ignore(ignored...)
	defer signal.Reset(ignored...)
	f := begin(t, Options{})
	f.launch(1, "/bin/grep", "-E", "Sig(Ign|Blk)", "/proc/self/status")
	f.ends(1)
	var blocks, ignores uint64
	_, err := fmt.Sscanf(f.output(0), "SigBlk:\t%x\nSigIgn:\t%x\n", &blocks, &ignores)
	require.NoError(t, err)
	// Signals 32 and 33 are the C library's own: make and others have what they start ignore them.
	ignores &^= 3 << 31
	require.Zero(t, blocks)
	require.Zero(t, ignores, "%x", ignores)
	f.finishes()
}

// Ranks that were still to start while the others are stopped start with SIGCONT.
func TestStoppedJobStartsNoRank(t *testing.T) {
	f := begin(t, Options{})
	require.NoError(t, f.Signal(syscall.SIGSTOP))
	require.NoError(t, f.SignalWorld(1, syscall.SIGCONT)) // about another world alone
	f.launch(3, "/bin/true")
	f.answers()
	f.answers() // the launch was taken before the first one: a rank would have been started by now
	require.Empty(t, f.started)
	require.NoError(t, f.Signal(syscall.SIGCONT))
	f.ends(3)
	require.Empty(t, f.failed)

	require.NoError(t, f.Signal(syscall.SIGSTOP))
	require.NoError(t, f.Launch(Spec{Apps: []App{{Argv: []string{"/bin/true"}}}}, []Child{{Rank: 3}}))
	require.NoError(t, f.Kill(0))
	f.ends(4) // the stop is not in the way of the end
	require.True(t, f.failed[3].Provoked)
	f.finishes()
}
