package servetree_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree/member"
	"github.com/golaunch/golaunch/tree/record"
)

// planned is a world of one node with so many ranks, all of which have called, and
// what it has asked the launcher for.
func planned(t *testing.T, ranks int) (w *world, all []*rank, asked *[]overlay.Schedule) {
	w, asked = newWorld(t, 7, ranks), new([]overlay.Schedule)
	w.trees[0].Ask = func(r *serve.Rank, want overlay.Schedule) {
		require.NotNil(t, r)
		*asked = append(*asked, want)
	}
	return w, w.all(), asked
}

// heard runs until the launcher was asked for so many schedules.
func (w *world) heard(asked *[]overlay.Schedule, n int) {
	w.Run(func() bool {
		for _, r := range w.ranks {
			w.pump(r)
		}
		return len(*asked) == n
	})
}

// message is one to or from a rank in a stage.
func message(stage, peer int, bytes int64) record.ScheduledMessage {
	return record.ScheduledMessage{Stage: stage, Peer: peer, Bytes: bytes}
}

// The launcher is asked once for what all ranks of a node want, and each is told its
// own part, also when it asks later.
func TestSchedule(t *testing.T) {
	w, ranks, asked := planned(t, 2)
	both := each(ranks, func(_ int, s *member.Session) *member.Request { return s.Schedule("ring", 8) })
	w.heard(asked, 1)
	want := overlay.Schedule{World: 7, Algorithm: "ring", Bytes: 8}
	require.Equal(t, []overlay.Schedule{want}, *asked)
	answer := overlay.ScheduleAnswer{Schedule: want, Stages: 3, Parts: [][]byte{record.AppendScheduled(nil, 0, message(2, 1, 8)), record.AppendScheduled(nil, 0, message(0, 0, 9))}}
	require.NoError(t, w.trees[0].Scheduled(&answer))
	both = append(both, ranks[1].session.Schedule("ring", 8))
	for _, err := range w.wait(both...) {
		require.NoError(t, err)
	}
	require.Len(t, *asked, 1)
	for i, part := range []record.ScheduledMessage{message(2, 1, 8), message(0, 0, 9), message(0, 0, 9)} {
		stages, got := both[i].Scheduled()
		require.Equal(t, 3, stages)
		require.Equal(t, []record.ScheduledMessage{part}, got)
	}
	require.ErrorContains(t, w.trees[0].Scheduled(&answer), "that nobody asked for", "a second answer")
}

// What the launcher refuses is told to each rank that asks, and it is not asked again.
func TestScheduleRefused(t *testing.T) {
	w, ranks, asked := planned(t, 1)
	q := ranks[0].session.Schedule("nonsense", 8)
	w.heard(asked, 1)
	require.NoError(t, w.trees[0].Scheduled(&overlay.ScheduleAnswer{Schedule: (*asked)[0], Failure: "it does not exist"}))
	for _, err := range w.wait(q, ranks[0].session.Schedule("nonsense", 8)) {
		require.EqualError(t, err, "it does not exist")
	}
	require.Len(t, *asked, 1)
	require.Empty(t, w.Nodes[0].Failures)

	wrong := ranks[0].session.Schedule("wrong", 8)
	w.heard(asked, 2)
	require.ErrorContains(t, w.trees[0].Scheduled(&overlay.ScheduleAnswer{Schedule: (*asked)[1], Parts: make([][]byte, 2)}), "nobody asked for", "parts of other ranks")
	require.NoError(t, w.trees[0].Scheduled(&overlay.ScheduleAnswer{Schedule: (*asked)[1], Parts: make([][]byte, 1)}))
	for _, err := range w.wait(wrong) {
		require.NoError(t, err)
	}
}

