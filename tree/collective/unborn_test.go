package collective_test

import (
	"encoding/binary"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/collective"
	"github.com/golaunch/golaunch/tree/record"
)

// between makes a node without ranks, between its parent, who has rank 0, and a child, who has
// rank 1. The child has said that it has one of two members of colour 7 of a split of all
// ranks, the first; the communicator has the number returned.
func between(t *testing.T) (n *collective.Node, id uint64) {
	n, err := collective.New(collective.Config{Ranks: 2, Node: func(rank int) int { return 2 * rank }, Children: 1,
		Directions: collective.Runs(collective.Up, 0, collective.Up, collective.Local, 0)})
	require.NoError(t, err)
	id = 2<<32 | 1
	b := binary.AppendUvarint([]byte{7, 2}, id)
	n.Receive(0, splitPiece(1, 0, append(b, 1, 1, 0, 2, 1)))
	require.Empty(t, flushed(n).Faults)
	return n, id
}

// splitPiece returns a piece of a message of the split that is operation 0 of all
// ranks; whole is the message's length, or 0 where the piece is all of it.
func splitPiece(what uint8, whole int64, body []byte) []byte {
	return record.Append(nil, &record.Record{Kind: record.Piece, Op: record.Split, Fn: what, Size: max(whole, int64(len(body))), Body: body})
}

func flushed(n *collective.Node) *collective.Effects {
	var out collective.Effects
	n.Flush(&out)
	return &out
}

// said returns the records of a kind that a node sends in a direction.
func said(out *collective.Effects, to collective.Direction, k record.Kind) (list []record.Record) {
	for _, f := range out.Frames {
		for b := f.Bytes; f.To == to && len(b) > 0; {
			var r record.Record
			used, err := record.Parse(b, &r)
			if err != nil {
				panic(err)
			}
			if b = b[used:]; r.Kind == k {
				list = append(list, r)
			}
		}
	}
	return list
}

// TestUnborn has a communicator break when others have formed one of it, and the word of that is
// still to come to a node, or has come in part: the node says that it cannot be used,
// which others would wait for, and keeps nothing of it.
func TestUnborn(t *testing.T) {
	const whole = 200_000
	lost := record.Append(nil, &record.Record{Kind: record.Lost, Each: true, Body: []byte("node 9 is lost")})
	for name, partly := range map[string]bool{"later": false, "in part": true} {
		t.Run(name, func(t *testing.T) {
			n, id := between(t)
			word := binary.AppendUvarint([]byte{7}, id)
			frames := [][]byte{lost, splitPiece(2, whole, append(word, make([]byte, 1000)...))}
			if partly {
				frames[0], frames[1] = frames[1], frames[0]
			}
			var told []record.Record
			for _, f := range frames {
				n.Receive(collective.Up, f)
				out := flushed(n)
				require.Empty(t, out.Faults)
				told = append(told, said(out, collective.Up, record.Lost)...)
			}
			require.Len(t, told, 1)
			require.Equal(t, record.Record{Kind: record.Lost, Each: true, Comm: id, Src: told[0].Src, Body: []byte("node 9 is lost"), Off: told[0].Off}, told[0])
			require.Equal(t, 2, n.Communicators(), "of all ranks, and of all agents")

			rest := record.Record{Kind: record.Piece, Op: record.Split, Fn: 2, Off: 1003, Size: whole, Body: make([]byte, 1000)}
			for _, late := range []record.Record{rest, {Kind: record.Data, Op: record.Barrier, Comm: id, Src: 2, Count: 2, Size: 1, Body: []byte{0}},
				{Kind: record.Where, Comm: id, Count: 1}, {Kind: record.Lost, Each: true, Comm: id, Body: []byte("another")}, {Kind: record.Free, Comm: id}} {
				n.Receive(collective.Up, record.Append(nil, &late))
				out := flushed(n)
				require.Empty(t, out.Faults, "what comes of it later")
				require.Empty(t, out.Frames, "what comes of it later")
			}
			require.Equal(t, 2, n.Communicators())
			require.True(t, n.Forgotten())
		})
	}
}

// TestUnbornOfTheFreed is that for a communicator that is freed while it is split.
func TestUnbornOfTheFreed(t *testing.T) {
	n, _ := between(t)
	const old, made = 1<<32 | 1, 2<<32 | 2
	for _, r := range []record.Record{{Kind: record.Define, Comm: old, Body: record.AppendRuns(nil, []int{0, 1})}, {Kind: record.Free, Comm: old},
		{Kind: record.Piece, Op: record.Split, Fn: 2, Comm: old, Size: 100, Body: class(7, made)}} {
		n.Receive(collective.Up, record.Append(nil, &r))
	}
	out := flushed(n)
	require.Empty(t, out.Faults)
	told := said(out, collective.Up, record.Lost)
	require.Len(t, told, 1)
	require.Equal(t, uint64(made), told[0].Comm)
	require.Equal(t, "the communicator was freed", string(told[0].Body))
}

// TestForgedWord has a parent tell of communicators that cannot be: it is accused.
func TestForgedWord(t *testing.T) {
	const id = 2<<32 | 1
	for name, x := range map[string]struct {
		word []uint64 // colour, communicator, processes, number and process of the first here, and rows
		dead bool     // nothing is formed any more
		want string
	}{
		"nobody's":              {[]uint64{7, 99<<32 | 1, 2, 0, 0}, false, "of nobody's"},
		"nobody's, later":       {[]uint64{7, 99<<32 | 1, 2, 0, 0}, true, "of nobody's"},
		"that of all agents":    {[]uint64{7, collective.Agents, 2, 0, 0}, true, "of nobody's"},
		"another's":             {[]uint64{7, 3<<32 | 1, 2, 0, 0}, false, "whose first member's is"},
		"a colour nobody named": {[]uint64{8, id, 2, 0, 0}, false, "nobody here waits for"},
		"half a word":           {[]uint64{7, id, 2}, false, "malformed"},
		"too many processes":    {[]uint64{7, id, 3, 0, 0}, false, "malformed"},
		"no processes":          {[]uint64{7, id, 0, 0, 0}, false, "processes from 0 on of 0"},
		"numbers there are not": {[]uint64{7, id, 2, 2, 0}, false, "members from 2 on"},
		"a process too far":     {[]uint64{7, id, 2, 0, 2}, false, "processes from 2 on of 2"},
		"others' rows":          {[]uint64{7, id, 2, 0, 0, 1, 0, 0, 2}, false, "2 rows of a table for 1 ranks"},
		"more than rows":        {[]uint64{7, id, 2, 0, 0, 1, 0, 0, 1, 5}, false, "1 rows of a table for 1 ranks"},
		"as it should be":       {[]uint64{7, id, 2, 0, 0, 1, 2, 0, 1}, false, ""},
	} {
		n, _ := between(t)
		if x.dead {
			n.Receive(collective.Up, record.Append(nil, &record.Record{Kind: record.Lost, Each: true, Body: []byte("node 9 is lost")}))
		}
		n.Receive(collective.Up, splitPiece(2, 0, class(x.word...)))
		faults := flushed(n).Faults
		if x.want == "" {
			require.Empty(t, faults, name)
			require.Equal(t, 3, n.Communicators(), name)
			continue
		}
		require.Len(t, faults, 1, name)
		require.Equal(t, collective.Up, faults[0].From, name)
		require.ErrorContains(t, faults[0].Err, x.want, name)
		require.Equal(t, 2, n.Communicators(), name)
	}
}
