package tree

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestHeaderRoundTrip(t *testing.T) {
	for _, h := range []Header{
		{Kind: 1, To: Launcher, From: 0},
		{Kind: 255, More: true, To: Everyone, From: Launcher},
		{Kind: 7, To: 65535, From: 1 << 20},
		{Kind: 9, World: 65535, Job: 1<<32 - 1, To: Neighbor, From: 3},
	} {
		got, payload, err := ParseHeader(append(AppendHeader(nil, h), "payload"...))
		require.NoError(t, err)
		require.Equal(t, h, got)
		require.Equal(t, "payload", string(payload))
	}
}

func TestParseHeaderRefuses(t *testing.T) {
	good := AppendHeader(nil, Header{Kind: 1, To: 2, From: 3})
	for name, frame := range map[string][]byte{
		"short":           good[:HeaderSize-1],
		"empty":           nil,
		"unknown flag":    append([]byte{1, 0x80}, good[2:]...),
		"bad destination": AppendHeader(nil, Header{Kind: 1, To: -4, From: 3}),
		"bad source":      AppendHeader(nil, Header{Kind: 1, To: 2, From: Everyone}),
	} {
		_, _, err := ParseHeader(frame)
		require.Error(t, err, name)
	}
}

func TestFragmentsComeTogetherAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := HeaderSize + rapid.IntRange(1, 50).Draw(t, "room")
		var a Assembler
		for range rapid.IntRange(1, 4).Draw(t, "messages") {
			want := rapid.SliceOfN(rapid.Byte(), 0, 200).Draw(t, "payload")
			h := Header{Kind: Kind(rapid.Byte().Draw(t, "kind")), To: Everyone, From: 5}
			var got []byte
			whole := 0
			_, err := Fragments(nil, h, want, limit, func(frame []byte) error {
				require.LessOrEqual(t, len(frame), limit)
				gotH, msg, done, err := a.Add(bytes.Clone(frame))
				require.NoError(t, err)
				if done {
					require.Equal(t, h, gotH)
					got = msg
					whole++
				}
				return nil
			})
			require.NoError(t, err)
			require.Equal(t, 1, whole)
			require.True(t, bytes.Equal(want, got))
		}
	})
}

func TestAssemblerRefusesAMixedMessage(t *testing.T) {
	var a Assembler
	_, _, done, err := a.Add(AppendHeader(nil, Header{Kind: 1, More: true, To: 2, From: 3}))
	require.NoError(t, err)
	require.False(t, done)
	for _, h := range []Header{{Kind: 2, To: 2, From: 3}, {Kind: 1, World: 1, To: 2, From: 3}, {Kind: 1, Job: 1, To: 2, From: 3}} {
		_, _, _, err = a.Add(AppendHeader(nil, h))
		require.ErrorContains(t, err, "breaks into a message of kind 1")
	}
}

func FuzzAssembler(f *testing.F) {
	f.Add(AppendHeader(nil, Header{Kind: 1, To: Everyone, From: Launcher}), []byte{1})
	f.Add(append(AppendHeader(nil, Header{Kind: 1, More: true, To: 4, From: 5}), 1, 2, 3), AppendHeader(nil, Header{Kind: 1, To: 4, From: 5}))
	f.Fuzz(func(t *testing.T, one, two []byte) {
		var a Assembler
		for _, frame := range [][]byte{one, two} {
			h, msg, done, err := a.Add(frame)
			if err != nil {
				return
			}
			if done && h.More {
				t.Fatal("a message is whole although more follows")
			}
			if len(msg) > len(one)+len(two) {
				t.Fatal("bytes out of nothing")
			}
		}
	})
}

// A message is refused before its bytes are kept: when it begins, when it gets too
// long, and when others leave it no room.
func TestAssemblerRefusesBeforeItKeeps(t *testing.T) {
	frame := func(more bool, n int) []byte {
		return append(AppendHeader(nil, Header{Kind: 1, More: more, To: Launcher}), make([]byte, n)...)
	}
	left := 10_000
	a := Assembler{
		Admit: func(h Header) (int, error) {
			if h.World != 0 {
				return 0, errors.New("no such world")
			}
			return 100, nil
		},
		Charge: func(n int) bool { left -= n; return left >= 0 },
	}
	_, _, _, err := a.Add(AppendHeader(nil, Header{Kind: 1, World: 7, To: Launcher}))
	require.ErrorContains(t, err, "no such world")
	_, _, _, err = a.Add(frame(false, 101))
	require.ErrorContains(t, err, "exceeds 100 bytes")
	for range 100 {
		_, _, done, err := a.Add(frame(true, 1))
		require.NoError(t, err)
		require.False(t, done)
	}
	require.LessOrEqual(t, left, 10_000-100*(HeaderSize+1+frameCost), "small fragments take more than their bytes")
	_, _, _, err = a.Add(frame(true, 1))
	require.ErrorContains(t, err, "exceeds 100 bytes")
	_, msg, done, err := a.Add(frame(false, 0))
	require.NoError(t, err)
	require.True(t, done)
	require.Len(t, msg, 100)
	require.Equal(t, 10_000, left)
	left = 100
	_, _, _, err = a.Add(frame(true, 50))
	require.ErrorContains(t, err, "too much is under way")
}
