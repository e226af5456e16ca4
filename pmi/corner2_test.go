package pmi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
)

// conversation2 is everything a PMI-2 client may say, in one string.
var conversation2 = func() string {
	said := init2 + "\n"
	for _, text := range []string{
		fmt.Sprintf(fullInit, 0), "cmd=job-getid;thrid=0x7f;", "cmd=info-getjobattr;key=PMI_process_mapping;",
		"cmd=info-getjobattr;key=universeSize;", put2("a", "1;2=3\n"), get2("a"), get2("b"), fence2, get2("a"),
		"cmd=info-putnodeattr;key=n;value=v;", "cmd=info-getnodeattr;key=n;wait=TRUE;", "cmd=info-getnodeattr;key=m;wait=FALSE;",
		"cmd=name-publish;name=s;port=p;infokeycount=0;", "cmd=name-lookup;name=s;infokeycount=0;", "cmd=name-unpublish;name=s;",
		"cmd=job-connect;jobid=x;", "cmd=job-disconnect;jobid=x;", "cmd=ring;ring-count=1;ring-left=l;ring-right=r;",
		"cmd=spawn;ncmds=1;preputcount=0;subcmd=x;maxprocs=1;argc=0;infokeycount=0;",
		"cmd=finalize;", "cmd=abort;isworld=TRUE;msg=bye bye;",
	} {
		said += frame(text)
	}
	return said
}()

func TestCorner01SplitAtEveryByteOfPMI2(tt *testing.T) {
	t := asCorner(tt)
	whole := newWorld(t, 1, 1, nil)
	whole.send(0, conversation2)
	want := whole.take(0)
	require.Len(t, split(t, want), 21)
	require.Equal(t, []pmi.Abort{{Rank: 0, Code: 1, Text: "bye bye"}}, whole.aborts)
	for cut := 1; cut < len(conversation2); cut++ {
		w := newWorld(t, 1, 1, nil)
		w.send(0, conversation2[:cut])
		w.send(0, conversation2[cut:])
		require.Equal(t, want, w.take(0), "cut after %q", conversation2[:cut])
		require.Equal(t, whole.aborts, w.aborts)
		require.Empty(t, w.violations)
	}
}

func TestCorner02MessagesInOneSegment(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 1, 2, nil).start2()
	w.send(0, frame(put2("k", "v"))+frame(get2("k"))+frame(fence2)+frame(get2("of1"))+"    1")
	require.Equal(t, frame(put2OK)+frame(value2("v")), w.take(0), "what follows the fence must wait for it")
	require.Equal(t, put2OK, w.ask2(1, put2("of1", "w")))
	w.send(1, frame(fence2))
	require.Equal(t, frame(fence2OK)+frame(value2("w")), w.take(0))
	w.send(0, "4"+"cmd=job-getid;"+"cmd=get_appnum\n")
	require.Equal(t, frame("cmd=job-getid-response;rc=0;jobid="+kvsname+";")+"cmd=appnum appnum=0", w.take(0), "both versions on one connection")
}

func TestCorner03And04ValuesOfPMI2(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 2, 1, nil).start2()
	values := []string{"", "a=b", `back\slash`, "semi;colon;;s;", ";", " blanks ", strings.Repeat("v", 1023), "\xff\x00\n"}
	for i, v := range values {
		require.Equal(t, put2OK, w.ask2(0, put2(fmt.Sprint("k", i), v)))
		require.Equal(t, value2(v), w.ask2(0, get2(fmt.Sprint("k", i))))
	}
	require.Equal(t, "cmd=kvs-put-response;rc=-1;errmsg=value_longer_than_1023_bytes;", w.ask2(0, put2("k", strings.Repeat("v", 1024))))
	w.fence2()
	for i, v := range values {
		require.Equal(t, value2(v), w.ask2(1, get2(fmt.Sprint("k", i))))
	}
	// Each version gets the other's puts, unless it cannot express them.
	require.Equal(t, value("semi;colon;;s;"), w.ask(1, get("k3")))
	require.Equal(t, "cmd=get_result rc=-1 msg=value_with_a_line_feed", w.ask(1, get("k7")))
	require.Equal(t, putOK, w.ask(1, put("from1", "x;y")))
	require.Equal(t, value2("x;y"), w.ask2(1, get2("from1")))
}

