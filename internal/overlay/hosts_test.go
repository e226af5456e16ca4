package overlay

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/pmix"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// honest has messages that middleChild may send, with a value in every field that names
// hosts. It comes from host 2.
var honest = map[tree.Kind]struct {
	world   int
	to      job.HostIndex
	message any
}{
	KindReady:    {message: Ready{Live: []NodeInfo{{Index: 2}}, Dead: []DeadHost{{Index: 3}}}},
	KindGrown:    {message: Ready{Live: []NodeInfo{{Index: 5}}, Dead: []DeadHost{{Index: 6}}}},
	KindStarted:  {world: 1, message: Started{Failures: []StartFailure{{Host: 3, Count: 1, Code: 127}}, Bound: []Bound{{Ranks: []string{"a"}, Hosts: []job.HostIndex{3}}}}},
	KindFailure:  {message: job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: 2, Lost: [][2]job.HostIndex{{2, 4}}}},
	KindDone:     {message: Done{Ranks: 4}},
	KindNote:     {message: Note{Host: 3}},
	KindSign:     {message: SignRequest{By: 2, Request: bootstrap.SignRequest{Host: 3}}},
	KindInputAck: {message: InputAck{Bytes: 1}},
	KindDied:     {message: Died{Dead: []DeadHost{{Index: 3}}}},
	KindWaiting:  {message: Waiting{Ranks: []RankRange{{First: 4, Count: 4}}}},
	KindSummon:   {message: Summon{By: 2, Host: 3, Addr: "10.0.0.2:99"}},
	KindAddress:  {message: AddrRequest{By: 2, Host: 3}},
	KindSchedule: {message: ScheduleRequest{Host: 3, Rank: 6, Schedule: Schedule{Algorithm: "ring"}}},
	KindDemand:   {message: Demand{Host: 3}},
	KindClaimed:  {message: Claimed{Round: 1, Host: 3, Shared: Shared{Slots: 2, Free: 2}}},
	KindName:     {message: NameRequest{Host: 2, Rank: 5, Op: pmi.Lookup}},
	KindSpawn:    {message: SpawnRequest{Host: 3, Rank: 6}},
	KindCollected: {message: report.Collected{Levels: []report.Level{{Agents: 1}, {Agents: 1}},
		Nodes: []report.Node{{Host: 3, Parent: 2, Trace: &report.NodeTrace{Starts: []report.Start{{Host: 3}}}}}, Ranks: []report.Rank{{Host: 2, Rank: 4}}}},
	KindPong:      {message: Pong{}},
	KindProgress:  {message: Progress{Host: 3}},
	KindWaits:     {message: Waits{Silent: []job.HostIndex{3}}},
	KindGroup:     {message: Group{Key: []byte("WORLD:1"), Need: 5, Entries: []cache.GroupEntry{{Node: 2}}}},
	KindProfile:   {message: nil}, // names no host
	KindPMIxCall:  {message: PMIxCall{Host: 2, Count: 1, Frame: pmix.Append(nil, 1, pmix.Fence{})}},
	KindPMIxModex: {to: 4, message: PMIxModex{Namespace: "kvs"}},
}

// inBytes are kinds whose bodies are no structs, and why they name no host, or who
// judges that.
var inBytes = map[tree.Kind]string{
	KindBoard:     "the receiver's board knows the children's ranks alone",
	KindOutput:    "names ranks, which are judged to be below",
	KindDrained:   "empty",
	KindHome:      "names keys",
	KindStalled:   "empty",
	KindRecords:   "names ranks, which the tree's service judges by direction",
	KindPMIxFence: "names no hosts; its blobs are the helpers'",
	KindMaster:    "an address, from where rank 0 is alone",
}

// free are fields that may have these hosts, too, and why.
var free = map[string]struct {
	hosts []job.HostIndex
	why   string
}{
	"collected.Nodes[].Parent": {[]job.HostIndex{job.NoHost}, "the child's own is not known to it"},
	"progress.Host":            {[]job.HostIndex{job.NoHost}, "it waits for none"},
	"group.Entries[].Node":     {[]job.HostIndex{0, 1, 4}, "nodes of a group tell on what others have put"},
}

