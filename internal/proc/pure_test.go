package proc

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"

	"github.com/golaunch/golaunch/internal/cgroups"
	"github.com/golaunch/golaunch/internal/unix"
)

// The oracle for environments: apply all assignments to a list, one by one.
func TestEnvironProperty(t *testing.T) {
	variable := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"A", "B", "C", "=C", "LONG", ""}).Draw(t, "name") +
			rapid.SampledFrom([]string{"", "=", "=x", "=A=B"}).Draw(t, "value")
	})
	list := rapid.SliceOfN(variable, 0, 12)
	rapid.Check(t, func(t *rapid.T) {
		common, app, own := list.Draw(t, "common"), list.Draw(t, "app"), list.Draw(t, "own")
		var want []string
		for _, v := range slices.Concat(common, app, own) {
			i := slices.IndexFunc(want, func(w string) bool { return varName(w) == varName(v) })
			if i < 0 {
				want = append(want, v)
			} else {
				want[i] = v
			}
		}
		base := newEnviron(common, app)
		before := slices.Clone(base.vars)
		got := base.with([]string{"kept=1"}, own)
		assert.Equal(t, append([]string{"kept=1"}, want...), got)
		assert.Equal(t, before, base.vars)
	})
}

func TestLookup(t *testing.T) {
	vars := []string{"PATH=a", "PATHS=b", "PATH=c=d", "EMPTY=", "NOVALUE", ""}
	for name, want := range map[string]string{"PATH": "c=d", "PATHS": "b", "EMPTY": ""} {
		got, ok := lookup(vars, name)
		assert.True(t, ok, name)
		assert.Equal(t, want, got, name)
	}
	for _, name := range []string{"PAT", "X", "NOVALUE", ""} {
		_, ok := lookup(vars, name)
		assert.False(t, ok, name)
	}
}

func TestHasVariableProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vars := rapid.SliceOf(rapid.StringMatching(`[A-C=]{0,4}`)).Draw(t, "vars")
		want := rapid.StringMatching(`[A-C]=[A-C]{0,2}`).Draw(t, "want")
		filler := strings.Repeat("x", rapid.IntRange(0, 40000).Draw(t, "filler"))
		all := slices.Concat([]string{filler}, vars)
		text := strings.Join(all, "\x00") + "\x00"
		var r io.Reader = strings.NewReader(text)
		if rapid.Bool().Draw(t, "unterminated") {
			r = strings.NewReader(strings.TrimSuffix(text, "\x00"))
		}
		if rapid.Bool().Draw(t, "piecemeal") {
			r = iotest.HalfReader(r)
		}
		assert.Equal(t, slices.Contains(all, want), hasVariable(r, want))
	})
}

func TestWireRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a assembler
		for range rapid.IntRange(1, 3).Draw(t, "messages") {
			want := Spec{Umask: 0o22, Env: []string{strings.Repeat("x", rapid.IntRange(0, 100_000).Draw(t, "size"))}}
			packets, err := encode(msgSpec, want.fields)
			require.NoError(t, err)
			for i, p := range packets {
				assert.LessOrEqual(t, len(p), packetSize)
				kind, body, err := a.add(p)
				require.NoError(t, err)
				if i < len(packets)-1 {
					require.Zero(t, kind)
					continue
				}
				require.Equal(t, msgSpec, kind)
				var got Spec
				require.NoError(t, decode(kind, body, got.fields))
				assert.Equal(t, want, got)
			}
		}
	})
}

// Any batch of events that the outbox makes fits one packet.
func TestEventsFitPacket(t *testing.T) {
	o := outbox{sock: -1}
	for range batchEvents {
		o.add(wireEvent{Kind: evStartFailed, World: 1 << 40, Rank: 1 << 40, PID: 1 << 40, Code: 1 << 40,
			Text: strings.Repeat("x", 2*textMax), User: 1 << 60, System: 1 << 60, MaxRSS: 1 << 60, At: 1 << 62, Clock: 1 << 62})
	}
	require.Len(t, o.queue, 1)
	assert.LessOrEqual(t, len(o.queue[0].data), packetSize)
}

