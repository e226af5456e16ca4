package member

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/tree/record"
)

// planned returns a session whose agent makes schedules, for a world of 8.
func planned(t *testing.T) *Session {
	s, _ := Open(0, 3)
	s.Take()
	require.NoError(t, s.Receive(record.AppendFrame(nil, &record.Record{Kind: record.Welcome, Src: 3, Size: 8, Dst: 1, Count: 4, Fn: record.Schedules})))
	return s
}

func TestSchedule(t *testing.T) {
	s := planned(t)
	q, other := s.Schedule("ring", 8), s.Schedule("nonsense", 0)
	raw, _, err := record.Frame(s.Take())
	require.NoError(t, err)
	var r record.Record
	_, err = record.Parse(raw, &r)
	require.NoError(t, err)
	require.Equal(t, record.Record{Kind: record.Schedule, Seq: 1, Src: -1, Off: -1, Size: 8, Body: []byte("ring")}, withNone(r))
	want := record.ScheduledMessage{Stage: 1, Peer: 7, Received: true, Bytes: 8}
	require.NoError(t, s.Receive(record.AppendFrame(nil, &record.Record{Kind: record.Schedule, Seq: 1, Size: 2, Body: record.AppendScheduled(nil, 0, want)})))
	done, err := q.Done()
	require.True(t, done)
	require.NoError(t, err)
	stages, got := q.Scheduled()
	require.Equal(t, 2, stages)
	require.Equal(t, []record.ScheduledMessage{want}, got)
	require.NoError(t, s.Receive(record.AppendFrame(nil, &record.Record{Kind: record.Fail, Fn: record.FailSchedule, Seq: 2, Body: []byte("no")})))
	_, err = other.Done()
	require.EqualError(t, err, "no")
}

// withNone has src and off of a record that names none.
func withNone(r record.Record) record.Record {
	r.Src, r.Off = -1, -1
	return r
}

// No more are under way than the agent takes.
func TestSchedulesWait(t *testing.T) {
	s := planned(t)
	for range record.MaxRequests + 1 {
		s.Schedule("ring", 8)
	}
	require.Equal(t, record.MaxRequests, strings.Count(string(s.Take()), "ring"))
	require.NoError(t, s.Receive(record.AppendFrame(nil, &record.Record{Kind: record.Schedule, Seq: 1, Size: 0})))
	require.Equal(t, 1, strings.Count(string(s.Take()), "ring"))
}

func TestWrongSchedules(t *testing.T) {
	s := planned(t)
	for want, q := range map[string]*Request{
		"schedule: an algorithm's name has 1 to 64 bytes, not 0; see golaunch netsim list":  s.Schedule("", 8),
		"schedule: an algorithm's name has 1 to 64 bytes, not 65; see golaunch netsim list": s.Schedule(strings.Repeat("a", 65), 8),
		"schedule: ring of -1 bytes; 0 to 1099511627776 are allowed":                        s.Schedule("ring", -1),
		"schedule: ring of 1099511627777 bytes; 0 to 1099511627776 are allowed":             s.Schedule("ring", 1<<40+1),
		"this golaunch is too old to make schedules":                                        opened(t).Schedule("ring", 8),
	} {
		_, err := q.Done()
		require.EqualError(t, err, want)
	}
	require.Empty(t, s.Take())
}

// An impossible schedule from the agent ends the session.
func TestSchedulesThatAreNone(t *testing.T) {
	for name, r := range map[string]record.Record{
		"nobody asked":    {Kind: record.Schedule, Seq: 2},
		"cut short":       {Kind: record.Schedule, Seq: 1, Size: 1, Body: []byte{0, 2}},
		"a stage too far": {Kind: record.Schedule, Seq: 1, Size: 1, Body: []byte{1, 2, 8}},
		"no such rank":    {Kind: record.Schedule, Seq: 1, Size: 1, Body: []byte{0, 16, 8}},
		"too many stages": {Kind: record.Schedule, Seq: 1, Size: record.MaxStages + 1},
	} {
		s := planned(t)
		q := s.Schedule("ring", 8)
		require.Error(t, s.Receive(record.AppendFrame(nil, &r)), name)
		_, err := q.Done()
		require.ErrorContains(t, err, "agent: ", name)
	}
}
