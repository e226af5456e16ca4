package pmi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/pmi"
)

// The numbers are those of the corner cases in docs/pmi.md;
// 11 to 16 are in corner2_test.go, spawn_test.go and names_test.go.

const putOK = "cmd=put_result rc=0"

func put(key, value string) string {
	return "cmd=put kvsname=" + kvsname + " key=" + key + " value=" + value
}

func get(key string) string { return "cmd=get kvsname=" + kvsname + " key=" + key }

func value(v string) string { return "cmd=get_result rc=0 value=" + v }

const notFound = "cmd=get_result rc=4 msg=key_not_found"

// conversation is everything a rank may say, in one string.
var conversation = strings.Join([]string{
	initLine, "cmd=get_maxes", "cmd=get_appnum", "cmd=get_my_kvsname", "cmd=get_universe_size",
	put("a", "1 2=3\\"), get("a"), get("b"), "cmd=barrier_in", get("a"),
	"cmd=lookup_name service=x",
	"mcmd=spawn\nnprocs=2\nexecname=x\ntotspawns=2\nspawnssofar=1\nendcmd\nmcmd=spawn\nspawnssofar=2\nendcmd",
	"cmd=finalize", initLine, "cmd=barrier_in", "cmd=finalize", "cmd=abort exitcode=3 message=bye", "",
}, "\n")

func TestCorner01SplitAtEveryByte(tt *testing.T) {
	t := asCorner(tt)
	whole := newWorld(t, 1, 1, nil)
	whole.send(0, conversation)
	want := whole.take(0)
	require.Equal(t, 16, strings.Count(want, "cmd="))
	require.Len(t, whole.aborts, 1)
	for cut := 1; cut < len(conversation); cut++ {
		w := newWorld(t, 1, 1, nil)
		w.send(0, conversation[:cut])
		w.send(0, conversation[cut:])
		require.Equal(t, want, w.take(0), "cut after %q", conversation[:cut])
		require.Equal(t, whole.aborts, w.aborts)
		require.Empty(t, w.violations)
	}
	w := newWorld(t, 1, 1, nil)
	for i := range conversation {
		w.send(0, conversation[i:i+1])
	}
	require.Equal(t, want, w.take(0))
}

func TestCorner02RequestsInOneSegment(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 1, 2, nil).init()
	w.send(0, put("k", "v")+"\n"+get("k")+"\ncmd=barrier_in\n"+get("of1")+"\ncmd=barr")
	require.Equal(t, putOK+"\n"+value("v"), w.take(0), "what follows the barrier must wait for it")
	require.Equal(t, putOK, w.ask(1, put("of1", "w")))
	w.send(1, "cmd=barrier_in\n")
	require.Equal(t, "cmd=barrier_out\n"+value("w"), w.take(0))
	require.Equal(t, "cmd=barrier_out", w.take(1))
	w.send(0, "ier_in\n")
	w.send(1, "cmd=barrier_in\n")
	require.Equal(t, "cmd=barrier_out", w.take(0))
}

func TestCorner03ValuesVerbatim(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 2, 1, nil).init()
	values := []string{"a=b=c", `back\slash\\ and \=`, strings.Repeat("x=\\", 334)[:1000], strings.Repeat("v", 1023), "\xff\x00\r"}
	for i, v := range values {
		require.Equal(t, putOK, w.ask(0, put(fmt.Sprint("k", i), v)))
	}
	w.fence()
	for i, v := range values {
		require.Equal(t, value(v), w.ask(1, get(fmt.Sprint("k", i))))
	}
}

// Open MPI pads its values with blanks; they reach to the end of the line.
func TestCorner04ValuesWithBlanks(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 2, 1, nil).init()
	for i, v := range []string{"AA  -", " leading", "trailing ", "key=inner value=again cmd=x", " "} {
		key := fmt.Sprint("k", i)
		require.Equal(t, putOK, w.ask(0, put(key, v)))
		require.Equal(t, value(v), w.ask(0, get(key)))
		w.fence()
		require.Equal(t, value(v), w.ask(1, get(key)))
	}
}

// nodeAttribute reads replies to gets as Flux's PMI2_Info_GetNodeAttr does: 4 has it
// ask again if it waits, other numbers are its result.
func nodeAttribute(reply string) (value string, again bool) {
	if reply == "cmd=get_result rc=4 msg=key_not_found" {
		return "", true
	}
	value, _ = strings.CutPrefix(reply, "cmd=get_result rc=0 value=")
	return value, false
}

func TestCorner05FluxWaitsForAnAttribute(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 1, 2, nil).init()
	_, again := nodeAttribute(w.ask(0, get("local::segment")))
	require.True(t, again)
	require.Equal(t, putOK, w.ask(1, put("local::segment", "/dev/shm/x")))
	value, again := nodeAttribute(w.ask(0, get("local::segment")))
	require.False(t, again)
	require.Equal(t, "/dev/shm/x", value)
}