func TestMalformedPackets(t *testing.T) {
	for name, packets := range map[string][]string{
		"empty":        {""},
		"short":        {"\x01"},
		"flag":         {"\x01\x02"},
		"kind 0":       {"\x00\x00"},
		"unknown kind": {"\xff\x00"},
		"interleaved":  {"\x01\x01a", "\x02\x00b"},
	} {
		var a assembler
		var err error
		for _, p := range packets {
			require.NoError(t, err, name)
			_, _, err = a.add([]byte(p))
		}
		assert.Error(t, err, name)
	}
	var a assembler
	piece := append([]byte{byte(msgSpec), 1}, make([]byte, 8<<20)...)
	var err error
	for range maxMessage/(8<<20) + 1 {
		_, _, err = a.add(piece)
	}
	assert.ErrorContains(t, err, "over the limit")
	assert.LessOrEqual(t, len(a.partial), maxMessage)
}

func TestParseStat(t *testing.T) {
	const rest = " -1 0 0 0 0 0 0 0 0 0 20 0 "
	tests := []struct {
		text string
		want process
		ok   bool
	}{
		{"7 (a) S 1 2 3 4" + rest + "1 0 99", process{pid: 7, parent: 1, group: 2, session: 3, name: "a", state: 'S'}, true},
		{"7 (a) b) (c) Z 1 2 3 4" + rest + "1 0", process{pid: 7, parent: 1, group: 2, session: 3, dead: true, name: "a) b) (c", state: 'Z'}, true},
		{"7 (threads live) Z 1 2 3 4" + rest + "2 0", process{pid: 7, parent: 1, group: 2, session: 3, name: "threads live", state: 'Z'}, true},
		{"7 (a) X 1 2 3 4" + rest + "0 0", process{pid: 7, parent: 1, group: 2, session: 3, dead: true, name: "a", state: 'X'}, true},
		{"7 (a) R 1 2 3 4 -1 4194308 0 0 0 0 0 0 0 0 20 0 1 0", process{pid: 7, parent: 1, group: 2, session: 3, ending: true, name: "a", state: 'R'}, true},
		{"7 (a) R 1 2 3 4 -1 0 0 0 0 0 150 25 9 9 20 0 1 0", process{pid: 7, parent: 1, group: 2, session: 3, name: "a", state: 'R', used: 1750 * time.Millisecond}, true},
		{"7 (a) R 1 2 3 4 -1 0 0 0 0 0 x 25 9 9 20 0 1 0", process{}, false},
		{"", process{}, false},
		{"7 (a) S 1 2 3", process{}, false},
		{"x (a) S 1 2 3 4" + rest + "1 0", process{}, false},
		{"7 )a( S 1 2 3 4" + rest + "1 0", process{}, false},
	}
	for _, tt := range tests {
		got, ok := parseStat([]byte(tt.text))
		assert.Equal(t, tt.ok, ok, tt.text)
		if ok {
			assert.Equal(t, tt.want, got, tt.text)
		}
	}
	b, err := os.ReadFile("/proc/self/stat")
	require.NoError(t, err)
	p, ok := parseStat(b)
	require.True(t, ok)
	assert.Equal(t, os.Getpid(), p.pid)
	assert.Equal(t, os.Getppid(), p.parent)
	assert.Equal(t, unix.Session(), p.session)
}

// Of a process below another, in its session or out of it, that one is found.
func TestLeader(t *testing.T) {
	of := func(pids ...int) func(int) bool { return func(pid int) bool { return slices.Contains(pids, pid) } }
	me := os.Getpid()
	cmd := exec.Command("sh", "-c", `setsid sh -c 'sh -c "echo \$\$; exec sleep 1000"; :' & wait`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var below int
	_, err = fmt.Fscan(stdout, &below)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = syscall.Kill(below, syscall.SIGKILL)
		_ = cmd.Wait()
	})
	require.Equal(t, cmd.Process.Pid, Leader(below, of(cmd.Process.Pid)))
	require.Equal(t, cmd.Process.Pid, Leader(cmd.Process.Pid, of(cmd.Process.Pid, me)), "the nearest")
	require.Equal(t, me, Leader(below, of(me)))
	require.Zero(t, Leader(below, of()))
	require.Zero(t, Leader(me, of(below)))
	require.Zero(t, Leader(0, of(1)), "a process that cannot be seen")
	require.Zero(t, Leader(1<<30, of(me)))
}