func TestCorner05To07KeysOfPMI2(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 2, 2, func(w *pmi.World) {
		w.UniverseSize = 8
		w.Attributes = map[string]string{"PMI_hwloc_xmlfile": "/run/topo.xml"}
	}).start2()
	for _, key := range []string{"nosuch", "PMI_dead_processes", strings.Repeat("k", 64)} {
		require.Equal(t, notFound2, w.ask2(0, get2(key)))
	}
	require.Equal(t, value2("(vector,(0,2,2))"), w.ask2(0, get2("PMI_process_mapping")))
	attr := func(key string) string {
		return strings.TrimPrefix(w.ask2(0, "cmd=info-getjobattr;key="+key+";"), "cmd=info-getjobattr-response;")
	}
	require.Equal(t, "rc=0;found=TRUE;value=(vector,(0,2,2));", attr("PMI_process_mapping"))
	require.Equal(t, "rc=0;found=TRUE;value=8;", attr("universeSize"))
	require.Equal(t, "rc=0;found=TRUE;value=/run/topo.xml;", attr("PMI_hwloc_xmlfile"))
	require.Equal(t, "rc=0;found=FALSE;", attr("mpi_reserved_ports"))
	require.Equal(t, "rc=-1;errmsg=no_key;", attr(""))
	for text, want := range map[string]string{
		put2("PMI_x", "y"):                           "rc=1;errmsg=keys_that_begin_with_PMI__are_reserved;",
		put2("", "y"):                                "rc=-1;errmsg=no_key;",
		"cmd=kvs-put;key=k;":                         "rc=-1;errmsg=no_value;",
		put2(strings.Repeat("k", 64), "v"):           "rc=-1;errmsg=key_longer_than_63_bytes;",
		"cmd=kvs-put;value=other;thrid=9;key=k;x=y;": "thrid=9;rc=0;",
	} {
		require.Equal(t, "cmd=kvs-put-response;"+want, w.ask2(0, text))
	}
	require.Equal(t, "cmd=kvs-get-response;rc=-1;errmsg=no_key;", w.ask2(0, get2("")))
	require.Equal(t, value2("other"), w.ask2(1, get2("k")), "same node: at once")
	require.Equal(t, notFound2, w.ask2(2, get2("k")), "other node: answered, but not found")
	w.fence2()
	require.Equal(t, value2("other"), w.ask2(3, get2("k")))
}

func TestCorner08EndOfPMI2(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 1, 4, nil).start2()
	for range 2 {
		require.Equal(t, "cmd=finalize-response;rc=0;", w.ask2(0, "cmd=finalize;"))
	}
	w.eof(0)
	require.Empty(t, w.hangups)
	w.send(1, frame("cmd=info-getnodeattr;key=k;wait=TRUE;"))
	w.eof(1)
	require.Equal(t, []pmi.Hangup{{Rank: 1}}, w.hangups)
	require.Equal(t, "cmd=info-putnodeattr-response;rc=0;", w.ask2(2, "cmd=info-putnodeattr;key=k;value=v;"))
	require.Empty(t, w.take(1), "nothing is sent to a closed connection")
	w.ask2(2, "cmd=finalize;")
	w.ask2(2, get2("k"))
	require.ErrorContains(t, w.violations[0], `rank 2: PMI: command "kvs-get" after finalize`)
	w.ask2(3, "cmd=fullinit;pmirank=2;")
	require.Equal(t, []pmi.Note{{Rank: 3, Text: `calls itself rank "2"`}}, w.notes)

	early := newWorld(t, 1, 3, nil)
	require.Contains(t, early.ask2(2, "cmd=fullinit;pmijobid=7;pmirank=2;threaded=FALSE;"), "rc=0;pmi-version=2", "without the init line")
	early.ask2(0, get2("k"))
	require.ErrorContains(t, early.violations[0], "before MPI_Init")
	early.ask2(1, "cmd=finalize;")
	require.ErrorContains(t, early.violations[1], "before MPI_Init")

	spawned := newWorld(t, 1, 1, func(w *pmi.World) { w.Spawner = "kvs_parent" })
	require.Contains(t, spawned.ask2(0, "cmd=fullinit;"), ";spawner-jobid=kvs_parent;")
}

func TestCorner09AbortOfPMI2(tt *testing.T) {
	t := asCorner(tt)
	for text, want := range map[string]pmi.Abort{
		"cmd=abort;isworld=TRUE;msg=two words;": {Code: 1, Text: "two words"},
		"cmd=abort;exitcode=-7;message=bye;;;":  {Code: -7, Text: "bye;"},
		"cmd=abort;":                            {Code: 1},
		"cmd=abort;exitcode=x;":                 {Code: 1},
	} {
		for _, w := range []*world{newWorld(t, 1, 1, nil).start2(), newWorld(t, 1, 1, nil)} {
			require.Empty(t, w.ask2(0, text))
			require.Empty(t, w.ask2(0, get2("k")), "nothing after abort counts")
			require.Equal(t, []pmi.Abort{want}, w.aborts)
		}
	}
	w := newWorld(t, 1, 1, nil).start2()
	require.Empty(t, w.ask2(0, "cmd=abort;isworld=FALSE;msg=only me;"))
	require.Empty(t, w.aborts)
	require.Equal(t, []pmi.Note{{Rank: 0, Text: "aborts itself: only me"}}, w.notes)
}

