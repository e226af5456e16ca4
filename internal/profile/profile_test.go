package profile

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/commgraph"
)

// memory is the file of a Layout, as the interposer fills it.
type memory struct {
	Layout
	bytes []byte
}

func newMemory(t require.TestingT, l Layout) *memory {
	header, n, err := l.Header()
	require.NoError(t, err)
	m := &memory{l, make([]byte, n)}
	copy(m.bytes, header)
	return m
}

func (m *memory) ReadAt(p []byte, offset int64) (int, error) {
	return bytes.NewReader(m.bytes).ReadAt(p, offset)
}

func (m *memory) set(at int64, words ...uint64) {
	for i, w := range words {
		binary.NativeEndian.PutUint64(m.bytes[at+8*int64(i):], w)
	}
}

// count stands in for native/libprofile: offsets are those of the header.
func (m *memory) count(header, slot, peer int, c Counts) {
	at := int64(binary.NativeEndian.Uint64(m.bytes[8*header:])) + int64(slot)*m.row() + int64(peer*8*m.Columns())
	m.set(at, uint64(c.Messages), uint64(c.Bytes))
	if m.Time {
		m.set(at+16, uint64(c.Nanoseconds))
	}
}

func (m *memory) head(slot, word int, value uint64) {
	m.set(int64(binary.NativeEndian.Uint64(m.bytes[8*headerHeads:]))+int64(slot*8*headWords+8*word), value)
}

func (m *memory) record(words ...uint64) {
	next := binary.NativeEndian.Uint64(m.bytes[8*headerNext:])
	m.set(int64(binary.NativeEndian.Uint64(m.bytes[8*headerPool:]))+int64(next)*8*recordWords, words...)
	m.set(8*headerNext, next+1)
}

// Counts of ranks reach the file, however they are cut in parts and in whichever order
// these come, and reading the file back gives the same counts.
func TestCountersReachTheFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 40).Draw(t, "size")
		timed := rapid.Bool().Draw(t, "time")
		m := newMemory(t, Layout{Ranks: size, Size: size, Time: timed})
		want := map[[2]int32]Counts{}
		states := map[State][]int{}
		for r := range size {
			state := rapid.SampledFrom([]State{Absent, claimed, Counting, Finished}).Draw(t, "state")
			m.head(r, headState, uint64(state))
			m.head(r, headRank, uint64(r)+1)
			if state == Absent || state == claimed {
				states[Absent] = append(states[Absent], r)
				continue
			}
			states[state] = append(states[state], r)
			for range rapid.IntRange(0, 5).Draw(t, "peers") {
				peer := rapid.IntRange(0, size-1).Draw(t, "peer")
				c := Counts{Messages: rapid.Int64Range(1, 1<<40).Draw(t, "messages"), Bytes: rapid.Int64Range(0, 1<<40).Draw(t, "bytes")}
				if timed {
					c.Nanoseconds = 7
				}
				if rapid.Bool().Draw(t, "got") {
					m.count(headerGot, r, peer, c)
				} else {
					m.count(headerSent, r, peer, c)
				}
			}
		}
		g := NewGathering(size)
		var parts []Part
		for r := range size {
			read, err := m.ReadRank(m, r, job.Rank(r))
			require.NoError(t, err)
			for _, e := range read.Sent {
				c := want[[2]int32{int32(r), e.Peer}]
				c.Add(e.Counts)
				want[[2]int32{int32(r), e.Peer}] = c
			}
			for _, e := range read.Got {
				c := want[[2]int32{e.Peer, int32(r)}]
				c.Add(e.Counts)
				want[[2]int32{e.Peer, int32(r)}] = c
			}
			parts = append(parts, read.Parts()...)
		}
		for _, i := range rapid.Permutation(indices(len(parts))).Draw(t, "order") {
			require.NoError(t, g.Add(&parts[i]))
		}
		w := g.World()
		require.Equal(t, states[Absent], w.Missing)
		require.Equal(t, states[Counting], w.Unfinished)
		got := map[[2]int32]Counts{}
		for _, s := range w.Sent {
			got[[2]int32{s.Source, s.Destination}] = s.Counts
		}
		require.Equal(t, want, got)
		require.Len(t, w.Sent, len(got))

		w.Nodes, w.NodeOf = []string{"n1"}, []OnNode{{0, 0, size}}
		p := &Profile{Command: []string{"app"}, Began: time.Unix(1e9, 0).UTC(), Quantity: Volume, From: FromStart, Worlds: []World{w}}
		if timed {
			p.Quantity = Time
		}
		var file bytes.Buffer
		require.NoError(t, p.Write(&file))
		require.True(t, Is(file.Bytes()))
		back, err := Read(bytes.NewReader(file.Bytes()), "x")
		require.NoError(t, err)
		var again bytes.Buffer
		require.NoError(t, back.Write(&again))
		require.Equal(t, file.String(), again.String())
		require.ElementsMatch(t, w.Sent, back.Worlds[0].Sent)
	})
}

