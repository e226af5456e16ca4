package pmi_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/pmi"
)

func TestCorner15Names(t *testing.T) {
	w := newWorld(t, 2, 1, nil)
	w.ask(0, initLine)
	w.ask(1, init2)
	require.Equal(t, "cmd=publish_result info=ok rc=0", w.ask(0, "cmd=publish_name service=my svc port=tag#0 d=x"))
	require.Equal(t, "cmd=publish_result info=fail rc=1 msg=service_already_published", w.ask(0, "cmd=publish_name service=my svc port=p"))
	require.Equal(t, "cmd=lookup_result info=ok rc=0 port=tag#0 d=x", w.ask(0, "cmd=lookup_name service=my svc"))
	require.Equal(t, "cmd=name-lookup-response;rc=0;found=TRUE;port=tag#0 d=x;value=tag#0 d=x;", w.ask2(1, "cmd=name-lookup;name=my svc;infokeycount=0;"))
	require.Equal(t, "cmd=name-publish-response;rc=1;errmsg=service_already_published;", w.ask2(1, "cmd=name-publish;name=my svc;port=q;"))
	require.Equal(t, "cmd=name-unpublish-response;rc=0;", w.ask2(1, "cmd=name-unpublish;name=my svc;"))
	require.Equal(t, "cmd=name-unpublish-response;rc=1;errmsg=service_not_found;", w.ask2(1, "cmd=name-unpublish;name=my svc;"))
	require.Equal(t, "cmd=name-lookup-response;rc=1;errmsg=service_not_found;", w.ask2(1, "cmd=name-lookup;name=my svc;"))
	require.Equal(t, "cmd=unpublish_result info=fail rc=1 msg=service_not_found", w.ask(0, "cmd=unpublish_name service=my svc"))
	require.Equal(t, "cmd=lookup_result info=fail rc=1 msg=service_not_found", w.ask(0, "cmd=lookup_name service=other"))
	require.Equal(t, "cmd=name-publish-response;rc=0;", w.ask2(1, "cmd=name-publish;name=lf;port=a\nb;"))
	require.Equal(t, "cmd=lookup_result info=fail rc=1 msg=value_with_a_line_feed", w.ask(0, "cmd=lookup_name service=lf"))
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

func TestCorner16Initack(t *testing.T) {
	w := newWorld(t, 1, 2, nil)
	s := w.nodes[0].server
	const text = "cmd=initack pmiid=1\n" + initLine + "\n"
	for cut := range len("cmd=initack pmiid=1\n") {
		_, used, err := pmi.Initack([]byte(text[:cut]))
		require.NoError(t, err)
		require.Zero(t, used)
	}
	r, used, err := pmi.Initack([]byte(text))
	require.NoError(t, err)
	require.Equal(t, job.Rank(1), r)
	var out pmi.Effects
	require.NoError(t, s.Attach(r, &out))
	s.Receive(r, []byte(text[used:]), &out)
	require.Equal(t, "cmd=initack rc=0\ncmd=set size=2\ncmd=set rank=1\ncmd=set debug=0\n"+
		"cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n", string(out.Replies[0].Data))
	require.EqualError(t, s.Attach(1, &out), "a second connection for pmiid 1")
	require.EqualError(t, s.Attach(2, &out), "a connection for pmiid 2, which is not on this node")
	for _, bad := range []string{"\n", "GET / HTTP/1.0\r\n", "cmd=init pmi_version=1\n", "cmd=initacks pmiid=1\n", "cmd=initack\n",
		"cmd=initack pmiid=x\n", "cmd=initack pmiid=-1\n", "cmd=initack " + strings.Repeat("x", 2000)} {
		_, _, err := pmi.Initack([]byte(bad))
		require.Error(t, err, bad)
	}
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

// What the bulletin board cannot do ends the ring at that rank.
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
