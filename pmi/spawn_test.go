package pmi_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
)

// spawn1 is a PMI-1 spawn request; the clients' order of lines.
const spawn1 = `mcmd=spawn
nprocs=2
execname=./child prog
totspawns=2
spawnssofar=1
arg1=-x y=z
arg2=
arg3=last
argcnt=3
preput_num=2
preput_key_0=PARENT_ROOT_PORT_NAME
preput_val_0=tag=0 port=1234
preput_key_1=other
preput_val_1=
info_num=4
info_key_0=wdir
info_val_0=/tmp/a b
info_key_1=hosts
info_val_1=n1, n2,
info_key_2=soft
info_val_2=1, 4:8 ,0:20:5
info_key_3=unknown
info_val_3=x
endcmd
mcmd=spawn
nprocs=1
execname=second
totspawns=2
spawnssofar=2
argcnt=0
preput_num=2
preput_key_0=PARENT_ROOT_PORT_NAME
preput_val_0=tag=0 port=1234
preput_key_1=other
preput_val_1=
info_num=0
endcmd
`

// spawn2 is the same in PMI-2.
const spawn2 = "cmd=spawn;thrid=7;ncmds=2;preputcount=2;ppkey0=PARENT_ROOT_PORT_NAME;ppval0=tag=0 port=1234;ppkey1=other;ppval1=;" +
	"subcmd=./child prog;maxprocs=2;argc=3;argv0=-x y=z;argv1=;argv2=last;infokeycount=4;infokey0=wdir;infoval0=/tmp/a b;" +
	"infokey1=hosts;infoval1=n1, n2,;infokey2=soft;infoval2=1, 4:8 ,0:20:5;infokey3=unknown;infoval3=x;" +
	"subcmd=second;maxprocs=1;argc=0;infokeycount=0;"

func wantSpawn() pmi.Spawn {
	return pmi.Spawn{
		Commands: []pmi.Command{{
			Exec: "./child prog", Procs: 2, Args: []string{"-x y=z", "", "last"},
			Info: []pmi.Pair{{Key: "wdir", Value: "/tmp/a b"}, {Key: "hosts", Value: "n1, n2,"}, {Key: "soft", Value: "1, 4:8 ,0:20:5"}, {Key: "unknown", Value: "x"}},
			Hints: pmi.Hints{Dir: "/tmp/a b", Hosts: []string{"n1", "n2"},
				Soft: []pmi.Triplet{{First: 1, Last: 1, Step: 1}, {First: 4, Last: 8, Step: 1}, {First: 0, Last: 20, Step: 5}}},
		}, {Exec: "second", Procs: 1}},
		Preput: []pmi.Pair{{Key: "PARENT_ROOT_PORT_NAME", Value: "tag=0 port=1234"}, {Key: "other"}},
	}
}