func TestDescendants(t *testing.T) {
	all := []process{{pid: 1}, {pid: 2, parent: 1}, {pid: 3, parent: 2}, {pid: 4, parent: 3}, {pid: 5, parent: 2}, {pid: 6, parent: 1},
		{pid: 8, parent: 9}, {pid: 9, parent: 8}} // a cycle, by reuse of a pid
	assert.Equal(t, map[int]bool{3: true, 4: true, 5: true}, descendants(all, 2, nil))
	assert.Equal(t, map[int]bool{5: true}, descendants(all, 2, func(pid int) bool { return pid == 3 }))
	assert.Equal(t, map[int]bool{9: true}, descendants(all, 8, nil))
	assert.Empty(t, descendants(all, 6, nil))
}

func TestJobID(t *testing.T) {
	for _, id := range []string{"a", "0af9", "job-1_x.y", strings.Repeat("x", 64)} {
		assert.NoError(t, checkJobID(id))
	}
	for _, id := range []string{"", "a b", "a/b", "a=b", "a\x00", "ä", strings.Repeat("x", 65)} {
		assert.Error(t, checkJobID(id), id)
	}
}

func FuzzPackets(f *testing.F) {
	f.Add([]byte("\x01\x00"), []byte("\x01\x00"))
	f.Add([]byte("\x01\x01ab"), []byte("\x01\x00c"))
	f.Fuzz(func(t *testing.T, p, q []byte) {
		var a assembler
		for _, packet := range [][]byte{p, q} {
			kind, body, err := a.add(packet)
			if err != nil {
				return
			}
			switch kind {
			case msgSpec:
				again(t, body, func() func(*coder) { return new(Spec).fields })
			case msgRanks:
				again(t, body, func() func(*coder) { return children(new([]Child)) })
			case msgSignal:
				again(t, body, func() func(*coder) { return new(wireSignal).fields })
			case msgHello:
				again(t, body, func() func(*coder) { return new(hello).fields })
			case msgHelper:
				again(t, body, func() func(*coder) { return new(Helper).fields })
			}
		}
	})
}

// again reads a body, and if it is one, writes what came of it, which has to be
// read as the same.
func again(t *testing.T, body []byte, message func() func(*coder)) {
	first := message()
	if decode(0, body, first) != nil {
		return
	}
	second := message()
	text := encodeBody(first)
	require.NoError(t, decode(0, text, second))
	assert.Equal(t, text, encodeBody(second))
}

