package overlay

import (
	"bytes"
	"math"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// allocated returns the bytes that do allocates, and everybody else meanwhile.
func allocated(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// arrayOf returns an array of n equal values, as the first member of a map.
func arrayOf(n int, value byte) []byte {
	head := []byte{0xa1, 0x01, 0x9a, byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}
	return append(head, bytes.Repeat([]byte{value}, n)...)
}

// A small payload that says it is many values takes no memory for them: 16 MiB
// of empty records were 1.3 GB.
func TestPayloadsOfManyValues(t *testing.T) {
	const n = 16 << 20
	for name, value := range map[string]byte{"empty records": 0xa0, "nothing": 0xf6, "empty texts": 0x60, "empty lists": 0x80} {
		body := arrayOf(n, value)
		for _, k := range []tree.Kind{KindReady, KindDied, KindGrown, KindGroup, KindStarted, KindCollected, KindFailure, KindSpawn} {
			o := middleChild(true)
			o.extend([]HostEntry{{Index: 9}})
			var err error
			took := allocated(func() {
				_, err = o.read(tree.Header{Kind: k, Job: about(k), From: 2}, body)
			})
			require.ErrorIs(t, err, errTooHeavy, "%s of %s", kinds[k].name, name)
			require.Less(t, took, uint64(8<<20), "%s of %s", kinds[k].name, name)
		}
	}
}

// Unfinished messages on several streams count together.
func TestUnfinishedMessages(t *testing.T) {
	const most = 24 << 20
	near, remote := memlink.Pair()
	ended := make(chan error, 100)
	var inbox *Inbox
	inbox = NewInbox(func() {
		for _, e := range inbox.Take(nil) {
			if e, ok := e.(EdgeEnded); ok {
				ended <- e.Err
			}
		}
	})
	o := middleChild(true)
	o.spare.Store(most)
	e := NewEdge(near, 0, o, inbox, func(tree.Header, []byte) {}, nil)
	defer e.Close()
	// Streams on which a message may be large, one after the other: each alone has
	// room for half of it.
	frame := make([]byte, link.MaxFrame)
	sent := 0
	var lost error
	for lost == nil {
		for s, k := range map[link.Stream]tree.Kind{link.KVS: KindBoard, link.Data: KindRecords, link.Service: KindCollected} {
			h := tree.Header{Kind: k, Job: about(k), More: true, To: tree.Launcher, From: 2}
			copy(frame, tree.AppendHeader(nil, h))
			if lost = remote.Send(s, frame); lost == nil {
				sent += len(frame)
			}
		}
		require.Less(t, sent, most+8<<20, "1 MiB per stream is under way")
	}
	require.ErrorContains(t, <-ended, "too much is under way on this link")
}

// Finished messages give their room back.
func TestFinishedMessagesGiveRoomBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := middleChild(false)
		a := tree.Assembler{Charge: o.charge}
		for range rapid.IntRange(1, 5).Draw(t, "messages") {
			body := make([]byte, rapid.IntRange(0, 5000).Draw(t, "bytes"))
			_, err := tree.Fragments(nil, tree.Header{Kind: KindBoard, Job: job.Cold}, body, 100, func(f []byte) error {
				_, _, _, err := a.Add(bytes.Clone(f))
				return err
			})
			require.NoError(t, err)
			require.EqualValues(t, maxUnderway, o.spare.Load())
		}
	})
}

// A message is cut off when it is longer than those of its kind are, before the
// rest of it comes.
func TestLongMessages(t *testing.T) {
	for k, most := range map[tree.Kind]int{KindNote: 600 << 10, KindReady: 128 << 10, KindDrained: 0, KindPong: 64 << 10, KindOutput: 4 << 20} {
		o := middleChild(true)
		a := tree.Assembler{Admit: func(h tree.Header) (int, error) { return o.admit(kinds[k].stream, h) }}
		took := 0
		_, err := tree.Fragments(nil, tree.Header{Kind: k, Job: about(k), From: 2}, make([]byte, 8<<20), 64<<10, func(f []byte) error {
			_, _, _, err := a.Add(bytes.Clone(f))
			if err == nil {
				took += len(f)
			}
			return err
		})
		require.ErrorContains(t, err, "exceeds", kinds[k].name)
		require.LessOrEqual(t, took, most+64<<10, kinds[k].name)
	}
}