func TestCorner14Spawn(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 1, 2, nil).init()
	w.spawned.JobID = "kvs_1"
	require.Equal(t, "cmd=spawn_result rc=0", w.ask(0, strings.TrimSuffix(spawn1, "\n")))
	require.Equal(t, "cmd=spawn-response;thrid=7;rc=0;jobid=kvs_1;", w.ask2(1, spawn2))
	require.Equal(t, []pmi.Spawn{wantSpawn(), wantSpawn()}, w.spawns)
	// A newer client puts in the first block only, and announces arguments first.
	newer := strings.Replace(strings.Replace(spawn1, "arg1=", "argcnt=3\narg1=", 1), "argcnt=3\npreput", "preput", 1)
	at := strings.LastIndex(newer, "preput_num")
	newer = newer[:at] + "preput_num=0\ninfo_num=0\nendcmd\n"
	w.send(0, newer+"cmd=get_appnum\n")
	require.Equal(t, "cmd=spawn_result rc=0\ncmd=appnum appnum=0", w.take(0))
	require.Equal(t, wantSpawn(), w.spawns[2])
	// Nothing but the program.
	require.Equal(t, "cmd=spawn_result rc=0", w.ask(0, "mcmd=spawn\nnprocs=1\nexecname=x\ntotspawns=1\nspawnssofar=1\nendcmd"))
	require.Equal(t, "cmd=spawn-response;rc=0;jobid=kvs_1;", w.ask2(1, "cmd=spawn;subcmd=x;maxprocs=1;"))
	require.Equal(t, []pmi.Spawn{{Commands: []pmi.Command{{Exec: "x", Procs: 1}}}, {Commands: []pmi.Command{{Exec: "x", Procs: 1}}}}, w.spawns[3:])
	// Many arguments.
	var many, many2 strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "arg%d=a\n", i+1)
		fmt.Fprintf(&many2, "argv%d=a;", i)
	}
	require.Equal(t, "cmd=spawn_result rc=0", w.ask(0, "mcmd=spawn\nnprocs=1\ntotspawns=1\nspawnssofar=1\n"+many.String()+"argcnt=5000\nendcmd"))
	require.Equal(t, "cmd=spawn-response;rc=0;jobid=kvs_1;", w.ask2(1, "cmd=spawn;subcmd=x;maxprocs=1;argc=5000;"+many2.String()))
	require.Len(t, w.spawns[5].Commands[0].Args, 5000)
	require.Len(t, w.spawns[6].Commands[0].Args, 5000)
	require.Empty(t, w.violations)
}

func TestSpawnResults(t *testing.T) {
	cases := []struct {
		result     pmi.SpawnResult
		one, other string
	}{
		{pmi.SpawnResult{JobID: "j"}, "rc=0", "response;thrid=7;rc=0;jobid=j;"},
		{pmi.SpawnResult{JobID: "j", Codes: []int{0, 0, 0}}, "rc=0", "response;thrid=7;rc=0;jobid=j;"},
		{pmi.SpawnResult{JobID: "j", Codes: []int{0, 2, -1}}, "rc=0 errcodes=0,2,-1", "response;thrid=7;rc=0;jobid=j;errcodes=0,2,-1;"},
		{pmi.SpawnResult{Err: errors.New("no slots left")}, "rc=1 msg=no_slots_left", "refused;thrid=7;rc=1;errmsg=no_slots_left;"},
		{pmi.SpawnResult{Err: errors.New("not started"), Codes: []int{0, 127, 127}},
			"rc=1 msg=not_started errcodes=0,127,127", "refused;thrid=7;rc=1;errmsg=not_started;errcodes=0,127,127;"},
		// Clients read lines of up to 1023 bytes.
		{pmi.SpawnResult{JobID: "j", Codes: append(make([]int, 496), 1)}, "rc=0", "response;thrid=7;rc=0;jobid=j;"},
		{pmi.SpawnResult{JobID: "j", Codes: append(make([]int, 40000), 1)}, "rc=0", "response;thrid=7;rc=0;jobid=j;"},
		{pmi.SpawnResult{Err: errors.New(strings.Repeat("x", 5000)), Codes: slices.Repeat([]int{1}, 400)},
			"rc=1 msg=" + strings.Repeat("x", 200), "refused;thrid=7;rc=1;errmsg=" + strings.Repeat("x", 200) + ";"},
	}
	for _, tc := range cases {
		w := newWorld(t, 1, 1, nil).init()
		w.spawned = tc.result
		require.Equal(t, "cmd=spawn_result "+tc.one, w.ask(0, strings.TrimSuffix(spawn1, "\n")))
		require.Equal(t, "cmd=spawn-"+tc.other, w.ask2(0, spawn2))
	}
}

// Ports at which the parents of a world are called back, in MPICH's two devices.
const (
	portCH3 = "tag#0$description#n1$port#56943$ifname#10.0.0.1$"
	portCH4 = "tag#0$connentry#AF00$"
)

