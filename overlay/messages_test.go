package overlay

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/stdio"
)

// FuzzMessages feeds every decoder of messages what a peer may send.
func FuzzMessages(f *testing.F) {
	f.Add(Encode(Hello{Protocol: Protocol, OSArch: "linux/amd64", HostName: "n1"}))
	f.Add(Encode(Range{Self: HostEntry{Name: "n1"}, Hosts: []HostEntry{{Index: 1, Name: "n2"}}}))
	f.Add(Encode(Launch{Size: 2, Nodes: []job.HostIndex{0}}))
	f.Add(Encode(Ready{Dead: []DeadHost{{Index: 3, Cause: "no"}}}))
	f.Add([]byte{0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}) // an array of 2^64-1
	f.Add([]byte{0xbf, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		// An error or a value, but no panic and no memory beyond the bytes.
		_, _ = Decode[Hello](b)
		_, _ = Decode[Range](b)
		_, _ = Decode[Launch](b)
		_, _ = Decode[Ready](b)
		_, _ = Decode[Started](b)
		_, _ = Decode[Done](b)
		_, _ = Decode[SignRequest](b)
		_, _ = Decode[SignAnswer](b)
		_, _ = Decode[job.Failure](b)
		_, _ = Decode[InputAck](b)
	})
}

func FuzzRecords(f *testing.F) {
	f.Add(AppendRecord(AppendRecord(nil, 7, stdio.Stdout, []byte("hello\n")), 1<<20, stdio.Stderr, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		total := 0
		err := Records(b, func(_ job.Rank, _ stdio.Stream, data []byte) { total += len(data) })
		require.LessOrEqual(t, total, len(b))
		_ = err
	})
}

func TestRecordsRoundTrip(t *testing.T) {
	b := AppendRecord(AppendRecord(nil, 7, stdio.Stdout, []byte("hello\n")), 300, stdio.Stderr, nil)
	type record struct {
		rank   job.Rank
		stream stdio.Stream
		data   string
	}
	var got []record
	require.NoError(t, Records(b, func(r job.Rank, s stdio.Stream, data []byte) { got = append(got, record{r, s, string(data)}) }))
	require.Equal(t, []record{{7, stdio.Stdout, "hello\n"}, {300, stdio.Stderr, ""}}, got)
	for n := 1; n < len(b); n++ {
		if err := Records(b[:n], func(job.Rank, stdio.Stream, []byte) {}); err == nil {
			require.Equal(t, len(AppendRecord(nil, 7, stdio.Stdout, []byte("hello\n"))), n, "only a whole record is whole")
		}
	}
}
