package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParseStat(t *testing.T) {
	rest := " S 7 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 21\n"
	for _, name := range []string{"sleep", "a) b (c", ") Z 1 ("} {
		got, err := parseStat([]byte("12 (" + name + ")" + rest))
		require.NoError(t, err, name)
		assert.Equal(t, stat{'S', 7, 4242}, got, name)
	}
	for _, bad := range []string{"", "12 (x) S 7", "12 x S 7 2 3", "12 (x) S seven" + rest[4:]} {
		_, err := parseStat([]byte(bad))
		assert.ErrorContains(t, err, "process status", bad)
	}
	self, err := readStat(os.Getpid())
	require.NoError(t, err)
	assert.Equal(t, os.Getppid(), self.ppid)
	assert.True(t, self.alive())
}

func TestNodePID(t *testing.T) {
	assert.Equal(t, 31, nodePID([]byte("Name:\tsleep\nNSpid:\t3131\t31\t1\nNSpgid:\t9\n")))
	assert.Zero(t, nodePID([]byte("NSpid:\t3131\n")))
	assert.Zero(t, nodePID(nil))
}

func TestCgroup2Mount(t *testing.T) {
	const v1 = "40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,name=systemd\n"
	for _, test := range []struct{ mountinfo, want string }{
		{"41 31 0:38 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup"},
		{v1 + "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n", "/sys/fs/cgroup/unified"},
		{"41 31 0:38 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup2 rw\n", ""},
		{"41 31 0:38 /part /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n", ""},
		{v1, ""},
		{"nonsense - cgroup2\n", ""},
		{"", ""},
	} {
		assert.Equal(t, test.want, cgroup2Mount(test.mountinfo), test.mountinfo)
	}
}

func TestInterfaceCounters(t *testing.T) {
	const dev = "Inter-|   Receive\n face |bytes\n  n001: 100 11 0 0 0 0 0 0 200 22 0 0 0 0 0 0\n n002:1 2\n n003: 1 x 0 0 0 0 0 0 2 3 0 0 0 0 0 0\n"
	c, err := interfaceCounters(dev, "n001")
	require.NoError(t, err)
	assert.Equal(t, counters{100, 11, 200, 22}, c)
	assert.Equal(t, []string{"n001", "n002", "n003"}, interfaceNames(dev))
	for _, name := range []string{"n002", "n003", "n004", ""} {
		_, err = interfaceCounters(dev, name)
		assert.ErrorContains(t, err, "counters", name)
	}
}

func TestParseVersion(t *testing.T) {
	major, minor, err := parseVersion("unknown option -- V\nOpenSSH_9.2p1 Debian-2, OpenSSL 3.0\nusage: sshd")
	require.NoError(t, err)
	assert.Equal(t, [2]int{9, 2}, [2]int{major, minor})
	_, _, err = parseVersion("dropbear v2022.83")
	assert.ErrorContains(t, err, "not OpenSSH")
}

func TestSSHDConfigOfSplitServer(t *testing.T) {
	n := Node{Name: "n001"}
	old := sshdConfig(&state{Config: Config{Dir: "/c", MaxStartups: "7"}}, &n)
	assert.Contains(t, old, "MaxStartups 7\n")
	assert.NotContains(t, old, "SshdSessionPath")
	split := sshdConfig(&state{Config: Config{Dir: "/c"}, Session: "/usr/lib/openssh/sshd-session"}, &n)
	assert.Contains(t, split, "SshdSessionPath /c/nodes/n001/sshd\n")
}

func TestSSHDConfigOfSessionEnv(t *testing.T) {
	n := Node{Name: "n001"}
	assert.NotContains(t, sshdConfig(&state{Config: Config{Dir: "/c"}}, &n), "SetEnv")
	// sshd takes the first such line, and no other.
	assert.Contains(t, sshdConfig(&state{Config: Config{Dir: "/c", SessionEnv: []string{"A=b c", "D="}}}, &n), "SetEnv \"A=b c\" \"D=\"\n")
}

func validState(t testing.TB) []byte {
	c := Config{Dir: "/c", Nodes: 2}
	require.NoError(t, c.validate())
	s, err := newState(c)
	require.NoError(t, err)
	b, err := json.Marshal(s)
	require.NoError(t, err)
	return b
}

func TestParseState(t *testing.T) {
	good := validState(t)
	s, err := parseState("/c", good)
	require.NoError(t, err)
	assert.Len(t, s.Nodes, 4)

	change := func(f func(*state)) []byte {
		var s state
		require.NoError(t, json.Unmarshal(good, &s))
		f(&s)
		b, err := json.Marshal(s)
		require.NoError(t, err)
		return b
	}
	for _, test := range []struct {
		b   []byte
		err string
	}{
		{nil, "not a cluster's state"},
		{[]byte("{}"), "version 0"},
		{change(func(s *state) { s.Version++ }), "version 2"},
		{change(func(s *state) { s.ID = "../../etc" }), "not one of ours"},
		{change(func(s *state) { s.Config.Dir = "/d" }), `made for directory "/d"`},
		{change(func(s *state) { s.Config.Nodes = -1 }), "want 1 to 256"},
		{change(func(s *state) { s.Nodes = s.Nodes[:1] }), "1 machines, want 4"},
		{change(func(s *state) { s.Nodes[0].Name = "../x" }), "want \"n001\""},
	} {
		_, err := parseState("/c", test.b)
		assert.ErrorContains(t, err, test.err)
	}
}