// ask1 returns a PMI-1 request for a world of procs processes.
func ask1(procs int, port string) string {
	return fmt.Sprintf("mcmd=spawn\nnprocs=%d\nexecname=x\ntotspawns=1\nspawnssofar=1\n"+
		"preput_num=1\npreput_key_0=PARENT_ROOT_PORT_NAME\npreput_val_0=%s\nendcmd", procs, port)
}

// In MPICH's ch3 the parents beside the one that asked learn of a refusal by
// error codes, none of them 0, or not at all.
func TestSpawnRefusedToAllParents(t *testing.T) {
	cases := []struct {
		port  string
		ranks int
		procs int
		codes []int
		reply string
	}{
		{port: portCH3, ranks: 2, procs: 3, reply: "rc=0 errcodes=1,1,1"},
		{port: portCH3, ranks: 2, procs: 3, codes: []int{0, 127, 126}, reply: "rc=0 errcodes=1,127,126"},
		{port: portCH3, ranks: 2, procs: 2, codes: []int{7}, reply: "rc=0 errcodes=1,1"}, // no answer to that request
		{port: portCH3, ranks: 2, procs: 496, reply: "rc=0 errcodes=" + strings.Repeat("1,", 495) + "1"},
		{port: portCH3, ranks: 2, procs: 300, codes: slices.Repeat([]int{127}, 300), reply: "rc=0 errcodes=" + strings.Repeat("1,", 299) + "1"},
		{port: portCH3, ranks: 2, procs: 497, reply: "rc=1 msg=why"},
		{port: portCH3, ranks: 1, procs: 2, reply: "rc=1 msg=why"},
		{port: portCH4, ranks: 2, procs: 2, reply: "rc=1 msg=why"},
		{ranks: 2, procs: 2, codes: []int{127, 127}, reply: "rc=1 msg=why errcodes=127,127"},
	}
	for _, tc := range cases {
		w := newWorld(t, 1, tc.ranks, nil).init()
		w.spawned = pmi.SpawnResult{Err: errors.New("why"), Codes: tc.codes}
		got := w.ask(0, ask1(tc.procs, tc.port))
		require.Equal(t, "cmd=spawn_result "+tc.reply, got)
		require.Less(t, len(got), 1023)
		require.Empty(t, w.violations)
	}
	w := newWorld(t, 1, 2, nil).init()
	request := ask1(2, portCH3)
	require.Equal(t, "cmd=spawn_result rc=0 errcodes=1,1", w.ask(0, strings.Replace(request, "_num=1\n", "_num=2\n", 1)[:len(request)-len("endcmd")]+
		"preput_key_1=k\npreput_val_1="+strings.Repeat("v", 1024)+"\nendcmd"), "and so it is of what is refused at once")
	require.Empty(t, w.spawns)
	require.Equal(t, "cmd=spawn_result rc=1 msg=0_processes", w.ask(0, ask1(0, portCH3)))
}

// Well-formed requests that cannot be served are refused; the job goes on.
func TestSpawnRefusals(t *testing.T) {
	w := newWorld(t, 1, 1, nil).init()
	hint := func(key, value string) string { return "maxprocs=1;infokey0=" + key + ";infoval0=" + value + ";" }
	for fields, want := range map[string]string{
		"":                                       "0_processes",
		"maxprocs=-3;":                           "-3_processes",
		"maxprocs=16777217;":                     "more_than_16777216_processes",
		"maxprocs=16777216;subcmd=y;maxprocs=1;": "more_than_16777216_processes",
		hint("soft", "1:2:0"):                    "bad_soft_hint__1:2:0_",
		hint("soft", "1:2:3:4"):                  "bad_soft_hint__1:2:3:4_",
		hint("soft", ""):                         "bad_soft_hint___",
		hint("soft", "x") + "subcmd=y;maxprocs=0;": "bad_soft_hint__x_",
	} {
		got := w.ask2(0, "cmd=spawn;subcmd=x;"+fields)
		require.Equal(t, "cmd=spawn-refused;rc=1;errmsg="+strings.ReplaceAll(want, "\"", "_")+";", strings.ReplaceAll(got, "\"", "_"))
	}
	require.Equal(t, "cmd=spawn_result rc=1 msg=0_processes", w.ask(0, "mcmd=spawn\ntotspawns=1\nspawnssofar=1\nendcmd"))
	require.Empty(t, w.spawns)
	require.Equal(t, "cmd=spawn-response;rc=0;jobid=;", w.ask2(0, "cmd=spawn;subcmd=x;"+hint("hostfile", "/h")+"infokey1=path;infoval1=/bin;infokey2=arch;infoval2=a;infokey3=file;infoval3=f;"))
	require.Equal(t, pmi.Hints{HostFile: "/h", Path: "/bin"}, w.spawns[0].Commands[0].Hints, "arch and file are ignored")
}

