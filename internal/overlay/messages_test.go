package overlay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/pmi"
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
	f.Add(Chunk{Rank: job.RankID{Rank: 7}, Stream: stdio.Stdout, At: time.UnixMicro(1e15), Data: []byte("x")}.AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		total := 0
		err := Chunks(b, func(c Chunk) { total += len(c.Data) })
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
	want := []Chunk{
		{Rank: job.RankID{Rank: 7}, Stream: stdio.Stdout, Data: []byte("hello\n")},
		{Rank: job.RankID{World: 12, Rank: 300}, Stream: stdio.Stderr, Data: []byte{}},
		{Rank: job.RankID{Rank: 8}, Stream: stdio.Stderr, At: time.UnixMicro(1_790_000_000_123_456), Data: []byte("x")},
	}
	var b []byte
	whole := map[int]bool{}
	for _, c := range want {
		b = c.AppendTo(b)
		whole[len(b)] = true
	}
	var got []Chunk
	require.NoError(t, Chunks(b, func(c Chunk) { got = append(got, c) }))
	require.Equal(t, want, got)
	for n := 1; n < len(b); n++ {
		require.Equal(t, whole[n], Chunks(b[:n], func(Chunk) {}) == nil, "only a whole record is whole")
	}
	late := Chunk{Rank: job.RankID{Rank: 8}, At: time.UnixMicro(1 << 62), Stream: stdio.Stdout}.AppendTo(nil)
	require.NoError(t, Chunks(late, func(c Chunk) { require.Equal(t, 9999, c.At.UTC().Year()) }))
	require.Error(t, Chunks([]byte{0, 0, 0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0}, func(Chunk) {}))
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