// A child that sends faster than its messages are handled waits, and goes on when
// they are taken.
func TestMessagesWaitForRoom(t *testing.T) {
	near, remote := memlink.Pair()
	ended := make(chan bool, 1)
	inbox := NewInbox(func() {})
	e := NewEdge(near, 0, middleChild(false), inbox, func(tree.Header, []byte) {}, nil)
	defer e.Close()
	const frames = 3 * roomBytes / link.MaxFrame
	sending := make(chan int, frames)
	go func() { // ends when all is sent, or the link is closed
		h := tree.Header{Kind: KindBoard, Job: job.Cold, To: tree.Launcher, From: 2}
		frame := append(tree.AppendHeader(nil, h), make([]byte, link.MaxFrame-tree.HeaderSize)...)
		for i := range frames {
			if remote.Send(link.KVS, frame) != nil {
				return
			}
			sending <- i
		}
		ended <- true
	}()
	waiting := func() int {
		inbox.mu.Lock()
		defer inbox.mu.Unlock()
		n := 0
		for _, m := range inbox.queue {
			n += len(m.(Message).Body)
		}
		return n
	}
	got := 0
	for done := false; !done; {
		select {
		case <-sending:
		case done = <-ended:
		}
		require.LessOrEqual(t, waiting(), roomBytes)
		if len(sending) == 0 && waiting() > roomBytes/2 {
			got += len(inbox.Take(nil))
		}
	}
	require.Positive(t, got)
}