func indices(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// Many peers are many parts, none of them above its bound.
func TestPartsAreBounded(t *testing.T) {
	r := &Rank{Rank: 3, State: Finished}
	for i := range int32(3 * MaxPart) {
		r.Sent = append(r.Sent, Entry{i, Counts{1, 2, 3}})
		r.Got = append(r.Got, Entry{i, Counts{1, 2, 3}})
		r.Calls = append(r.Calls, Call{Communicator: uint64(i), Operation: 2, Root: 1, Class: 1, Counts: Counts{1, 1, 1}})
	}
	parts := r.Parts()
	require.Len(t, parts, 9)
	total := 0
	for i := range parts {
		require.NoError(t, parts[i].Check(3*MaxPart))
		total += len(parts[i].Sent)/entryLength + len(parts[i].Got)/entryLength + len(parts[i].Calls)/callLength
	}
	require.Equal(t, 9*MaxPart, total)
}

// Collective operations are one entry for all ranks that called them, communicators
// are known by what their members say.
func TestCollectivesAreGathered(t *testing.T) {
	m := newMemory(t, Layout{Ranks: 4, Size: 4})
	for r := range 4 {
		m.head(r, headState, uint64(Finished))
		m.head(r, headRank, uint64(r)+1)
		half, place := uint64(100+r%2), uint64(r/2) // ranks 0, 2 and ranks 1, 3
		m.record(uint64(r+1), half, place|2<<32)
		m.record(uint64(r+1)|13<<32, half, 0|2<<32, 5, 500) // MPI_Allreduce
		if r < 3 {                                          // of the fourth nothing is known
			m.record(uint64(r+1), 7, uint64(r)|4<<32)
		}
		m.record(uint64(r+1)|2<<32, 7, 1|3<<32, 1, uint64(10*(1-min(r, 1)))) // MPI_Bcast from 0
	}
	g := gathered4(t, m)
	w := g.World()
	require.Equal(t, []Communicator{{4, nil}, {2, []Run{{0, 2, 2}}}, {2, []Run{{1, 2, 2}}}}, w.Communicators)
	require.Equal(t, []Collective{
		{Call: "MPI_Bcast", Communicator: 0, Root: 0, Calls: 1, Bytes: 10},
		{Call: "MPI_Allreduce", Communicator: 1, Root: -1, Calls: 5, Bytes: 1000},
		{Call: "MPI_Allreduce", Communicator: 2, Root: -1, Calls: 5, Bytes: 1000},
	}, w.Collectives)
	x := w.Expand(LikeMPICH)
	require.Equal(t, []Sent{{0, 2, Counts{5, 500, 0}}, {1, 3, Counts{5, 500, 0}}, {2, 0, Counts{5, 500, 0}}, {3, 1, Counts{5, 500, 0}}}, x.Sent)
	require.Equal(t, []string{"MPI_Allreduce: allreduce/exchange"}, x.Algorithms)
	require.Equal(t, []string{"MPI_Bcast on a communicator whose ranks are not all known is left out"}, x.Notes)
}

func gathered4(t *testing.T, m *memory) *Gathering {
	g := NewGathering(4)
	var ranks []*Rank
	for r := range 4 {
		read, err := m.ReadRank(m, r, job.Rank(r))
		require.NoError(t, err)
		ranks = append(ranks, read)
	}
	require.NoError(t, m.ReadPool(m, ranks))
	for _, r := range ranks {
		for _, p := range r.Parts() {
			require.NoError(t, g.Add(&p))
		}
	}
	return g
}

// Whatever ranks write into their memory is read as something, or refused.
func FuzzReadRank(f *testing.F) {
	f.Add([]byte{}, uint16(0))
	f.Add(bytes.Repeat([]byte{255}, 64), uint16(8*headerNext))
	f.Fuzz(func(t *testing.T, scribble []byte, at uint16) {
		m := newMemory(t, Layout{Ranks: 2, Size: 3})
		for r := range 2 {
			m.head(r, headState, uint64(Counting))
			m.head(r, headRank, uint64(r)+1)
		}
		copy(m.bytes[min(int(at), len(m.bytes)):], scribble)
		ranks := make([]*Rank, 2)
		for r := range ranks {
			ranks[r], _ = m.ReadRank(m, r, job.Rank(r))
		}
		require.NoError(t, m.ReadPool(m, ranks))
		g := NewGathering(3)
		for _, r := range ranks {
			if r != nil {
				for _, p := range r.Parts() {
					require.NoError(t, g.Add(&p), "the launcher would take the host for lost")
				}
			}
		}
		_ = g.World()
	})
}

// Records that cannot be, as of a program that broadcasts from a rank that is none,
// are dropped; the host is not lost for them, and the file can be read.
func TestRecordsThatCannotBe(t *testing.T) {
	m := newMemory(t, Layout{Ranks: 4, Size: 4})
	for r := range 4 {
		m.head(r, headState, uint64(Finished))
		m.head(r, headRank, uint64(r)+1)
		m.record(uint64(r+1), 7, uint64(r)|4<<32)
	}
	m.record(1|2<<32, 7, 778|3<<32, 1, 4)                   // MPI_Bcast from 777
	m.record(1|2<<32, 7, 0xffffffff|3<<32, 1, 4)            // from -2
	m.record(1|200<<32, 7, 0, 1, 4)                         // no operation
	m.record(1|2<<32, 7, 1|65<<32, 1, 4)                    // no class of sizes
	m.record(1, 8, 4|4<<32)                                 // number 4 of 4
	m.record(1, 9, 5|6<<32)                                 // merged with a world of 2
	m.record(1|2<<32, 9, 6|3<<32, 1, 4)                     // MPI_Bcast from 5 there
	m.record(uint64(2)|13<<32, 7, 0|2<<32, 1, 1<<63, 1<<63) // a counter that is written over
	w := gathered4(t, m).World()
	require.EqualValues(t, 5, w.Dropped)
	require.Equal(t, []Communicator{{6, nil}, {4, []Run{{0, 4, 1}}}}, w.Communicators)
	require.Len(t, w.Collectives, 2)
	require.NoError(t, func() error { w.Nodes, w.NodeOf = []string{"a"}, []OnNode{{0, 0, 4}}; return w.check() }())
}

// A file that is wrong is refused with what is wrong.
func TestFilesThatAreWrong(t *testing.T) {
	world := `{"world":0,"size":4,"nodes":["a"],"node_of":[[0,0,4]],"sent":[[0,1,2,3]],"communicators":[{"size":4,"ranks":[[0,4,1]]}],
		"collectives":[{"call":"MPI_Bcast","communicator":0,"root":1,"calls":1,"bytes":8}]}`
	file := func(old, replacement string) string {
		return `{"format":"golaunch-profile","version":1,"worlds":[` + strings.Replace(world, old, replacement, 1) + `]}`
	}
	p, err := Read(strings.NewReader(file("", "")), "f")
	require.NoError(t, err)
	require.Equal(t, []Sent{{0, 1, Counts{2, 3, 0}}}, p.Worlds[0].Sent)
	for _, x := range []struct{ old, replacement, says string }{
		{`[0,1,2,3]`, `[0,4,2,3]`, "f: world 0: sent by 0 to 4: rank 4: there are ranks 0 to 3"},
		{`[0,1,2,3]`, `[0,1,2]`, "expected a list of 4 to 5 whole numbers"},
		{`[0,1,2,3]`, `[0,1,2,-3]`, "expected a list of 4 to 5 whole numbers"},
		{`[0,1,2,3]`, `[0,1,2,3e300]`, "expected a list of 4 to 5 whole numbers"},
		{`[0,1,2,3]`, `[0,1,2,99999999999999999999]`, "expected a list of 4 to 5 whole numbers"},
		{`[0,1,2,3]`, `null`, "expected a list of 4 to 5 whole numbers"},
		{`"size":4,"nodes"`, `"size":5,"nodes"`, "it is said on which node 4 of 5 ranks ran"},
		{`"size":4,"nodes"`, `"size":99999999,"nodes"`, "a world has 1 to 4194304"},
		{`[[0,0,4]]`, `[[1,0,4]]`, "on one of 1 nodes"},
		{`[[0,4,1]]`, `[[0,3,1]]`, "a communicator of 4 ranks names 3"},
		{`[[0,4,1]]`, `[[1,4,1]]`, "expected some of 0 to 3"},
		{`"root":1`, `"root":4`, "MPI_Bcast has root 4 of 4"},
		{`"communicator":0`, `"communicator":1`, "MPI_Bcast on communicator 1 of 1"},
		{`"size":4,"nodes"`, `"size":4,"missing":[-5],"nodes"`, "missing or unfinished: rank -5: there are ranks 0 to 3"},
		{`"size":4,"nodes"`, `"size":4,"unfinished":[4],"nodes"`, "missing or unfinished: rank 4: there are ranks 0 to 3"},
		{`"size":4,"nodes"`, `"size":4,"dropped":-1,"nodes"`, "-1 calls dropped: expected 0 or more"},
		{`"calls":1`, `"calls":-1`, "MPI_Bcast: -1: expected 0 to 2^61"},
	} {
		_, err := Read(strings.NewReader(file(x.old, x.replacement)), "f")
		require.ErrorContains(t, err, x.says, x.replacement)
	}
	_, err = Read(strings.NewReader(`{"format":"golaunch-profile","version":2}`), "f")
	require.EqualError(t, err, "f: a profile of version 2: this golaunch reads version 1")
	_, err = Read(strings.NewReader(`{}`), "f")
	require.ErrorContains(t, err, `its format is "", not "golaunch-profile"`)
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"format":"golaunch-profile","version":1,"worlds":[{"size":2,"nodes":["a"],"node_of":[[0,0,2]],"sent":[[0,1,2,3]]}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Read(bytes.NewReader(text), "f")
		if err != nil {
			return
		}
		for i := range p.Worlds {
			if p.Worlds[i].Size <= 64 && len(p.Worlds[i].Collectives) < 8 {
				_, _, _ = p.Worlds[i].Graph()
			}
		}
	})
}