func FuzzParseState(f *testing.F) {
	f.Add(validState(f))
	f.Add([]byte("{"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseState("/c", b)
		if err != nil {
			return
		}
		// An accepted state can be worked with.
		for _, n := range s.Nodes {
			_ = s.ports()
			_, err := s.node(n.Name)
			require.NoError(t, err)
		}
	})
}

func FuzzProcFiles(f *testing.F) {
	f.Add("12 (x) S 7 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 21\n")
	f.Add("41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
	f.Add(" n001: 100 11 0 0 0 0 0 0 200 22 0 0 0 0 0 0\n")
	f.Add("NSpid:\t1\t2\n")
	f.Fuzz(func(_ *testing.T, s string) { // none may panic
		_, _ = parseStat([]byte(s))
		_ = cgroup2Mount(s)
		_ = freezerMount(s)
		_ = cgroupOfController(s, "memory")
		_, _ = oomKills(s)
		_, _ = interfaceCounters(s, "n001")
		_ = nodePID([]byte(s))
		_, _, _ = parseVersion(s)
	})
}

func TestClaimIsExclusive(t *testing.T) {
	c := Config{Dir: filepath.Join(t.TempDir(), "c"), Nodes: 1}
	require.NoError(t, c.validate())
	first, err := newState(c)
	require.NoError(t, err)
	second, err := newState(c)
	require.NoError(t, err)
	require.NoError(t, first.claim())
	require.ErrorContains(t, second.claim(), "already")
	got, err := loadState(c.Dir)
	require.NoError(t, err)
	assert.Equal(t, first.ID, got.ID)
	entries, err := os.ReadDir(c.Dir)
	require.NoError(t, err)
	require.Len(t, entries, 1)
	st, err := entries[0].Info()
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), st.Mode())
	require.NoError(t, removeFiles(first))
	assert.NoDirExists(t, c.Dir)
}

func TestPoll(t *testing.T) {
	calls := 0
	require.NoError(t, poll(context.Background(), func() error {
		if calls++; calls < 3 {
			return retry(errors.New("not yet"))
		}
		return nil
	}))
	assert.Equal(t, 3, calls)
	fatal := errors.New("fatal")
	assert.ErrorIs(t, poll(context.Background(), func() error { return fatal }), fatal)
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	err := poll(ctx, func() error { return retry(errors.New("never")) })
	assert.ErrorContains(t, err, "never")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestComposeProject(t *testing.T) {
	c := Config{Dir: "/c", Nodes: 1, Provider: Docker, Share: []string{"/tmp/x"}}
	require.NoError(t, c.validate())
	s := &state{Config: c, Subnets: [2]byte{40, 41}, Nodes: planNodes(c, [2]byte{40, 41}), Workdir: "/src"}
	b, err := composeProject(s, func(n *Node) string { return "p-" + n.Name })
	require.NoError(t, err)
	var spec composeSpec
	require.NoError(t, json.Unmarshal(b, &spec))
	assert.Equal(t, map[string]composeNetwork{
		"cluster": {true, composeIPAM{[]composeSubnet{{"10.40.0.0/16"}}}},
		"ext":     {true, composeIPAM{[]composeSubnet{{"10.41.0.0/24"}}}},
	}, spec.Networks)
	assert.Equal(t, map[string]composeJoint{"cluster": {"10.40.0.2"}, "ext": {"10.41.0.2"}}, spec.Services[Head].Networks)
	n1 := spec.Services["n001"]
	assert.Equal(t, map[string]composeJoint{"cluster": {"10.40.1.1"}}, n1.Networks)
	assert.Contains(t, n1.Volumes, "/c/nodes/n001:/c/nodes/n001")
	assert.Contains(t, n1.Volumes, "/src:/src")
	assert.Contains(t, n1.Volumes, "/tmp/x:/tmp/x")
	assert.NotContains(t, n1.Volumes, "/c:/c", "the key is there")
}

func TestCPUUsage(t *testing.T) {
	got, err := cpuUsage("usage_usec 1500\nuser_usec 1000\nsystem_usec 500\n")
	require.NoError(t, err)
	require.Equal(t, 1500*time.Microsecond, got)
	for _, bad := range []string{"", "user_usec 1\n", "usage_usec x\n"} {
		_, err := cpuUsage(bad)
		require.Error(t, err, "%q", bad)
	}
}
