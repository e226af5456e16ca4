package pmi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
)

func TestCorner15Names(tt *testing.T) {
	t := asCorner(tt)
	w := newWorld(t, 2, 1, nil)
	w.ask(0, initLine)
	w.ask(1, init2)
	require.Equal(t, "cmd=publish_result info=ok rc=0", w.ask(0, "cmd=publish_name service=my svc port=tag#0"))
	require.Equal(t, "cmd=publish_result info=fail rc=1 msg=service_already_published", w.ask(0, "cmd=publish_name service=my svc port=p"))
	require.Equal(t, "cmd=lookup_result info=ok rc=0 port=tag#0", w.ask(0, "cmd=lookup_name service=my svc"))
	require.Equal(t, "cmd=name-lookup-response;rc=0;found=TRUE;port=tag#0;value=tag#0;", w.ask2(1, "cmd=name-lookup;name=my svc;infokeycount=0;"))
	require.Equal(t, "cmd=name-publish-response;rc=1;errmsg=service_already_published;", w.ask2(1, "cmd=name-publish;name=my svc;port=q;"))
	require.Equal(t, "cmd=name-unpublish-response;rc=0;", w.ask2(1, "cmd=name-unpublish;name=my svc;"))
	require.Equal(t, "cmd=name-unpublish-response;rc=1;errmsg=service_not_found;", w.ask2(1, "cmd=name-unpublish;name=my svc;"))
	require.Equal(t, "cmd=name-lookup-response;rc=1;errmsg=service_not_found;", w.ask2(1, "cmd=name-lookup;name=my svc;"))
	require.Equal(t, "cmd=unpublish_result info=fail rc=1 msg=service_not_found", w.ask(0, "cmd=unpublish_name service=my svc"))
	require.Equal(t, "cmd=lookup_result info=fail rc=1 msg=service_not_found", w.ask(0, "cmd=lookup_name service=other"))
	require.Equal(t, "cmd=name-publish-response;rc=0;", w.ask2(1, "cmd=name-publish;name=lf;port=a\nb;"))
	require.Equal(t, "cmd=lookup_result info=fail rc=1 msg=value_with_a_line_feed", w.ask(0, "cmd=lookup_name service=lf"))
	require.Equal(t, "cmd=name-publish-response;rc=0;", w.ask2(1, "cmd=name-publish;name=blank;port=a b;"))
	require.Equal(t, "cmd=name-lookup-response;rc=0;found=TRUE;port=a b;value=a b;", w.ask2(1, "cmd=name-lookup;name=blank;"))
	require.Equal(t, "cmd=lookup_result info=fail rc=1 msg=port_with_a_blank", w.ask(0, "cmd=lookup_name service=blank"))
	require.Equal(t, "cmd=publish_result info=fail rc=1 msg=port_with_a_blank", w.ask(0, "cmd=publish_name service=mine port=a b"))
	require.Equal(t, "cmd=lookup_result info=fail rc=1 msg=service_not_found", w.ask(0, "cmd=lookup_name service=mine"))
	long := strings.Repeat("n", 1024)
	for line, want := range map[string]string{
		"cmd=publish_name":                        "publish_result info=fail rc=1 msg=no_name",
		"cmd=publish_name service=s":              "publish_result info=fail rc=1 msg=no_port",
		"cmd=publish_name service=s port=" + long: "publish_result info=fail rc=1 msg=port_longer_than_1023_bytes",
		"cmd=lookup_name service=" + long:         "lookup_result info=fail rc=1 msg=name_longer_than_1023_bytes",
		"cmd=unpublish_name service=":             "unpublish_result info=fail rc=1 msg=no_name",
	} {
		require.Equal(t, "cmd="+want, w.ask(0, line))
	}
	var n pmi.Names
	_, err := n.Do(pmi.Fence, "s", "")
	require.EqualError(t, err, "fence is not about names")
	var full error
	for i := 0; full == nil; i++ {
		_, full = n.Do(pmi.Publish, fmt.Sprint(i, strings.Repeat("s", 1<<20)), "")
	}
	require.ErrorIs(t, full, pmi.ErrNamesFull)
}