// weigh takes all that Encode makes, and counts it.
func TestWeighing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Ready{}
		for range rapid.IntRange(0, 20).Draw(t, "hosts") {
			if rapid.Bool().Draw(t, "live") {
				r.Live = append(r.Live, NodeInfo{Index: job.HostIndex(rapid.Int32().Draw(t, "index")), HostName: rapid.String().Draw(t, "name"), Cores: rapid.Int().Draw(t, "cores")})
			} else {
				r.Dead = append(r.Dead, DeadHost{Index: 1, Cause: rapid.String().Draw(t, "cause")})
			}
		}
		n := len(r.Live) + len(r.Dead)
		values := recordWeight + 2 + n*(1+recordWeight+4)
		body := Encode(r)
		require.NoError(t, weigh(body, values))
		require.ErrorIs(t, weigh(body, values-1), errTooHeavy)
		for cut := range len(body) {
			require.Error(t, weigh(body[:cut], values))
		}
		require.Error(t, weigh(append(body, 0), values))
	})
	for name, b := range map[string][]byte{
		"a list without end": {0x9f, 0xff}, "a text without end": {0x7f, 0xff}, "a tag": {0xc1, 0x00}, "a reserved length": {0x1c},
		"a list of 2^64-1": {0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "a map of 2^63": {0xbb, 0x80, 0, 0, 0, 0, 0, 0, 0},
		"a long text": {0x7b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, "nothing": {}, "deep": bytes.Repeat([]byte{0x81}, 100),
	} {
		require.Error(t, weigh(b, 1<<20), name)
	}
}

// FuzzOrigin has anything come from a child and from a parent: it is refused or
// heard, in little memory.
func FuzzOrigin(f *testing.F) {
	for k := range kinds {
		f.Add(byte(k), uint32(about(tree.Kind(k))), uint16(0), int32(2), []byte{0xa0})
	}
	f.Add(byte(KindReady), uint32(about(KindReady)), uint16(0), int32(2), Encode(Ready{Live: []NodeInfo{{Index: 2}, {Index: 3}}}))
	f.Add(byte(KindFailure), uint32(about(KindFailure)), uint16(0), int32(2), Encode(job.Failure{Class: job.CauseSignal, Rank: 4, Host: 2, Signal: 9}))
	f.Add(byte(KindStarted), uint32(about(KindStarted)), uint16(1), int32(2), Encode(Started{Failures: []StartFailure{{Host: 3, Count: 1, Code: 127}}}))
	f.Add(byte(KindStarted), uint32(about(KindStarted)), uint16(1), int32(2), Encode(Started{Failures: []StartFailure{{Host: 3, First: math.MaxInt, Count: 1, Code: 127}}}))
	f.Add(byte(KindSpawn), uint32(about(KindSpawn)), uint16(0), int32(2), Encode(SpawnRequest{Host: 3, Rank: math.MinInt}))
	f.Add(byte(KindSchedule), uint32(about(KindSchedule)), uint16(0), int32(2), Encode(ScheduleRequest{Host: 2, Rank: 4, Schedule: Schedule{Algorithm: "ring", Bytes: 8}}))
	f.Add(byte(KindName), uint32(about(KindName)), uint16(0), int32(2), Encode(NameRequest{Host: 2, Rank: 4, Op: pmi.Lookup}))
	f.Add(byte(KindOutput), uint32(about(KindOutput)), uint16(0), int32(-1), output(0, 4, 1))
	f.Add(byte(KindReady), uint32(about(KindReady)), uint16(0), int32(2), arrayOf(1000, 0xa0))
	f.Fuzz(func(t *testing.T, k byte, n uint32, world uint16, from int32, body []byte) {
		h := tree.Header{Kind: tree.Kind(k), Job: job.Number(n), World: world, To: tree.Launcher, From: job.HostIndex(from)}
		for _, o := range []*Origin{middleChild(false), middleChild(true), OfParent()} {
			for s := range link.NumStreams {
				v, err := hear(o, s, h, body)
				if err == nil {
					checkHeard(t, v)
				}
			}
		}
	})
}

// checkHeard fails the test where a message of middleChild was heard that speaks of
// what is not the child's.
func checkHeard(t *testing.T, v any) {
	rank := func(world int, r job.Rank, host job.HostIndex) {
		here := map[job.RankID]job.HostIndex{{Rank: 4}: 2, {Rank: 5}: 2, {Rank: 6}: 3, {Rank: 7}: 3, {World: 1}: 3}
		if h, ok := here[job.RankID{World: world, Rank: r}]; host != 2 && host != 3 || world != 3 && (!ok || h != host) {
			t.Fatalf("%+v was heard", v)
		}
	}
	switch v := v.(type) {
	case job.Failure:
		if v.Rank != -1 {
			rank(v.World, v.Rank, v.Host)
		}
		if code := v.ExitCode(); code < 1 || code > job.MaxCode || v.Host != 2 && v.Host != 3 {
			t.Fatalf("%+v was heard, which makes exit code %d", v, code)
		}
	case SpawnRequest:
		rank(v.World, v.Rank, v.Host)
	case ScheduleRequest:
		rank(v.Schedule.World, v.Rank, v.Host)
	case NameRequest:
		rank(v.World, v.Rank, v.Host)
	case report.Collected:
		for _, r := range v.Ranks {
			rank(r.World, r.Rank, r.Host)
		}
	}
}

// relay passes on what comes from a child to a parent who takes nothing until told.
type relay struct {
	inbox         *Inbox
	child, parent *Edge
	below, above  link.Link
	passed        int // messages
}

func newRelay(t *testing.T) *relay {
	r := &relay{}
	near, remote := memlink.Pair()
	up, above := memlink.Pair()
	r.below, r.above = remote, above
	r.inbox = NewInbox(func() {})
	r.child = NewEdge(near, 0, middleChild(false), r.inbox, func(tree.Header, []byte) {}, nil)
	r.parent = NewEdge(up, tree.Up, OfParent(), NewInbox(func() {}), func(tree.Header, []byte) {}, nil)
	t.Cleanup(func() { r.child.Close(); r.parent.Close() })
	return r
}

// turn is one of its event loop.
func (r *relay) turn() {
	for _, e := range r.inbox.Take(nil) {
		if m, ok := e.(Message); ok {
			r.parent.Pass(m)
			r.passed++
		}
	}
}

// waits counts the bytes that wait for the event loop, or to be passed on.
func (r *relay) waits() int {
	r.child.room.mu.Lock()
	defer r.child.room.mu.Unlock()
	return r.child.room.bytes
}

// queued counts the bytes of messages that wait for the parent.
func (r *relay) queued() int {
	r.parent.mu.Lock()
	q := r.parent.queues[link.KVS]
	r.parent.mu.Unlock()
	if q == nil {
		return 0
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, m := range q.items {
		n += len(m.payload)
	}
	return n
}

// A child that sends faster than its messages are passed on waits, whatever the parent
// does, and goes on when that takes them.
func TestMessagesWaitToBePassedOn(t *testing.T) {
	const frames = 4 * roomBytes / link.MaxFrame
	r := newRelay(t)
	sent := make(chan int, frames)
	go func() { // ends when all is sent, or the link is closed
		frame := append(tree.AppendHeader(nil, tree.Header{Kind: KindBoard, Job: job.Cold, To: tree.Launcher, From: 2}), make([]byte, link.MaxFrame-tree.HeaderSize)...)
		for i := range frames {
			if r.below.Send(link.KVS, frame) != nil {
				return
			}
			sent <- i
		}
	}()
	for r.waits() < roomBytes-2*link.MaxFrame { // the loop takes all there is, at once
		r.turn()
		require.LessOrEqual(t, r.queued(), roomBytes)
		require.Less(t, len(sent), frames, "all was taken, and nothing passed on")
	}
	require.Less(t, len(sent), frames/2)
	for n := 0; n < frames; n++ {
		got := make(chan error, 1)
		go func() { _, err := r.above.Recv(link.KVS); got <- err }() // ends with the frame
		for done := false; !done; {
			r.turn()
			require.LessOrEqual(t, r.queued(), roomBytes)
			select {
			case err := <-got:
				require.NoError(t, err)
				done = true
			default:
			}
		}
	}
	require.Equal(t, frames, r.passed)
}

// Messages of a waiting child go on where the link is lost over which they were passed
// on.
func TestNobodyWaitsForALostLink(t *testing.T) {
	r := newRelay(t)
	sent := make(chan error, 1)
	go func() { // ends when all is sent
		frame := append(tree.AppendHeader(nil, tree.Header{Kind: KindBoard, Job: job.Cold, To: tree.Launcher, From: 2}), make([]byte, link.MaxFrame-tree.HeaderSize)...)
		for range 2 * roomBytes / link.MaxFrame {
			if err := r.below.Send(link.KVS, frame); err != nil {
				sent <- err
				return
			}
		}
		sent <- nil
	}()
	for r.waits() < roomBytes-2*link.MaxFrame {
		r.turn()
	}
	require.NoError(t, r.above.Close())
	for {
		r.turn()
		select {
		case err := <-sent:
			require.NoError(t, err)
			r.turn()
			return
		default:
		}
	}
}

// A message of the largest size is in memory twice while its pieces are joined, as
// docs/protocol-tree.md says, and no more than that.
func TestTheLargestMessage(t *testing.T) {
	r := newRelay(t)
	go func() { // ends with the link
		for {
			if _, err := r.above.Recv(link.KVS); err != nil {
				return
			}
		}
	}()
	defer debug.SetGCPercent(debug.SetGCPercent(5)) // held memory counts, and not garbage
	runtime.GC()
	var before, now runtime.MemStats
	runtime.ReadMemStats(&before)
	body := make([]byte, tree.MaxMessage) // the sender's
	done := make(chan error, 1)
	go func() { // ends when all is sent
		_, err := tree.Fragments(nil, tree.Header{Kind: KindBoard, Job: job.Cold, To: tree.Launcher, From: 2}, body, link.MaxFrame, func(f []byte) error { return r.below.Send(link.KVS, f) })
		done <- err
	}()
	most := int64(0)
	for r.passed == 0 {
		r.turn()
		runtime.ReadMemStats(&now)
		most = max(most, int64(now.HeapInuse)-int64(before.HeapInuse)-tree.MaxMessage)
	}
	require.NoError(t, <-done)
	runtime.KeepAlive(body)
	t.Logf("%d MiB at most", most>>20)
	bound := int64(maxUnderway + tree.MaxMessage + roomBytes + controlBytes)
	if raced {
		bound += tree.MaxMessage // the collector comes later
	}
	require.Less(t, most, bound)
}