func TestCorner05MissingKey(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 1, 1, nil).init()
	for _, key := range []string{"nosuchkey", "flux.taskmap", "PMI_dead_processes", "PMI_hwloc_xmlfile", strings.Repeat("k", 100)} {
		require.Equal(t, notFound, w.ask(0, get(key)))
	}
	require.Equal(t, "cmd=get_result rc=-1 msg=no_key", w.ask(0, "cmd=get kvsname=x"))
	require.Equal(t, "cmd=get_result rc=-1 msg=no_key", w.ask(0, get("")))
}

func TestCorner06ReservedKeys(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 1, 1, func(w *pmi.World) { w.Attributes = map[string]string{"PMI_hwloc_xmlfile": "/run/topo.xml"} }).init()
	require.Equal(t, "cmd=put_result rc=1 msg=keys_that_begin_with_PMI__are_reserved", w.ask(0, put("PMI_process_mapping", "x")))
	require.Equal(t, value("(vector,(0,1,1))"), w.ask(0, get("PMI_process_mapping")))
	require.Equal(t, value("/run/topo.xml"), w.ask(0, get("PMI_hwloc_xmlfile")))
	require.Equal(t, putOK, w.ask(0, put("pmi_lower", "x")))
}

func TestCorner07GetBeforeBarrier(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 2, 2, nil).init()
	require.Equal(t, putOK, w.ask(0, put("k", "v")))
	require.Equal(t, value("v"), w.ask(0, get("k")))
	require.Equal(t, value("v"), w.ask(1, get("k")), "same node: at once")
	require.Equal(t, notFound, w.ask(2, get("k")), "other node: answered, but not found")
	w.fence()
	require.Equal(t, value("v"), w.ask(3, get("k")))
}

func TestCorner08FinalizeAndEOF(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 1, 6, nil)
	w.eof(5) // never spoke PMI
	w.ask(0, initLine)
	w.eof(0)
	require.Equal(t, []pmi.Hangup{{Rank: 0}}, w.hangups, "EOF without finalize")
	w.eof(0)
	w.ask(1, initLine)
	require.Equal(t, "cmd=finalize_ack", w.ask(1, "cmd=finalize"))
	require.Equal(t, "cmd=finalize_ack", w.ask(1, "cmd=finalize"), "double finalize")
	w.eof(1)
	require.Len(t, w.hangups, 1, "EOF after finalize is normal")
	require.Empty(t, w.violations)

	w.ask(2, initLine)
	w.ask(2, "cmd=finalize")
	require.Equal(t, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0", w.ask(2, initLine), "init after finalize")
	w.send(2, "cmd=barrier_in\n")
	w.eof(2)
	require.Len(t, w.hangups, 2, "EOF inside a barrier")

	lost := newWorld(t, 1, 2, nil).init()
	lost.send(0, "cmd=barrier_in\n")
	lost.eof(0)
	lost.send(1, "cmd=barrier_in\n")
	require.Equal(t, "cmd=barrier_out", lost.take(1), "it had entered")
	require.Empty(t, lost.take(0), "nothing is sent to a closed connection")

	w.ask(3, initLine)
	w.ask(3, "cmd=finalize")
	w.ask(3, get("k"))
	require.Len(t, w.violations, 1)
	require.Equal(t, `rank 3: PMI: command "get" after finalize, where only init is legal: "cmd=get kvsname=kvs_test_0 key=k"`, w.violations[0].Error())
	w.ask(4, "cmd=finalize")
	require.ErrorContains(t, w.violations[1], `rank 4: PMI: command "finalize" before MPI_Init`)
}

func TestCorner09Abort(tt *testing.T) {
	t := asCorner(tt)
	cases := []struct {
		line string
		code int
		text string
	}{
		{"cmd=abort exitcode=7", 7, ""},
		{"cmd=abort", 1, ""},
		{"cmd=abort exitcode=-1", -1, ""},
		{"cmd=abort exitcode=256 message=abort", 256, "abort"},
		{"cmd=abort exit_code=9 error_msg=out of cheese", 9, "out of cheese"},
		{"cmd=abort message=two words exitcode=4", 4, "two words"},
		{"cmd=abort exitcode=many", 1, ""},
		{"cmd=abort exitcode=2 msg=" + strings.Repeat("x", 300), 2, strings.Repeat("x", 200) + "..."},
	}
	for _, initialised := range []bool{true, false} {
		for _, tc := range cases {
			w := newWorld(t, 1, 1, nil)
			if initialised {
				w.init()
			}
			require.Empty(t, w.ask(0, tc.line), "abort has no reply")
			w.send(0, "cmd=get_maxes\nnonsense\n")
			w.eof(0)
			require.Empty(t, w.take(0), "nothing after abort counts")
			require.Equal(t, []pmi.Abort{{Rank: 0, Code: tc.code, Text: tc.text}}, w.aborts)
			require.Empty(t, w.violations)
			require.Empty(t, w.hangups)
		}
	}
}

