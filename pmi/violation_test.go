package pmi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
)

func TestViolations(t *testing.T) {
	cases := []struct{ name, data, want string }{
		{"unknown command", "cmd=frobnicate x=1\n", `rank 0: PMI: unknown command "frobnicate": "cmd=frobnicate x=1"`},
		{"empty command", "cmd=\n", `unknown command ""`},
		{"carriage return", "cmd=get_maxes\r\n", `unknown command "get_maxes\r"`},
		{"unknown multi-line command", "mcmd=dance\n", `unknown command "dance"`},
		{"empty line", "\n", "not a PMI command"},
		{"no command first", "key=x cmd=get\n", "not a PMI command"},
		{"foreign bytes, no line end", "\x08\x00\x00\x00", "not a PMI command"},
		{"almost a command", "cmd\n", "not a PMI command"},
		{"PMI-2 without pairs", "    38cmd=kvs-get;key=k;no pair here,  at all;;;", "malformed PMI-2 message: no key=value pair, offset 18"},
		{"PMI-2 without its end", frame("cmd=kvs-get;key=k"), "malformed PMI-2 message: no semicolon at the end, offset 12"},
		{"PMI-2 ending in a doubled semicolon", frame("cmd=kvs-get;key=k;;"), "no semicolon at the end, offset 12"},
		{"PMI-2 without a command", frame("key=k;cmd=kvs-get;"), "cmd= must come first and once, offset 0"},
		{"PMI-2 with two commands", frame("cmd=kvs-get;cmd=kvs-put;"), "cmd= must come first and once, offset 12"},
		{"PMI-2 with an empty key", frame("cmd=kvs-get;=k;"), "no key=value pair, offset 12"},
		{"PMI-2, unknown", frame("cmd=frobnicate;"), `rank 0: PMI: unknown command "frobnicate": "cmd=frobnicate;"`},
		{"PMI-2, long thrid", frame("cmd=kvs-fence;thrid=" + strings.Repeat("1", 65) + ";"), "thrid of more than 64 bytes"},
		{"PMI-2, empty", "000000", "PMI-2 message of 0 bytes: must have 1 to 65536"},
		{"PMI-2, too long", " 65537cmd=", "PMI-2 message of 65537 bytes: must have 1 to 65536"},
		{"PMI-2, blank in the length", "1 2   cmd=", "not a PMI command"},
		{"PMI-2, ahead of a reply", frame(fence2) + strings.Repeat(frame("cmd=job-getid;"), 4000), "more than 65536 bytes were sent ahead while a fence is not answered"},
		{"PMI-2, attributes without end", strings.Repeat(frame("cmd=info-getnodeattr;key=k;wait=TRUE;thrid=1;"), 1025), "more than 1024 requests wait for other ranks"},
		{"PMI-2, replies without end", strings.Repeat(frame("cmd=kvs-fence;thrid=1;"), 1025), "more than 1024 requests wait for other ranks"},
		{"blanks", "      ", "not a PMI command"},
		{"endless line", "cmd=put key=" + strings.Repeat("x", pmi.MaxLine), "line of more than 65536 bytes"},
		{"long line with its end", "cmd=put key=" + strings.Repeat("x", pmi.MaxLine) + "\n", "line of more than 65536 bytes"},
		{"ahead of a reply", "cmd=barrier_in\n" + strings.Repeat("cmd=get_maxes\n", 5000), "more than 65536 bytes were sent ahead while a fence is not answered"},
		{"spawn cut by a command", "mcmd=spawn\nnprocs=1\ncmd=get_maxes\n", "malformed spawn request: a command inside another"},
	}
	for _, tc := range cases {
		for _, step := range []int{len(tc.data), 7} {
			t.Run(fmt.Sprint(tc.name, "/", step), func(t *testing.T) {
				w := newWorld(t, 1, 2, nil).init()
				for data := tc.data; data != ""; {
					n := min(step, len(data))
					w.send(0, data[:n])
					data = data[n:]
				}
				require.Len(t, w.violations, 1)
				require.ErrorContains(t, w.violations[0], tc.want)
				require.Less(t, len(w.violations[0].Error()), 800)
				require.Empty(t, w.ask(0, "cmd=get_maxes"), "nothing more is read")
				w.eof(0)
				require.Empty(t, w.hangups)
				require.Equal(t, notFound, w.ask(1, get("k")), "the other rank goes on")
			})
		}
	}
	w := newWorld(t, 1, 1, nil)
	for _, line := range []string{get("k"), "cmd=get_maxes", "cmd=barrier_in", "mcmd=spawn"} {
		w := newWorld(t, 1, 1, nil)
		require.Empty(t, w.ask(0, line))
		require.ErrorContains(t, w.violations[0], "before MPI_Init, where only init is legal")
	}
	s := w.nodes[0].server
	var out pmi.Effects
	s.Receive(7, []byte(initLine+"\n"), &out)
	require.Equal(t, "rank 7: PMI: the rank is not on this node", out.Violations[0].Error())
	require.EqualError(t, out.Violations[0].Unwrap(), "the rank is not on this node")
	s.EOF(7, &out)
	s.GetDone(7, "v", true, &out)
	s.GetDone(0, "v", true, &out)
	s.PutDone(0, nil, &out)
	s.NameDone(0, "p", nil, &out)
	s.SpawnDone(0, pmi.SpawnResult{}, &out)
	s.GroupDone("WORLD:1", &out)
	s.FenceDone(&out)
	require.Empty(t, out.Replies, "Done calls that nobody waits for do nothing")
}

func TestNewServerRefusesNonsense(t *testing.T) {
	good := func() pmi.World {
		return pmi.World{Size: 2, KVSName: "k", UniverseSize: -1, AppNum: func(job.Rank) int { return 0 }}
	}
	cases := []struct {
		want   string
		local  []job.Rank
		change func(*pmi.World)
	}{
		{"world of 0 ranks", nil, func(w *pmi.World) { w.Size = 0 }},
		{"kvsname", nil, func(w *pmi.World) { w.KVSName = "two words" }},
		{"kvsname", nil, func(w *pmi.World) { w.KVSName = strings.Repeat("k", 256) }},
		{`version "2.0"`, nil, func(w *pmi.World) { w.Version = "2.0" }},
		{"spawner", nil, func(w *pmi.World) { w.Spawner = "two words" }},
		{"universe size 0", nil, func(w *pmi.World) { w.UniverseSize = 0 }},
		{"no AppNum", nil, func(w *pmi.World) { w.AppNum = nil }},
		{`attribute "universeSize"`, nil, func(w *pmi.World) { w.Attributes = map[string]string{"universeSize": "4"} }},
		{"blanks and control", nil, func(w *pmi.World) { w.Attributes = map[string]string{"PMI_x": "a b"} }},
		{"blanks and control", nil, func(w *pmi.World) { w.ProcessMapping = "(vector, (0,1,2))" }},
		{"rank 2 in a world of 2", []job.Rank{2}, nil},
		{"rank 1 is listed twice", []job.Rank{1, 1}, nil},
	}
	for _, tc := range cases {
		w := good()
		if tc.change != nil {
			tc.change(&w)
		}
		_, err := pmi.NewServer(w, tc.local)
		require.ErrorContains(t, err, tc.want)
	}
	w := newWorld(t, 1, 1, func(w *pmi.World) { w.ProcessMapping = strings.Repeat("x", 1024) }).init()
	require.Equal(t, notFound, w.ask(0, get("PMI_process_mapping")), "a mapping too long for a value is not offered")
}