// Of many different ones some are asked for, and the others refused; when those have
// come, further ones are.
func TestManySchedules(t *testing.T) {
	w, ranks, asked := planned(t, 1)
	var all []*member.Request
	for i := range overlay.MostSchedules + 3 {
		all = append(all, ranks[0].session.Schedule(fmt.Sprintf("a%d", i), 8))
	}
	for _, err := range w.wait(all[overlay.MostSchedules:]...) {
		require.EqualError(t, err, "ranks of this node wait for 8 other schedules already; ask for fewer at a time")
	}
	require.Len(t, *asked, overlay.MostSchedules)
	for _, want := range *asked {
		require.NoError(t, w.trees[0].Scheduled(&overlay.ScheduleAnswer{Schedule: want, Parts: make([][]byte, 1)}))
	}
	for _, err := range w.wait(all[:overlay.MostSchedules]...) {
		require.NoError(t, err)
	}
	ranks[0].session.Schedule("another", 8)
	w.heard(asked, overlay.MostSchedules+1)
}

// A node forgets what it was told where that is too much, but not the last; a rank that
// asks again is told again.
func TestSchedulesAreForgotten(t *testing.T) {
	for name, x := range map[string]struct{ count, bytes int }{"many": {40, 0}, "large": {30, record.MaxBody}} {
		t.Run(name, func(t *testing.T) {
			w, ranks, asked := planned(t, 2)
			parts := [][]byte{nil, make([]byte, x.bytes)} // of the rank that asks, and of the other
			ask := func(i int) {
				before := len(*asked)
				q := ranks[0].session.Schedule(fmt.Sprintf("a%d", i), 8)
				w.Run(func() bool {
					w.pump(ranks[0])
					done, _ := q.Done()
					if len(*asked) > before && !done {
						before = len(*asked)
						require.NoError(t, w.trees[0].Scheduled(&overlay.ScheduleAnswer{Schedule: (*asked)[before-1], Parts: parts}))
					}
					return done
				})
			}
			for i := range x.count {
				ask(i)
			}
			require.Len(t, *asked, x.count)
			ask(x.count - 1)
			require.Len(t, *asked, x.count, "the last is there")
			ask(0)
			require.Len(t, *asked, x.count+1, "the first is not")
		})
	}
}

// A rank that asks as no library does breaks the protocol.
func TestSchedulesThatNobodyMayAskFor(t *testing.T) {
	ask := func(name string, size int64, seq uint64) []byte {
		return record.AppendFrame(nil, &record.Record{Kind: record.Schedule, Seq: seq, Size: size, Body: []byte(name)})
	}
	var many []byte
	for i := range record.MaxRequests + 1 {
		many = append(many, ask("ring", 8, uint64(i))...)
	}
	for want, frame := range map[string][]byte{
		"a schedule of 8 bytes, with a name of 0 bytes":             ask("", 8, 1),
		"a schedule of 8 bytes, with a name of 65 bytes":            ask(strings.Repeat("a", 65), 8, 1),
		"a schedule of 1099511627777 bytes, with a name of 4 bytes": ask("ring", 1<<40+1, 1),
		"more than 16 schedules at a time":                          many,
	} {
		w, ranks, _ := planned(t, 1)
		_, err := syscall.Write(ranks[0].fd, frame)
		require.NoError(t, err)
		w.Run(func() bool { return len(w.Nodes[0].Failures) > 0 })
		require.Contains(t, w.Nodes[0].Failures[0].Text, want)
	}
}

// A rank that has left is not told.
func TestScheduleForNobody(t *testing.T) {
	w, ranks, asked := planned(t, 2)
	ranks[0].session.Schedule("ring", 8)
	w.heard(asked, 1)
	ranks[0].session.Bye()
	q := ranks[1].session.Schedule("ring", 8)
	w.pump(ranks[0])
	w.Settle()
	w.pump(ranks[1])
	w.Settle()
	require.NoError(t, w.trees[0].Scheduled(&overlay.ScheduleAnswer{Schedule: (*asked)[0], Parts: make([][]byte, 2)}))
	for _, err := range w.wait(q) {
		require.NoError(t, err)
	}
	require.Empty(t, w.Nodes[0].Failures)
}
