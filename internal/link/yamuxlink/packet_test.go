package yamuxlink

import (
	"bytes"
	"io"
	"runtime"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/link"
)

func TestReadRecordRefuses(t *testing.T) {
	for _, c := range []struct {
		name   string
		stream link.Stream
		bytes  string
		want   string // of the error
	}{
		{name: "unknown kind", stream: link.Control, bytes: "\x07\x00\x00\x00", want: "unknown packet kind 7"},
		{name: "control packet elsewhere", stream: link.Data, bytes: "\x04\x00\x00\x00", want: "packet kind 4 belongs on control"},
		{name: "payload of an END", stream: link.KVS, bytes: "\x01\x00\x00\x02ab", want: "packet kind 1 with a payload of 2 bytes"},
		{name: "long control frame", stream: link.Control, bytes: "\x00\x01\x00\x01", want: "a frame of 65537 bytes exceeds the limit of 65536"},
		{name: "long frame", stream: link.Stdio, bytes: "\x00\xff\xff\xff", want: "a frame of 16777215 bytes exceeds the limit of 1048640"},
		{name: "nothing", stream: link.Stdio, want: "EOF"},
		{name: "half a header", stream: link.Stdio, bytes: "\x00\x00", want: "unexpected EOF"},
		{name: "header only", stream: link.Stdio, bytes: "\x00\x00\x00\x05", want: "unexpected EOF"},
		{name: "half a frame", stream: link.Stdio, bytes: "\x00\x00\x00\x05abc", want: "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, _, err := readPacket(bytes.NewReader([]byte(c.bytes)), c.stream)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// A claimed length costs no memory before it is found legal.
func TestReadRecordChecksBeforeItTakesMemory(t *testing.T) {
	header := []byte("\x00\xff\xff\xff")
	const n = 100
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		_, _, err := readPacket(bytes.NewReader(header), link.Data)
		require.Error(t, err)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/n, uint64(64<<10))
}

func FuzzReadRecord(f *testing.F) {
	f.Add(uint8(0), []byte("\x00\x00\x00\x03abc\x01\x00\x00\x00"))
	f.Add(uint8(3), []byte("\x00\x00\x00\x00\x00\x10\x00\x40"))
	f.Add(uint8(0), []byte("\x05\x00\x00\x00\x06\x00\x00\x00\x04\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, stream uint8, data []byte) {
		s := link.Stream(stream % uint8(link.NumStreams))
		r := iotest.OneByteReader(bytes.NewReader(data))
		var again []byte
		for {
			k, payload, err := readPacket(r, s)
			if err != nil {
				if err == io.EOF {
					require.Len(t, again, len(data), "what was accepted reads as it was written")
				}
				require.True(t, bytes.HasPrefix(data, again))
				return
			}
			require.LessOrEqual(t, len(payload), link.MaxFrameOf(s))
			again = append(appendHeader(again, k, len(payload)), payload...)
		}
	})
}