// Each operation is expanded for any number of ranks, so that who has to hear of
// what another one gave does.
func TestExpandReaches(t *testing.T) {
	for _, call := range []string{"MPI_Bcast", "MPI_Gather", "MPI_Scatter", "MPI_Allgather", "MPI_Allgatherv", "MPI_Alltoall",
		"MPI_Reduce", "MPI_Allreduce", "MPI_Reduce_scatter", "MPI_Reduce_scatter_block", "MPI_Scan", "MPI_Exscan"} {
		for n := 2; n <= 20; n++ {
			for _, bytes := range []int64{1 << 6, 1 << 14, 1 << 22} {
				root := -1
				if slices.Contains([]string{"MPI_Bcast", "MPI_Gather", "MPI_Scatter", "MPI_Reduce"}, call) {
					root = n / 2
				}
				w := &World{Size: n, Communicators: []Communicator{{n, []Run{{0, n, 1}}}},
					Collectives: []Collective{{Call: call, Root: root, Calls: 3, Bytes: 3 * bytes * int64(n) * int64(n)}}}
				x := w.Expand(LikeMPICH)
				require.Empty(t, x.Notes, "%s of %d", call, n)
				require.Len(t, x.Algorithms, 1)
				from, to := map[int32]bool{}, map[int32]bool{}
				for _, s := range x.Sent {
					from[s.Source], to[s.Destination] = true, true
					require.Positive(t, s.Messages)
					require.Zero(t, s.Messages%3)
				}
				switch call {
				case "MPI_Bcast", "MPI_Scatter":
					delete(to, int32(root))
					require.Len(t, to, n-1, "%s of %d by %v", call, n, x.Algorithms)
				case "MPI_Gather", "MPI_Reduce":
					delete(from, int32(root))
					require.Len(t, from, n-1, "%s of %d by %v", call, n, x.Algorithms)
				default:
					require.Len(t, to, n, "%s of %d by %v", call, n, x.Algorithms)
					require.Len(t, from, n, "%s of %d by %v", call, n, x.Algorithms)
				}
			}
		}
	}
}