func TestCorner10Versions(tt *testing.T) {
	t := asCorner(tt)
	const yes = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"
	const no = "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1 msg=only_PMI_1.x_and_2.0_are_served"
	for version, want := range map[string]string{"1.0": yes, "1.1": yes, "1.2": yes, "2.0": init2OK, "2.1": init2OK, "3.0": no, "0.9": no} {
		v, sub, _ := strings.Cut(version, ".")
		w := newWorld(t, 1, 1, nil)
		require.Equal(t, want, w.ask(0, "cmd=init pmi_version="+v+" pmi_subversion="+sub), version)
		require.Equal(t, want != no, w.nodes[0].server.Initialised(0))
		if want == no {
			require.Equal(t, []pmi.Note{{Rank: 0, Text: "asked for PMI " + version + ", but only PMI 1.x and 2.0 are served"}}, w.notes)
			require.Equal(t, yes, w.ask(0, initLine), "the client may fall back")
		}
		require.Empty(t, w.violations)
	}
	for _, line := range []string{"cmd=init", "cmd=init pmi_version=1", "cmd=init pmi_version=one pmi_subversion=1"} {
		w := newWorld(t, 1, 1, nil)
		require.Empty(t, w.ask(0, line))
		require.ErrorContains(t, w.violations[0], "without a readable pmi_version")
	}
}

// The phases that exit rules tell apart, of ranks that never call PMI and of others.
func TestCorner17Phases(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 1, 2, nil)
	s := w.nodes[0].server
	check := func(want string, initialised, finalised bool) {
		t.Helper()
		require.Equal(t, want, s.Phase(0).String())
		require.Equal(t, initialised, s.Initialised(0))
		require.Equal(t, finalised, s.Finalised(0))
	}
	check("before MPI_Init", false, false)
	w.init()
	check("in MPI_Init (PMI)", true, false)
	w.fence()
	check("running", true, false)
	w.ask(0, "cmd=finalize")
	check("after finalize", true, true)
	w.ask(0, initLine)
	check("in MPI_Init (PMI)", true, false)
	w.eof(1)
	require.Equal(t, pmi.Running, s.Phase(1), "the phase outlives the connection")
	require.Equal(t, pmi.BeforeInit, s.Phase(99))
	require.False(t, s.Initialised(99))
}

// After fork and exec in a rank, parent and child may both hold the
// connection: to the server they are one client that begins anew.
func TestCorner18SecondProcessOnTheConnection(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 1, 1, nil).init()
	require.Equal(t, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0", w.ask(0, initLine), "init before finalize")
	w.fence()
	require.Equal(t, "cmd=finalize_ack", w.ask(0, "cmd=finalize"))
	w.init()
	w.fence()
	require.Empty(t, w.violations)
}

func TestLongestLineIsAccepted(t *testing.T) {
	w := newWorld(t, 1, 1, nil).init()
	line := "cmd=get_maxes pad="
	line += strings.Repeat("x", pmi.MaxLine-len(line))
	require.Equal(t, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024", w.ask(0, line))
}

func TestPutErrors(t *testing.T) {
	w := newWorld(t, 1, 1, nil).init()
	for line, want := range map[string]string{
		put(strings.Repeat("k", 64), "v"):                       "rc=-1 msg=key_longer_than_63_bytes",
		put("k", strings.Repeat("v", 1024)):                     "rc=-1 msg=value_longer_than_1023_bytes",
		put("", "v"):                                            "rc=-1 msg=no_key",
		"cmd=put kvsname=x value=v key=k":                       "rc=-1 msg=no_key",
		"cmd=put kvsname=x key=k":                               "rc=-1 msg=no_value",
		put(strings.Repeat("k", 63), strings.Repeat("v", 1023)): "rc=0",
		put("empty", ""):                                        "rc=0",
		put("", ""):                                             "rc=0",
	} {
		require.Equal(t, "cmd=put_result "+want, w.ask(0, line))
	}
	// An error of the board reaches the client as one word.
	s := w.nodes[0].server
	var out pmi.Effects
	s.Receive(0, []byte(put("k", "v")+"\n"), &out)
	require.Equal(t, "put", out.Requests[0].Op.String())
	s.PutDone(0, fmt.Errorf("board full: 1 = 2\n\\ %s", strings.Repeat("x", 300)), &out)
	reply := string(out.Replies[0].Data)
	require.True(t, strings.HasPrefix(reply, "cmd=put_result rc=-1 msg=board_full:_1___2___xxx"), reply)
	require.Len(t, strings.Fields(reply), 3)
}

// Every line sent must be readable by the strictest client: key=value tokens
// only, one blank between them.
func TestRepliesAreWellFormed(t *testing.T) {
	w := newWorld(t, 1, 1, nil)
	w.send(0, conversation)
	for _, line := range strings.Split(w.take(0), "\n") {
		head, _, _ := strings.Cut(line, " value=")
		for i, token := range strings.Split(head, " ") {
			key, _, ok := strings.Cut(token, "=")
			require.True(t, ok && key != "", "token %q of %q", token, line)
			require.Equal(t, i == 0, key == "cmd", line)
		}
	}
}
