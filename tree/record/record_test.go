package record

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestRecordsComeBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Record{
			Kind: Kind(rapid.IntRange(1, int(numKinds)-1).Draw(t, "kind")), Each: rapid.Bool().Draw(t, "each"),
			Op: Op(rapid.IntRange(0, int(numOps)-1).Draw(t, "op")), Fn: rapid.Byte().Draw(t, "fn"),
			Comm: rapid.Uint64().Draw(t, "comm"), Seq: rapid.Uint64().Draw(t, "seq"),
			Src: rapid.IntRange(-1, 1<<30).Draw(t, "src"), Dst: rapid.IntRange(0, 1<<30).Draw(t, "dst"),
			Count: rapid.IntRange(0, 1<<30).Draw(t, "count"), Off: rapid.Int64Range(-1, 1<<60).Draw(t, "off"),
			Size: rapid.Int64Range(0, 1<<60).Draw(t, "size"), Body: rapid.SliceOfN(rapid.Byte(), 0, 99).Draw(t, "body"),
		}
		var got Record
		b := Append(nil, &want)
		used, err := Parse(append(b, 1, 2, 3), &got)
		require.NoError(t, err)
		require.Equal(t, len(b), used)
		require.LessOrEqual(t, len(b), MaxSize-MaxBody+len(want.Body))
		require.Equal(t, want.Body, append([]byte{}, got.Body...))
		got.Body = want.Body
		require.Equal(t, want, got)

		framed := append(AppendFrame(nil, &want), AppendFrame(nil, &want)...)
		for cut := range framed {
			raw, rest, err := Frame(framed[:cut])
			require.NoError(t, err)
			if raw == nil {
				require.Equal(t, framed[:cut], rest)
				require.Less(t, cut, len(b)+4)
			} else {
				require.Equal(t, b, raw)
			}
		}
	})
}

func TestRefused(t *testing.T) {
	good := Append(nil, &Record{Kind: Data, Body: []byte("abc")})
	for name, b := range map[string][]byte{
		"nothing":           nil,
		"cut short":         good[:len(good)-1],
		"header cut short":  good[:5],
		"kind 0":            append([]byte{0}, good[1:]...),
		"unknown kind":      append([]byte{byte(numKinds)}, good[1:]...),
		"unknown operation": append([]byte{byte(Data), byte(numOps)}, good[2:]...),
		"huge body":         append(good[:len(good)-4:len(good)-4], binary.AppendUvarint(nil, MaxBody+1)...),
		"huge member":       append([]byte{byte(Data), 0, 0, 0, 0}, binary.AppendUvarint(nil, 1<<40)...),
	} {
		var r Record
		_, err := Parse(b, &r)
		require.Error(t, err, name)
	}
	_, _, err := Frame([]byte{0xff, 0, 0, 0})
	require.ErrorContains(t, err, "a record of 4278190080 bytes")
}

func TestRuns(t *testing.T) {
	for _, list := range [][]int{nil, {0}, {3, 4, 5, 1, 0, 9}, {9, 8, 7}} {
		got, err := ParseRuns(AppendRuns(nil, list), 10)
		require.NoError(t, err)
		require.Equal(t, list, got)
	}
	for _, b := range [][]byte{{3}, {10, 1}, {3, 0}, {3, 8}, {0, 10, 0, 1}, {0x80}} {
		_, err := ParseRuns(b, 10)
		require.Error(t, err, "% x", b)
	}
}

func TestFold(t *testing.T) {
	le := binary.LittleEndian
	u64 := func(v uint64) []byte { return le.AppendUint64(nil, v) }
	u32 := func(v uint32) []byte { return le.AppendUint32(nil, v) }
	f64 := func(v float64) []byte { return u64(math.Float64bits(v)) }
	minus := func(v int64) uint64 { return uint64(-v) }
	for _, x := range []struct {
		fn      uint8
		a, b, c []byte
	}{
		{fn: Int64 | Sum, a: u64(5), b: u64(minus(7)), c: u64(minus(2))},
		{fn: Int64 | Min, a: u64(5), b: u64(minus(7)), c: u64(minus(7))},
		{fn: Uint64 | Min, a: u64(5), b: u64(minus(7)), c: u64(5)},
		{fn: Uint64 | Max, a: u64(5), b: u64(minus(7)), c: u64(minus(7))},
		{fn: Int32 | Prod, a: u32(5), b: u32(7), c: u32(35)},
		{fn: Float64 | Sum, a: f64(0.5), b: f64(0.25), c: f64(0.75)},
		{fn: Float64 | Max, a: f64(-0.5), b: f64(-0.25), c: f64(-0.25)},
		{fn: Float32 | Prod, a: u32(math.Float32bits(2)), b: u32(math.Float32bits(1.5)), c: u32(math.Float32bits(3))},
		{fn: Uint8 | And, a: []byte{0xf0, 3}, b: []byte{0x3c, 1}, c: []byte{0x30, 1}},
		{fn: Uint8 | Or, a: []byte{0xf0}, b: []byte{0x0c}, c: []byte{0xfc}},
		{fn: Uint64 | Xor, a: u64(6), b: u64(3), c: u64(5)},
		{fn: Int64 | MinLoc, a: append(u64(2), u64(7)...), b: append(u64(1), u64(minus(7))...), c: append(u64(1), u64(minus(7))...)},
		{fn: Uint64 | MinLoc, a: append(u64(2), u64(7)...), b: append(u64(1), u64(minus(7))...), c: append(u64(2), u64(7)...)},
		{fn: Float64 | MaxLoc, a: append(u64(2), f64(0.5)...), b: append(u64(1), f64(0.5)...), c: append(u64(1), f64(0.5)...)},
		{fn: Uint8 | MaxLoc, a: append(u64(1), 3, 0, 0, 0, 0, 0, 0, 0), b: append(u64(2), 9, 0, 0, 0, 0, 0, 0, 0), c: append(u64(2), 9, 0, 0, 0, 0, 0, 0, 0)},
	} {
		require.NoError(t, Fold(x.fn, x.a, x.b))
		require.Equal(t, x.c, x.a, "function %#x", x.fn)
	}
	require.Error(t, Fold(Int64|Sum, make([]byte, 8), make([]byte, 16)), "sizes differ")
	require.Error(t, Fold(Int64|Sum, make([]byte, 4), make([]byte, 4)), "half an element")
	for _, fn := range []uint8{0, Sum, Int64, Float64 | Xor, 0xff} {
		require.Zero(t, ElementSize(fn), "%#x is no function", fn)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(AppendFrame(nil, &Record{Kind: Data, Op: Gather, Src: 3, Dst: 2, Count: 1, Size: 5, Body: []byte("hello")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		for {
			raw, rest, err := Frame(b)
			if err != nil || raw == nil {
				return
			}
			var r Record
			used, err := Parse(raw, &r)
			if err == nil && (used > len(raw) || len(r.Body) > used || r.Dst < 0 || r.Count < 0 || r.Size < 0) {
				t.Fatalf("%+v from %d bytes", r, used)
			}
			b = rest
		}
	})
}