// A request with thrid comes from one of several threads, and does not hold up
// the others while it waits for other ranks.
func TestCorner11Threads(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 1, 2, nil).start2()
	require.Equal(t, "cmd=job-getid-response;thrid=0x7f3c;rc=0;jobid="+kvsname+";", w.ask2(0, "cmd=job-getid;thrid=0x7f3c;"))
	require.Empty(t, w.ask2(0, "cmd=kvs-fence;thrid=a;"))
	require.Empty(t, w.ask2(0, "cmd=info-getnodeattr;key=k;wait=TRUE;thrid=b;"))
	require.Equal(t, "cmd=kvs-put-response;thrid=c;rc=0;", w.ask2(0, "cmd=kvs-put;key=k;value=v;thrid=c;"))
	require.Empty(t, w.ask2(0, "cmd=kvs-fence;thrid=d;"), "the fence after the one under way")
	require.Equal(t, "cmd=info-putnodeattr-response;thrid=e;rc=0;\ncmd=info-getnodeattr-response;thrid=b;rc=0;found=TRUE;value=w;",
		w.ask2(0, "cmd=info-putnodeattr;key=k;value=w;thrid=e;"))
	require.Equal(t, fence2OK, w.ask2(1, fence2))
	require.Equal(t, frame("cmd=kvs-fence-response;thrid=a;rc=0;"), w.take(0))
	require.Equal(t, fence2OK, w.ask2(1, fence2))
	require.Equal(t, frame("cmd=kvs-fence-response;thrid=d;rc=0;"), w.take(0))
	require.Equal(t, "cmd=kvs-put-response;thrid=z;rc=-1;errmsg=no_key;", w.ask2(0, "cmd=kvs-put;thrid=z;"))
}

func TestCorner12NodeAttributes(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 2, 3, nil).start2()
	wait := "cmd=info-getnodeattr;key=k;wait=TRUE;"
	require.Equal(t, "cmd=info-getnodeattr-response;rc=0;found=FALSE;", w.ask2(0, "cmd=info-getnodeattr;key=k;wait=FALSE;"))
	require.Empty(t, w.ask2(0, wait))
	w.send(1, frame(wait)+frame(get2("k")))
	require.Empty(t, w.take(1))
	require.Empty(t, w.ask2(3, wait), "the other node has its own")
	require.Equal(t, "cmd=info-putnodeattr-response;rc=0;", w.ask2(2, "cmd=info-putnodeattr;key=k;value=v;;w;"))
	const got = "cmd=info-getnodeattr-response;rc=0;found=TRUE;value=v;;w;"
	require.Equal(t, frame(got), w.take(0))
	require.Equal(t, frame(got)+frame(notFound2), w.take(1))
	require.Equal(t, got, w.ask2(0, wait), "at once")
	require.Empty(t, w.take(3))
	w.ask2(2, "cmd=info-putnodeattr;key=k;value=other;")
	require.Contains(t, w.ask2(0, wait), "value=other;")
	require.Equal(t, "cmd=info-getnodeattr-response;rc=-1;errmsg=no_key;", w.ask2(0, "cmd=info-getnodeattr;"))
	require.Equal(t, "cmd=info-putnodeattr-response;rc=-1;errmsg=no_value;", w.ask2(0, "cmd=info-putnodeattr;key=k;"))
	require.Equal(t, "cmd=info-getnodeattr-response;rc=0;found=FALSE;", w.ask2(0, "cmd=info-getnodeattr;wait=TRUE;key="+strings.Repeat("k", 64)+";"),
		"nobody can put it")
	refused := 0
	for i := range 1100 {
		got := w.ask2(5, fmt.Sprintf("cmd=info-putnodeattr;key=k%d;value=%s;", i, strings.Repeat("v", 1000)))
		if strings.Contains(got, "errmsg=more_than_1048576_bytes_of_node_attributes;") {
			refused++
		}
	}
	require.NotZero(t, refused, "a node's attributes are bounded")
	require.Empty(t, w.violations)
}

// A wake may let a third rank put what the first one waits for in turn.
func TestCorner12WakesInARow(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 1, 3, nil).start2()
	wait := func(k string) string { return frame("cmd=info-getnodeattr;key=" + k + ";wait=TRUE;") }
	put := func(k string) string { return frame("cmd=info-putnodeattr;key=" + k + ";value=v;") }
	w.send(1, wait("a")+put("b"))
	w.send(2, wait("b")+put("c"))
	w.send(0, put("x")+frame("cmd=info-getnodeattr;key=c;wait=TRUE;thrid=1;")+put("a")+wait("c")+put("y"))
	require.Len(t, split(t, w.take(0)), 5)
	require.Len(t, split(t, w.take(1)), 2)
	require.Len(t, split(t, w.take(2)), 2)
}

func TestCorner13Fences(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 3, 2, nil).start2()
	w.fence2()
	for i := range 5 {
		require.Equal(t, put2OK, w.ask2(4, put2(fmt.Sprint("k", i), "v")))
	}
	w.fence2()
	for r := range job.Rank(6) {
		require.Equal(t, value2("v"), w.ask2(r, get2("k4")))
		require.Equal(t, pmi.Running, w.node(r).server.Phase(r))
	}
	// MPICH's PMI-2 barrier: a fence and the get of a key that is never put.
	for r := range job.Rank(6) {
		w.send(r, frame(fence2)+frame(get2("-NONEXIST-KEY")))
		if r < 5 {
			require.Empty(t, w.take(r))
		}
	}
	for r := range job.Rank(6) {
		require.Equal(t, frame(fence2OK)+frame(notFound2), w.take(r))
	}
}