func TestPreputsThatNoGetReturns(t *testing.T) {
	w := newWorld(t, 1, 1, nil).init()
	for pair, want := range map[string]string{
		"ppkey0=;ppval0=x;":      "preput:_a_key_of_0_bytes,_not_1_to_63",
		"ppkey0=PMI_x;ppval0=x;": "preput:_keys_that_begin_with_PMI__are_reserved",
		"ppkey0=" + strings.Repeat("k", pmi.MaxKey) + ";ppval0=x;":   "preput:_a_key_of_64_bytes,_not_1_to_63",
		"ppkey0=k;ppval0=" + strings.Repeat("v", pmi.MaxValue) + ";": "preput:_value_longer_than_1023_bytes",
	} {
		require.Equal(t, "cmd=spawn-refused;rc=1;errmsg="+want+";", w.ask2(0, "cmd=spawn;ncmds=1;"+pair+"subcmd=x;maxprocs=1;"))
	}
	require.Empty(t, w.spawns)
}

// The spawner's puts are there before the first fence, on every node and in both
// protocols, until a rank puts the key itself.
func TestPreput(t *testing.T) {
	w := newWorld(t, 2, 1, func(pw *pmi.World) {
		pw.Spawner, pw.Preput = "kvs_parent", map[string]string{"PARENT_ROOT_PORT_NAME": "tag=0 port=1"}
	}).init()
	for r := range job.Rank(2) {
		require.Equal(t, "cmd=get_result rc=0 value=tag=0 port=1", w.ask(r, "cmd=get kvsname=x key=PARENT_ROOT_PORT_NAME"))
		require.Equal(t, "cmd=kvs-get-response;rc=0;found=TRUE;value=tag=0 port=1;", w.ask2(r, "cmd=kvs-get;jobid=;srcid=-1;key=PARENT_ROOT_PORT_NAME;"))
		require.Equal(t, "cmd=get_result rc=4 msg=key_not_found", w.ask(r, "cmd=get kvsname=x key=other"))
	}
	w.ask(0, "cmd=put kvsname=x key=PARENT_ROOT_PORT_NAME value=mine")
	require.Equal(t, "cmd=get_result rc=0 value=mine", w.ask(0, "cmd=get kvsname=x key=PARENT_ROOT_PORT_NAME"))
	require.Equal(t, "cmd=get_result rc=0 value=tag=0 port=1", w.ask(1, "cmd=get kvsname=x key=PARENT_ROOT_PORT_NAME"))
}