// hostFields returns the paths of all fields of a type that name hosts or nodes.
func hostFields(t *testing.T, typ reflect.Type, path string) (paths []string) {
	switch typ {
	case reflect.TypeFor[job.HostIndex](), reflect.TypeFor[job.NodeID]():
		return []string{path}
	}
	switch typ.Kind() {
	case reflect.Pointer:
		return hostFields(t, typ.Elem(), path)
	case reflect.Slice, reflect.Array:
		return hostFields(t, typ.Elem(), path+"[]")
	case reflect.Map:
		require.Empty(t, hostFields(t, typ.Key(), path), "%s: this test sets no keys", path)
		return hostFields(t, typ.Elem(), path+"[]")
	case reflect.Interface, reflect.Func, reflect.Chan:
		require.Fail(t, "a field that can be anything", path)
	case reflect.Struct:
		if typ.PkgPath() == "time" {
			return nil
		}
		for i := range typ.NumField() {
			if f := typ.Field(i); f.IsExported() && f.Tag.Get("cbor") != "-" {
				paths = append(paths, hostFields(t, f.Type, path+"."+f.Name)...)
			}
		}
	}
	return paths
}

// hostsNamed lists the fields of a value that name hosts, by path.
func hostsNamed(v reflect.Value, path string, found map[string][]reflect.Value) {
	switch v.Type() {
	case reflect.TypeFor[job.HostIndex](), reflect.TypeFor[job.NodeID]():
		found[path] = append(found[path], v)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			hostsNamed(v.Elem(), path, found)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			hostsNamed(v.Index(i), path+"[]", found)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("cbor") != "-" {
				hostsNamed(v.Field(i), path+"."+f.Name, found)
			}
		}
	}
}

// A child speaks of its own hosts only: an otherwise honest message is refused with
// another in any field. A field that nobody judges, of a kind that is new as well,
// fails here.
func TestEveryHostIsJudged(t *testing.T) {
	others := []job.HostIndex{0, 1, 4, 5, 99, 1 << 40, -1, -2}
	judged := map[string]bool{}
	for number, k := range kinds {
		kind := tree.Kind(number)
		if k.name == "" || k.direction == down || k.sender == byNewcomer {
			continue // messages from the parent are taken from it alone
		}
		value, _ := k.body(middleChild(true), tree.Header{Kind: kind, From: 2}, []byte{0xa0}, 1<<20)
		if value == nil {
			require.NotEmpty(t, inBytes[kind], "%s: who judges the hosts that it names?", k.name)
			continue
		}
		paths := hostFields(t, reflect.TypeOf(value), k.name)
		sample, known := honest[kind]
		require.True(t, known, "%s: there is no example of it", k.name)
		say := func(message any) error {
			o := middleChild(true)
			if kind == KindGrown {
				o.extend([]HostEntry{{Index: 5}, {Index: 6}})
			}
			_, err := hear(o, k.stream, tree.Header{Kind: kind, Job: about(kind), World: uint16(sample.world), To: sample.to, From: 2}, Encode(message))
			return err
		}
		if sample.message == nil {
			require.Empty(t, paths, k.name)
			continue
		}
		require.NoError(t, say(sample.message), k.name)
		for _, path := range paths {
			judged[path] = true
			for _, h := range others {
				if slices.Contains(free[path].hosts, h) {
					continue
				}
				found := map[string][]reflect.Value{}
				changed := reflect.New(reflect.TypeOf(sample.message))
				copied(t, sample.message, changed)
				hostsNamed(changed.Elem(), k.name, found)
				require.NotEmpty(t, found[path], "%s: the example has none", path)
				for i := range found[path] {
					copied(t, sample.message, changed)
					found := map[string][]reflect.Value{}
					hostsNamed(changed.Elem(), k.name, found)
					at := found[path][i]
					if int64(h) == at.Int() {
						continue
					}
					at.SetInt(int64(h))
					require.Error(t, say(changed.Elem().Interface()), "%s: nobody judges it: host %d", path, h)
				}
			}
		}
	}
	for path := range free {
		require.True(t, judged[path], "%s is in no message", path)
	}
	require.GreaterOrEqual(t, len(judged), 20, fmt.Sprint(judged))
}

// copied makes into, a pointer, a deep copy of a message.
func copied(t *testing.T, message any, into reflect.Value) {
	t.Helper()
	into.Elem().SetZero()
	require.NoError(t, decoder.Unmarshal(Encode(message), into.Interface()))
}
