package pmi_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/pmi"
)

// newServer is a server with four ranks, of which rank 2 is initialised.
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

// The paths that every rank takes most often must not allocate.
func TestGetAndPutDoNotAllocate(t *testing.T) {
	w := newWorld(t, 1, 1, nil).init()
	n := w.nodes[0]
	w.ask(0, put("k", "v"))
	getLine, putLine := []byte(get("k")+"\n"), []byte(put("other", "v")+"\n")
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
	})
	require.Zero(t, allocs)
}
