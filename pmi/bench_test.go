package pmi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
)

// newServer returns a server with four ranks, of which rank 2 is initialised.
func newServer(b *testing.B) *pmi.Server {
	s, err := pmi.NewServer(pmi.World{Size: 64, KVSName: kvsname, UniverseSize: -1, AppNum: func(job.Rank) int { return 0 }},
		[]job.Rank{0, 1, 2, 3})
	require.NoError(b, err)
	s.Receive(2, []byte(initLine+"\n"), new(pmi.Effects))
	return s
}

func BenchmarkGet(b *testing.B) {
	s := newServer(b)
	line := []byte(get("-allgather-shm-1-1234") + "\n")
	value := strings.Repeat("v", 256)
	var out pmi.Effects
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		s.Receive(2, line, &out)
		s.GetDone(2, value, true, &out)
	}
	require.Len(b, out.Replies[0].Data, len(value)+len("cmd=get_result rc=0 value=\n"))
}

func BenchmarkPut(b *testing.B) {
	s := newServer(b)
	line := []byte(put("-allgather-shm-1-1234", strings.Repeat("v", 256)) + "\n")
	var out pmi.Effects
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		s.Receive(2, line, &out)
		s.PutDone(2, nil, &out)
	}
	require.Equal(b, putOK+"\n", string(out.Replies[0].Data))
}

func BenchmarkGet2(b *testing.B) {
	s := newServer(b)
	text := []byte(frame("cmd=kvs-get;jobid=" + kvsname + ";srcid=-1;key=-allgather-shm-1-1234;"))
	value := strings.Repeat("v", 256)
	var out pmi.Effects
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		s.Receive(2, text, &out)
		s.GetDone(2, value, true, &out)
	}
	require.Len(b, out.Replies[0].Data, len(frame(value2(value))))
}

func BenchmarkPut2(b *testing.B) {
	s := newServer(b)
	text := []byte(frame(put2("-allgather-shm-1-1234", strings.Repeat("v", 256))))
	var out pmi.Effects
	b.ReportAllocs()
	for b.Loop() {
		out.Reset()
		s.Receive(2, text, &out)
		s.PutDone(2, nil, &out)
	}
	require.Equal(b, frame(put2OK), string(out.Replies[0].Data))
}

// The paths that every rank takes most often must not allocate.
func TestGetAndPutDoNotAllocate(t *testing.T) {
	w := newWorld(t, 1, 1, nil).init()
	n := w.nodes[0]
	w.ask(0, put("k", "v"))
	getLine, putLine := []byte(get("k")+"\n"), []byte(put("other", "v")+"\n")
	getText, putText := []byte(frame(get2("k"))), []byte(frame(put2("other", "v")))
	allocs := testing.AllocsPerRun(1000, func() {
		n.server.Receive(0, getLine, &n.out)
		q := n.out.Requests[0]
		n.board.Get(uint64(q.Rank), q.Key, &n.bout)
		a := n.bout.Answers[0]
		n.server.GetDone(job.Rank(a.Token), a.Value, a.Found, &n.out)
		n.out.Reset()
		n.bout.Reset()
		n.server.Receive(0, putLine, &n.out)
		n.server.PutDone(0, nil, &n.out)
		n.out.Reset()
		n.server.Receive(0, getText, &n.out)
		n.server.GetDone(0, "v", true, &n.out)
		n.server.Receive(0, putText, &n.out)
		n.server.PutDone(0, nil, &n.out)
		n.out.Reset()
	})
	require.Zero(t, allocs)
}