func TestMalformedSpawns(t *testing.T) {
	const end = "totspawns=1\nspawnssofar=1\nendcmd\n"
	for data, want := range map[string]string{
		"mcmd=spawn\nendcmd\n":                                                "block 0 of 0",
		"mcmd=spawn\ntotspawns=x\n":                                           `bad count "x"`,
		"mcmd=spawn\nspawnssofar=0\n":                                         `bad count "0"`,
		"mcmd=spawn\ntotspawns=1\nspawnssofar=2\nendcmd\n":                    "block 2 of 1",
		"mcmd=spawn\nmcmd=spawn\n":                                            "a command inside another",
		"mcmd=spawn\ntotspawns=2\nspawnssofar=1\nendcmd\nnprocs=1\n":          "mcmd=spawn is due",
		"mcmd=spawn\ntotspawns=2\nspawnssofar=1\nendcmd\ntotspawns=1\n":       "mcmd=spawn is due",
		"mcmd=spawn\nnprocs=many\n":                                           `bad number of processes "many"`,
		"mcmd=spawn\narg2=x\n":                                                "argument 2 out of order",
		"mcmd=spawn\nargcnt=2\narg1=x\n" + end:                                "2 arguments announced, 1 came",
		"mcmd=spawn\nargcnt=-1\n":                                             `bad count "-1"`,
		"mcmd=spawn\ninfo_num=1\n" + end:                                      "1 hints announced, 0 came",
		"mcmd=spawn\npreput_num=1\n" + end:                                    "1 preputs announced, 0 came",
		"mcmd=spawn\ninfo_key_0=x\n" + end:                                    "a key without its value",
		"mcmd=spawn\npreput_key_0=x\n" + end:                                  "a key without its value",
		"mcmd=spawn\ninfo_key_1=x\n":                                          "key 1 out of order",
		"mcmd=spawn\npreput_key_0=x\npreput_val_1=x\n":                        "value 1 out of order",
		"mcmd=spawn\npreput_val_0=x\n":                                        "value 0 out of order",
		"mcmd=spawn\n\x00\x00\x00\x00junk\n":                                  "this is the binary form that MVAPICH2 writes for its own mpirun_rsh; unset MPIRUN_RSH_LAUNCH",
		"mcmd=spawn\n" + strings.Repeat(strings.Repeat("x", 60000)+"\n", 18):  "more than 1048576 bytes",
		frame("cmd=spawn;ncmds=1;"):                                           "no subcmd",
		frame("cmd=spawn;ncmds=2;subcmd=x;maxprocs=1;"):                       "2 commands announced, 1 came",
		frame("cmd=spawn;ncmds=1000000000;subcmd=x;argc=1000000000;argv0=x;"): "1000000000 arguments announced, 1 came",
		frame("cmd=spawn;ncmds=x;"):                                           `bad count "x"`,
		frame("cmd=spawn;ppkey0=a;subcmd=x;"):                                 "a key without its value",
		frame("cmd=spawn;preputcount=1;subcmd=x;"):                            "1 preputs announced, 0 came",
		frame("cmd=spawn;subcmd=x;infokey0=a;subcmd=y;"):                      "a key without its value",
		frame("cmd=spawn;subcmd=x;argv1=a;"):                                  "argument 1 out of order",
		frame("cmd=spawn;subcmd=x;infokey0=a;infokey1=a;"):                    "key 1 out of order",
	} {
		w := newWorld(t, 1, 1, nil).init()
		w.send(0, data)
		require.Len(t, w.violations, 1, data)
		require.ErrorContains(t, w.violations[0], "rank 0: PMI: malformed spawn request: "+want, data)
		require.Empty(t, w.spawns)
	}
}

// The oracle counts the numbers of every triplet out.
func TestMostThatSoftAllows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h pmi.Hints
		limit := rapid.IntRange(0, 20).Draw(t, "limit")
		want := -1
		for range rapid.IntRange(0, 3).Draw(t, "triplets") {
			x := pmi.Triplet{First: rapid.IntRange(-5, 25).Draw(t, "first"), Last: rapid.IntRange(-5, 25).Draw(t, "last")}
			x.Step = rapid.IntRange(1, 7).Draw(t, "step") * rapid.SampledFrom([]int{1, -1}).Draw(t, "way")
			h.Soft = append(h.Soft, x)
			for n := x.First; x.Step > 0 && n <= x.Last || x.Step < 0 && n >= x.Last; n += x.Step {
				if n >= 0 && n <= limit {
					want = max(want, n)
				}
			}
		}
		got, ok := h.Most(limit)
		require.Equal(t, want >= 0, ok)
		if ok {
			require.Equal(t, want, got)
		}
	})
}