// A few bytes that claim an exchange among millions are left out, not played.
func TestExpandIsBounded(t *testing.T) {
	const size = 1 << 22
	w := World{
		Size: size, Communicators: []Communicator{{size, []Run{{0, size, 1}}}},
		Collectives: []Collective{{Call: "MPI_Alltoall", Root: -1, Calls: 1, Bytes: 1 << 50}},
	}
	x := w.Expand(LikeMPICH)
	require.Empty(t, x.Sent)
	require.Len(t, x.Notes, 1)
	require.Contains(t, x.Notes[0], "MPI_Alltoall of 4194304 ranks is left out: 4194303 stages are too many messages")
}

// The graph has both directions of a pair together, and the collective operations.
func TestGraph(t *testing.T) {
	text := `{"format":"golaunch-profile","version":1,"worlds":[{"size":4,"nodes":["a"],"node_of":[[0,0,4]],"missing":[3],
		"sent":[[0,1,2,30],[1,0,1,12],[2,2,1,99]],"communicators":[{"size":2,"ranks":[[2,2,1]]}],
		"collectives":[{"call":"MPI_Allreduce","communicator":0,"root":-1,"calls":1,"bytes":8}]}]}`
	file, err := ReadGraph(strings.NewReader(text), "f")
	require.NoError(t, err)
	require.Equal(t, "profile", file.Form)
	require.Equal(t, []string{"1 of 4 ranks have no profile: their messages are not in it"}, file.Notes)
	want, err := commgraph.New(4, []commgraph.Edge{{A: 0, B: 1, Weight: 42}, {A: 2, B: 3, Weight: 8}})
	require.NoError(t, err)
	require.Equal(t, want, file.Graph)

	file, err = ReadGraph(strings.NewReader("2 1 1\n2 5\n1 5\n"), "f")
	require.NoError(t, err)
	require.Equal(t, "METIS", file.Form)
	_, err = ReadGraph(strings.NewReader(strings.Replace(strings.Replace(text, `"sent":[[0,1,2,30],[1,0,1,12],[2,2,1,99]],`, "", 1), `"bytes":8`, `"bytes":0`, 1)), "f")
	require.EqualError(t, err, "f: no rank sent another one anything")
}