// callers are the ways to begin a connection to PMI_PORT, with the answer that
// comes before the rank is known, what the rank is greeted with, and what it
// sends.
var callers = map[string]struct{ said, answer, greeting, asks, reply string }{
	"PMI-1": {said: "cmd=initack pmiid=1\n", greeting: "cmd=initack rc=0\ncmd=set size=2\ncmd=set rank=1\ncmd=set debug=0\n",
		asks: initLine + "\n", reply: "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0"},
	"PMI-2": {said: init2 + "\n" + frame("cmd=fullinit;pmirank=1;threaded=FALSE;"), answer: init2OK + "\n", greeting: "",
		asks: frame("cmd=job-getid;"), reply: fullInit1OK + frame("cmd=job-getid-response;rc=0;jobid="+kvsname+";")},
	"Slurm's libpmi2": {said: init2 + "\n" + frame("cmd=fullinit;srcid=1;threaded=FALSE;"), answer: init2OK + "\n", reply: fullInit1OK},
}

var fullInit1OK = frame("cmd=fullinit-response;rc=0;pmi-version=2;pmi-subversion=0;rank=1;size=2;appnum=0;debugged=FALSE;pmiverbose=FALSE;")

func TestCorner16Initack(t *testing.T) {
	for name, x := range callers {
		t.Run(name, func(tt *testing.T) {
			t := asCorner(tt)
			for cut := range len(x.said) {
				w := newWorld(t, 1, 2, nil)
				c := new(pmi.Caller)
				first, known, err := c.Receive([]byte(x.said[:cut]))
				require.NoError(t, err)
				require.False(t, known)
				second, known, err := c.Receive([]byte(x.said[cut:] + x.asks))
				require.NoError(t, err)
				require.True(t, known)
				require.Equal(t, x.answer, first+second)
				require.Equal(t, job.Rank(1), c.Rank)
				n := w.nodes[0]
				require.NoError(t, n.server.Attach(c, &n.out))
				w.settle(n)
				require.Equal(t, x.greeting+x.reply, w.take(1))
				require.EqualError(t, n.server.Attach(c, &n.out), "pmiid 1 has one already")
				c.Rank = 2
				require.EqualError(t, n.server.Attach(c, &n.out), "pmiid 2 is not on this node")
			}
		})
	}
	for bad, says := range map[string]string{
		"\n":                                             "not a PMI command",
		"GET / HTTP/1.0\r\n":                             "not a PMI command",
		"cmd=init pmi_version=1\n":                       "not with initack",
		"cmd=initacks pmiid=1\n":                         "not with initack",
		"cmd=initack\n":                                  "not with initack",
		"cmd=initack pmiid=x\n":                          "no readable pmiid",
		"cmd=initack pmiid=-1\n":                         "no readable pmiid",
		"cmd=initack pmiid=99999999999999999999\n":       "no readable pmiid",
		"cmd=initack " + strings.Repeat("x", 5000):       "more than 4096 bytes",
		"  5000" + strings.Repeat("x", 5000):             "malformed",
		" 60000" + strings.Repeat("x", 5000):             "more than 4096 bytes",
		init2 + "\n" + init2 + "\n":                      "not with initack",
		init2 + "\ncmd=initack pmiid=0\n":                "not with initack",
		init2 + "\n" + frame("cmd=job-getid;"):           "not with init and fullinit",
		init2 + "\n" + frame("cmd=fullinit;"):            "not with init and fullinit",
		init2 + "\n" + frame("cmd=fullinit;pmirank=-1;"): "not with init and fullinit",
		init2 + "\n" + frame("fullinit"):                 "malformed",
		frame("cmd=fullinit;pmirank=1;"):                 "not with init and fullinit",
	} {
		_, known, err := new(pmi.Caller).Receive([]byte(bad))
		require.ErrorContains(t, err, says, bad)
		require.False(t, known && err == nil)
	}
}