// Every field of every message arrives as it was sent.
func TestMessagesRoundTrip(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) })
	texts := rapid.SliceOfN(text, 1, 3)
	number := rapid.Int()
	rapid.Check(t, func(t *rapid.T) {
		spec := Spec{
			Env: texts.Draw(t, "env"), Umask: number.Draw(t, "umask"),
			Apps:    []App{{}, {Argv: texts.Draw(t, "argv"), Env: texts.Draw(t, "own"), Dir: text.Draw(t, "dir"), DirGiven: true, Path: text.Draw(t, "path")}},
			Rlimits: []Rlimit{{Resource: number.Draw(t, "resource"), Cur: rapid.Uint64().Draw(t, "cur"), Max: ^uint64(0)}},
		}
		var gotSpec Spec
		require.NoError(t, decode(msgSpec, encodeBody(spec.fields), gotSpec.fields))
		assert.Equal(t, spec, gotSpec)

		ranks := []Child{{}, {World: number.Draw(t, "world"), Rank: job.Rank(number.Draw(t, "rank")), App: number.Draw(t, "app"), Env: texts.Draw(t, "its"), StdinPipe: true, Terminal: &unix.Window{Rows: rapid.Uint16().Draw(t, "rows"), Columns: 1<<16 - 1}}}
		var gotRanks []Child
		require.NoError(t, decode(msgRanks, encodeBody(children(&ranks)), children(&gotRanks)))
		assert.Equal(t, ranks, gotRanks)

		events := []wireEvent{{}, {
			Kind: evGone, World: number.Draw(t, "world"), Rank: number.Draw(t, "rank"), PID: number.Draw(t, "pid"), Code: number.Draw(t, "code"),
			StdinPipe: true, Terminal: true, Provoked: true, Text: text.Draw(t, "text"), User: 1, System: -2, MaxRSS: 1 << 62, At: 4, Clock: 5,
		}}
		var gotEvents []wireEvent
		require.NoError(t, decode(msgEvents, encodeBody(wireEvents(&events)), wireEvents(&gotEvents)))
		assert.Equal(t, events, gotEvents)

		first := hello{PID: number.Draw(t, "pid"), Cgroup: text.Draw(t, "cgroup"), NoCgroup: text.Draw(t, "none")}
		var gotFirst hello
		require.NoError(t, decode(msgHello, encodeBody(first.fields), gotFirst.fields))
		assert.Equal(t, first, gotFirst)

		help := Helper{Number: number.Draw(t, "helper"), Argv: texts.Draw(t, "its argv"), Env: texts.Draw(t, "its env"), Files: rapid.Uint64().Draw(t, "files")}
		var gotHelp Helper
		require.NoError(t, decode(msgHelper, encodeBody(help.fields), gotHelp.fields))
		assert.Equal(t, help, gotHelp)

		s := wireSignal{World: everyWorld, Signal: number.Draw(t, "signal")}
		var gotSignal wireSignal
		require.NoError(t, decode(msgSignal, encodeBody(s.fields), gotSignal.fields))
		assert.Equal(t, s, gotSignal)

		grace := time.Duration(rapid.Int64().Draw(t, "grace"))
		var gotGrace time.Duration
		require.NoError(t, decode(msgKill, encodeBody(duration(&grace)), duration(&gotGrace)))
		assert.Equal(t, grace, gotGrace)
	})
}

func TestMalformedBodies(t *testing.T) {
	h := hello{PID: 1, Cgroup: "c"}
	whole := encodeBody(h.fields)
	require.NoError(t, decode(msgHello, whole, h.fields))
	for n := range whole {
		assert.Error(t, decode(msgHello, whole[:n], h.fields), "%d bytes of it", n)
	}
	assert.Error(t, decode(msgHello, append(whole, 0), h.fields), "bytes left over")
	var huge []Child
	assert.Error(t, decode(msgRanks, []byte{0xff, 0xff, 0xff, 0xff, 0x7f}, children(&huge)), "more than can be there")
	assert.Empty(t, huge)
}

// No list of events gets descriptors that are not there, or leaves some over.
func FuzzEvents(f *testing.F) {
	seed := []wireEvent{{Kind: evStarted, PID: 3}, {Kind: evExited, Code: 9}, {Kind: evGone, Text: "x"}}
	f.Add(encodeBody(wireEvents(&seed)), 3)
	f.Add([]byte{0}, 0)
	f.Fuzz(func(t *testing.T, body []byte, n int) {
		fds := make([]int, min(max(n, 0), 253))
		events, err := parseEvents(body, fds)
		if err != nil {
			return
		}
		used := 0
		for _, e := range events {
			if s, ok := e.(Started); ok {
				used += 3
				if s.Stdin >= 0 {
					used++
				}
			}
		}
		assert.Equal(t, len(fds), used)
	})
}

func FuzzProcFiles(f *testing.F) {
	f.Add([]byte("7 (a) S 1 2 3 4 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99"))
	f.Add([]byte("7 (a) b) R 1 2 3 4 0 -1 0 0 0 0 18446744073709551615 9223372036854775807 0 0 0 20 0 1 0 99"))
	f.Add([]byte("30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n0::/x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if p, ok := parseStat(b); ok {
			assert.Positive(t, p.pid)
		}
		for _, controller := range []string{"", "memory"} {
			_, dir, err := cgroups.Dir(string(b), string(b), controller)
			assert.Equal(t, err != nil, dir == "")
		}
		hasVariable(bytes.NewReader(b), "A=B")
	})
}