// The schema in docs has every member of the file, and no other.
func TestSchema(t *testing.T) {
	text, err := os.ReadFile("../../docs/profile-v1.schema.json")
	require.NoError(t, err)
	var schema struct {
		Properties map[string]any `json:"properties"`
		Required   []string       `json:"required"`
		Defs       map[string]struct {
			Properties map[string]any `json:"properties"`
			Required   []string       `json:"required"`
		} `json:"$defs"`
	}
	require.NoError(t, json.Unmarshal(text, &schema))
	members := func(of reflect.Type) (names []string) {
		for i := range of.NumField() {
			names = append(names, of.Field(i).Tag.Get("json"))
		}
		return names
	}
	keys := func(m map[string]any) (names []string) {
		for k := range m {
			names = append(names, k)
		}
		return names
	}
	require.ElementsMatch(t, members(reflect.TypeFor[Profile]()), keys(schema.Properties))
	require.ElementsMatch(t, members(reflect.TypeFor[Profile]()), schema.Required)
	for name, of := range map[string]reflect.Type{
		"world": reflect.TypeFor[World](), "communicator": reflect.TypeFor[Communicator](), "collective": reflect.TypeFor[Collective](),
	} {
		require.ElementsMatch(t, members(of), keys(schema.Defs[name].Properties), name)
		require.ElementsMatch(t, members(of), schema.Defs[name].Required, name)
	}
}

// The remote group of an intercommunicator may be larger than this world.
func TestIntercommunicatorOfALargerWorld(t *testing.T) {
	m := newMemory(t, Layout{Ranks: 1, Size: 1})
	m.head(0, headState, uint64(Finished))
	m.head(0, headRank, 1)
	m.record(1, 5, 4<<32, 1) // of the one rank: 4 on the other side
	m.record(1|2<<32, 5, 1<<32, 3, 24)
	r, err := m.ReadRank(m, 0, 0)
	require.NoError(t, err)
	require.NoError(t, m.ReadPool(m, []*Rank{r}))
	g := NewGathering(1)
	for _, p := range r.Parts() {
		require.NoError(t, g.Add(&p))
	}
	w := g.World()
	require.Equal(t, []Communicator{{Size: 4}}, w.Communicators)
	require.Equal(t, []Collective{{Call: "MPI_Bcast", Root: -1, Calls: 3, Bytes: 24}}, w.Collectives)
}

// Where counters would take more than there may be, that is said.
func TestLayoutIsBounded(t *testing.T) {
	_, _, err := Layout{Ranks: 1 << 10, Size: 1 << 30}.Header()
	require.ErrorContains(t, err, "there is room for 2 TiB")
	_, _, err = Layout{Ranks: 0, Size: 1}.Header()
	require.Error(t, err)
	// Volume and messages of 64 ranks on a node, which send each other all: at most
	// twice what the published profiler took for one of both [Subramoni, table 7.1].
	l := Layout{Ranks: 64, Size: 64}
	require.LessOrEqual(t, float64(l.got(0)), 2*0.04*(1<<20))
}

// Records of communicators take memory for the ranks that sent them, not for those that
// they claim.
func TestClaimedCommunicatorsTakeLittle(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	g := NewGathering(MaxRanks)
	p := &Part{Rank: 1, State: Finished}
	for i := range 1000 {
		p.Of = append(p.Of, uint64(i+1))
		p.Members = append(p.Members, int64(i), 1, MaxRanks, 0)
	}
	require.NoError(t, g.Add(p))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32<<20), "they claim 4 million ranks each")
}