// The rank of a connection does not depend on how its bytes were cut.
func FuzzCaller(f *testing.F) {
	for _, x := range callers {
		f.Add(x.said+x.asks, 3)
	}
	f.Fuzz(func(t *testing.T, data string, cut int) {
		whole, pieces := new(pmi.Caller), new(pmi.Caller)
		answer, known, err := whole.Receive([]byte(data))
		cut = min(max(cut, 0), len(data))
		first, knownFirst, errFirst := pieces.Receive([]byte(data[:cut]))
		if knownFirst || errFirst != nil {
			return // the rest is not the caller's to read
		}
		second, knownThen, errThen := pieces.Receive([]byte(data[cut:]))
		require.Equal(t, err == nil, errThen == nil)
		if err == nil {
			require.Equal(t, known, knownThen)
			require.Equal(t, answer, first+second)
			require.Equal(t, whole.Rank, pieces.Rank)
		}
	})
}

func TestRing(t *testing.T) {
	w := newWorld(t, 2, 2, nil).start2()
	for round := range 3 {
		for r := range 4 {
			w.send(job.Rank(r), frame(fmt.Sprintf("cmd=ring;ring-count=1;ring-left=l%d.%d;;;ring-right=r%d.%d;thrid=%d;", round, r, round, r, r)))
		}
		for r := range 4 {
			require.Equal(t, frame(fmt.Sprintf("cmd=ring-response;thrid=%d;rc=0;ring-id=%d;ring-count=%d;ring-left=r%d.%d;ring-right=l%d.%d;;;",
				r, r, r, round, (r+3)%4, round, (r+1)%4)), w.take(job.Rank(r)))
		}
	}
	for text, want := range map[string]string{
		"cmd=ring;ring-count=2;ring-left=a;ring-right=b;":                                 "ring-count_must_be_1",
		"cmd=ring;ring-left=a;ring-right=b;":                                              "ring-count_must_be_1",
		"cmd=ring;ring-count=1;ring-left=a;":                                              "no_ring-left_or_ring-right",
		"cmd=ring;ring-count=1;ring-left=a;ring-right=" + strings.Repeat("b", 1024) + ";": "value_longer_than_1023_bytes",
	} {
		require.Equal(t, "cmd=ring-response;rc=-1;errmsg="+want+";", w.ask2(0, text))
	}
}

// An error of the bulletin board ends the ring at that rank.
func TestRingErrors(t *testing.T) {
	s := newWorld(t, 1, 2, nil).start2().nodes[0].server
	var out pmi.Effects
	begin := func() {
		out.Reset()
		s.Receive(0, []byte(frame("cmd=ring;ring-count=1;ring-left=a;ring-right=b;")+frame("cmd=job-getid;")), &out)
		require.Equal(t, pmi.Put, out.Requests[0].Op)
		require.Empty(t, out.Replies)
	}
	ended := func(cause string) {
		t.Helper()
		require.Equal(t, []string{"cmd=ring-response;rc=-1;errmsg=" + cause + ";", "cmd=job-getid-response;rc=0;jobid=" + kvsname + ";"},
			split(t, string(out.Replies[0].Data)))
	}
	begin()
	s.PutDone(0, errors.New("board full"), &out)
	ended("board_full")
	begin()
	s.PutDone(0, nil, &out)
	s.PutDone(0, nil, &out)
	require.Equal(t, pmi.Fence, out.Requests[2].Op)
	s.FenceDone(&out)
	require.Equal(t, pmi.Get, out.Requests[3].Op)
	s.GetDone(0, "", false, &out)
	ended("a_neighbour_is_not_in_the_ring")

	out.Reset()
	s.Receive(0, []byte(frame(put2("k", "v"))), &out)
	s.PutDone(0, errors.New("board full"), &out)
	require.Equal(t, frame("cmd=kvs-put-response;rc=-1;errmsg=board_full;"), string(out.Replies[0].Data))
	require.Equal(t, "operation 99", pmi.Op(99).String())
	require.Equal(t, "spawn", pmi.SpawnWorld.String())
}

// Names keeps count of what it holds.
func TestNamesAreForgotten(t *testing.T) {
	var n pmi.Names
	for i := range 200 {
		name := fmt.Sprint("s", i)
		_, err := n.Do(pmi.Publish, name, string(make([]byte, 1<<20)))
		require.NoError(t, err)
		_, err = n.Do(pmi.Unpublish, name, "")
		require.NoError(t, err)
	}
}
