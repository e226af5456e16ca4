package overlay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/stdio"
)

// FuzzMessages feeds every decoder of messages what a peer may send.
func FuzzMessages(f *testing.F) {
	f.Add(Encode(Hello{Protocol: Protocol, OSArch: "linux/amd64", HostName: "n1"}))
	f.Add(Encode(Range{Self: HostEntry{Name: "n1"}, Hosts: []HostEntry{{Index: 1, Name: "n2"}}}))
	f.Add(Encode(Launch{World: World{Size: 2}, Nodes: []job.HostIndex{0}}))
	f.Add(Encode(SpawnRequest{World: 1, Spawn: pmi.Spawn{Commands: []pmi.Command{{Exec: "x", Procs: 2}}}}))
	f.Add(Encode(Ready{Dead: []DeadHost{{Index: 3, Cause: "no"}}}))
	f.Add([]byte{0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) // an array of 2^64-1
	f.Add([]byte{0xbf, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		// An error or a value, but no panic and no memory beyond the bytes.
		_, _ = Decode[Hello](b)
		_, _ = Decode[Range](b)
		_, _ = Decode[Launch](b)
		_, _ = Decode[Ready](b)
		_, _ = Decode[Died](b)
		_, _ = Decode[Started](b)
		_, _ = Decode[World](b)
		_, _ = Decode[SpawnRequest](b)
		_, _ = Decode[SpawnAnswer](b)
		_, _ = Decode[ScheduleRequest](b)
		_, _ = Decode[ScheduleAnswer](b)
		_, _ = Decode[Done](b)
		_, _ = Decode[SignRequest](b)
		_, _ = Decode[Summon](b)
		_, _ = Decode[SignAnswer](b)
		_, _ = Decode[job.Failure](b)
		_, _ = Decode[InputAck](b)
	})
}

func TestTextInAnyEncoding(t *testing.T) {
	want := Note{Text: "gr\xfc\xdfe"} // ISO 8859-1
	got, err := Decode[Note](Encode(want))
	require.NoError(t, err)
	require.Equal(t, want, got)
}

func FuzzRecords(f *testing.F) {
	f.Add(AppendChunk(AppendChunk(nil, job.RankID{Rank: 7}, stdio.Stdout, []byte("hello\n")), job.RankID{World: 65535, Rank: 1 << 20}, stdio.Stderr, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		total := 0
		err := Chunks(b, func(_ job.RankID, _ stdio.Stream, data []byte) { total += len(data) })
		require.LessOrEqual(t, total, len(b))
		_ = err
	})
}

func TestNamedCPUsOfManyRanks(t *testing.T) {
	w := World{Slots: map[job.Rank]string{}}
	for r := range job.Rank(200_000) {
		w.Slots[r] = "0-3"
	}
	got, err := Decode[World](Encode(w))
	require.NoError(t, err)
	require.Equal(t, w.Slots, got.Slots)
}

func TestRecordsRoundTrip(t *testing.T) {
	b := AppendChunk(AppendChunk(nil, job.RankID{Rank: 7}, stdio.Stdout, []byte("hello\n")), job.RankID{World: 12, Rank: 300}, stdio.Stderr, nil)
	type record struct {
		rank   job.RankID
		stream stdio.Stream
		data   string
	}
	var got []record
	require.NoError(t, Chunks(b, func(r job.RankID, s stdio.Stream, data []byte) { got = append(got, record{r, s, string(data)}) }))
	require.Equal(t, []record{{job.RankID{Rank: 7}, stdio.Stdout, "hello\n"}, {job.RankID{World: 12, Rank: 300}, stdio.Stderr, ""}}, got)
	for n := 1; n < len(b); n++ {
		if err := Chunks(b[:n], func(job.RankID, stdio.Stream, []byte) {}); err == nil {
			require.Equal(t, len(AppendChunk(nil, job.RankID{Rank: 7}, stdio.Stdout, []byte("hello\n"))), n, "only a whole record is whole")
		}
	}
}

func TestReadySettles(t *testing.T) {
	r := Ready{
		Live: []NodeInfo{{Index: 0}, {Index: 1, Addr: "old"}, {Index: 2}, {Index: 1, Addr: "new"}, {Index: 3}},
		Dead: []DeadHost{{Index: 3, Cause: "first"}, {Index: 5}, {Index: 3, Cause: "second"}},
	}
	r.Settle()
	require.Equal(t, []NodeInfo{{Index: 0}, {Index: 2}, {Index: 1, Addr: "new"}}, r.Live, "a host that lives once more, and one that does not")
	require.Equal(t, []DeadHost{{Index: 3, Cause: "first"}, {Index: 5}}, r.Dead)
}

// Ranks that fail alike, side by side on one host, are told of once.
func TestStartFailuresFold(t *testing.T) {
	var s Started
	for _, f := range []StartFailure{
		{Host: 1, First: 0, Count: 1, Code: 127, Text: "a"}, {Host: 1, First: 1, Count: 1, Code: 127, Text: "a"},
		{Host: 1, First: 3, Count: 1, Code: 127, Text: "a"}, {Host: 1, First: 4, Count: 1, Code: 126, Text: "a"},
		{Host: 1, First: 5, Count: 1, Code: 126, Text: "b"}, {Host: 2, First: 6, Count: 1, Code: 126, Text: "b"},
	} {
		s.Fail(f)
	}
	require.Len(t, s.Failures, 5)
	require.Equal(t, StartFailure{Host: 1, First: 0, Count: 2, Code: 127, Text: "a"}, s.Failures[0])
}
