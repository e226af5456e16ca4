package overlay

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/memlink"
	"github.com/golaunch/golaunch/internal/report"
	"github.com/golaunch/golaunch/internal/stdio"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// hear has an Origin judge a message, as an edge does.
func hear(o *Origin, s link.Stream, h tree.Header, body []byte) (any, error) {
	most, err := o.admit(s, h)
	if err != nil {
		return nil, err
	}
	if len(body) > most {
		return nil, errTooHeavy
	}
	return o.read(h, body)
}

// say has it judge a message of a kind, on the stream of that kind; what is not
// bytes is encoded.
func say(o *Origin, k tree.Kind, world int, message any) error {
	body, raw := message.([]byte)
	if !raw && message != nil {
		body = Encode(message)
	}
	from := tree.Launcher
	if kinds[k].by == byBelow { // which passes it on
		from = o.own
	}
	_, err := hear(o, kinds[k].stream, tree.Header{Kind: k, World: uint16(world), To: tree.Launcher, From: from}, body)
	return err
}

// middleChild is a child with hosts 2 and 3 of five hosts. The first world has
// ranks 0 to 9, two on each host; world 1 has rank 0 on host 3 and rank 1 on host
// 4; world 2 has none below the child; world 3 is over.
func middleChild(root bool) *Origin {
	var w Worlds
	for h := range job.HostIndex(5) {
		w.Call(HostEntry{Index: h, Name: fmt.Sprint("n", h)})
	}
	w.Rules(LaunchOptions{Cache: cache.Distributed, PMIVersion: pmi.VersionGroups})
	o := w.Child(root, []HostEntry{{Index: 2}, {Index: 3}})
	var blocks []job.Block
	for h := range 5 {
		blocks = append(blocks, job.Block{Host: job.HostIndex(h), First: job.Rank(2 * h), Count: 2})
	}
	w.Know(0, blocks)
	w.Know(1, []job.Block{{Host: 3, Count: 1}, {Host: 4, First: 1, Count: 1}})
	w.Know(2, []job.Block{{Host: 0, Count: 1}})
	w.Know(3, []job.Block{{Host: 2, Count: 1}})
	w.Forget(3)
	return o
}

func output(world int, r job.Rank, s stdio.Stream) []byte {
	return AppendChunk(nil, job.RankID{World: world, Rank: r}, s, []byte("x"))
}

// Parts of childSays.
var (
	killedRank     = job.Failure{Class: job.CauseSignal, Rank: 4, Host: 2, Signal: 9}
	collectedOfTwo = report.Collected{Levels: []report.Level{{Agents: 1}, {Agents: 1}}}
)

func liveHosts(hosts ...job.HostIndex) (r Ready) {
	for _, h := range hosts {
		r.Live = append(r.Live, NodeInfo{Index: h})
	}
	return r
}

func killedRankBut(change func(*job.Failure)) job.Failure {
	f := killedRank
	change(&f)
	return f
}

// childSays is what a child may say, and may not.
var childSays = map[string]struct {
	kind    tree.Kind
	world   int
	message any
	want    string // of the error; "" for none
}{
	"ready":                      {KindReady, 0, liveHosts(2, 3), ""},
	"one of them dead":           {KindReady, 0, Ready{Live: liveHosts(3).Live, Dead: []DeadHost{{Index: 2}}}, ""},
	"a host of others is up":     {KindReady, 0, liveHosts(2, 3, 4), "n4, which is not below it, is up"},
	"a host of others is dead":   {KindReady, 0, Ready{Live: liveHosts(2, 3).Live, Dead: []DeadHost{{Index: 0}}}, "n0, which is not below it, is dead"},
	"a host that does not exist": {KindReady, 0, liveHosts(2, 3, -1), "another host, which is not below it, is up"},
	"a host dead and alive":      {KindReady, 0, Ready{Live: liveHosts(2, 3).Live, Dead: []DeadHost{{Index: 3}}}, "n3 is told of twice"},
	"negative room":              {KindReady, 0, Ready{Live: []NodeInfo{{Index: 2}, {Index: 3, Room: &Room{Ranks: -1}}}}, "room for -1 ranks"},
	"much said of a host":        {KindReady, 0, Ready{Live: []NodeInfo{{Index: 2}, {Index: 3, Room: &Room{None: strings.Repeat("x", maxCause)}}}}, "a text of 16384 bytes"},
	"a host left out":            {KindReady, 0, liveHosts(2), "1 of 2 hosts are told of"},
	"died":                       {KindDied, 0, Died{Dead: []DeadHost{{Index: 3}, {Index: 2}}}, ""},
	"others died":                {KindDied, 0, Died{Dead: []DeadHost{{Index: 1}}}, "n1 is not below it"},
	"died twice":                 {KindDied, 0, Died{Dead: []DeadHost{{Index: 3}, {Index: 3}}}, "n3 has died twice"},
	"grown without being asked":  {KindGrown, 0, liveHosts(2, 3), "not to be started"},

	"failure":                     {KindFailure, 0, killedRank, ""},
	"of a node":                   {KindFailure, 0, job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: 3}, ""},
	"of all starts of a node":     {KindFailure, 0, job.Failure{Class: job.CauseStart, Rank: -1, Host: 3, Code: 125}, ""},
	"of a world that is over":     {KindFailure, 0, killedRankBut(func(f *job.Failure) { f.World = 3 }), ""},
	"an abort, whatever its code": {KindFailure, 0, job.Failure{Class: job.CauseAbort, Rank: 4, Host: 2, Code: -1 << 31}, ""},
	"of another host":             {KindFailure, 0, killedRankBut(func(f *job.Failure) { f.Host = 0 }), "n0 is not below it"},
	"of another host's rank":      {KindFailure, 0, killedRankBut(func(f *job.Failure) { f.Rank = 0 }), "rank 0 is not on n2"},
	"of a rank that is not":       {KindFailure, 0, killedRankBut(func(f *job.Failure) { f.Rank = 10 }), "rank 10 is not on n2"},
	"of a world that is not":      {KindFailure, 0, killedRankBut(func(f *job.Failure) { f.World = 4 }), "world 4 does not exist"},
	"a signal that makes exit 0":  {KindFailure, 0, killedRankBut(func(f *job.Failure) { f.Signal = -128 }), "signal -128 does not exist"},
	"a large signal":              {KindFailure, 0, killedRankBut(func(f *job.Failure) { f.Signal = 65 }), "signal 65 does not exist"},
	"after MPI_Finalize":          {KindFailure, 0, job.Failure{Class: job.CauseExit, Rank: 4, Host: 2, Code: 1, Finalized: true}, ""},
	"a signal after MPI_Finalize": {KindFailure, 0, killedRankBut(func(f *job.Failure) { f.Finalized = true }), "after MPI_Finalize"},
	"ranks wait":                  {KindWaiting, 0, Waiting{Ranks: []RankRange{{First: 4, Count: 4}}}, ""},
	"ranks of others wait":        {KindWaiting, 0, Waiting{Ranks: []RankRange{{First: 5, Count: 4}}}, "ranks 5+4 of world 0, which are not below it"},
	"ranks far beyond wait":       {KindWaiting, 0, Waiting{Ranks: []RankRange{{First: math.MaxInt, Count: 4}}}, "which are not below it"},
	"ranks waited, which is over": {KindWaiting, 3, Waiting{Ranks: []RankRange{{First: 0, Count: 1}}}, ""},
	"ranks of no world wait":      {KindWaiting, 4, Waiting{}, "world 4 does not exist"},
	"missing":                     {KindWaits, 0, Waits{Waits: []Wait{{Missing: []WaitRun{{First: 4, Count: 4}}}}}, ""},
	"others are missing":          {KindWaits, 0, Waits{Waits: []Wait{{Missing: []WaitRun{{First: 3, Count: 1}}}}}, "which are not below it"},
	"missing far beyond":          {KindWaits, 0, Waits{Waits: []Wait{{Missing: []WaitRun{{First: math.MaxInt, Count: 4}}}}}, "which are not below it"},
	"out of MPI_Init":             {KindWaits, 0, Waits{Waits: []Wait{{ID: InitOf(0), Missing: []WaitRun{{First: 4, Count: 1}}, Begun: []WaitRun{{First: 5, Count: 1}}, Ended: []WaitRun{{First: 6, Count: 2}}}}}, ""},
	"out of a spawned world's":    {KindWaits, 0, Waits{Waits: []Wait{{ID: InitOf(1), Ended: []WaitRun{{First: 0, Count: 1}}}}}, ""},
	"others have not begun":       {KindWaits, 0, Waits{Waits: []Wait{{ID: InitOf(0), Begun: []WaitRun{{First: 3, Count: 1}}}}}, "which are not below it"},
	"out of a fence":              {KindWaits, 0, Waits{Waits: []Wait{{ID: WaitID{Fence: true, PMIx: true}, Left: []WaitRun{{First: 4, Count: 1}}}}}, ""},
	"others have finalized":       {KindWaits, 0, Waits{Waits: []Wait{{ID: WaitID{Fence: true}, Left: []WaitRun{{First: 3, Count: 1}}}}}, "which are not below it"},
	"others have ended":           {KindWaits, 0, Waits{Waits: []Wait{{ID: InitOf(1), Ended: []WaitRun{{First: 1, Count: 1}}}}}, "which are not below it"},
	"more than all have ended":    {KindWaits, 0, Waits{Waits: []Wait{{ID: InitOf(0), Ended: []WaitRun{{First: 4, Count: 4}, {First: 4, Count: 4}}}}}, "which are not below it"},
	"MPI_Init of no world":        {KindWaits, 0, Waits{Waits: []Wait{{ID: InitOf(4), Ended: []WaitRun{{First: 0, Count: 1}}}}}, "world 4 does not exist"},
	"MPI_Init beyond all worlds":  {KindWaits, 0, Waits{Waits: []Wait{{ID: WaitID{Init: true, World: MaxWorlds}, Ended: []WaitRun{{First: 0, Count: 1}}}}}, "does not exist"},
	"missing of a spawned world":  {KindWaits, 0, Waits{Waits: []Wait{{ID: WaitID{World: 1}, Missing: []WaitRun{{First: 0, Count: 1}}}}}, ""},
	"others of it are missing":    {KindWaits, 0, Waits{Waits: []Wait{{ID: WaitID{World: 1}, Missing: []WaitRun{{First: 1, Count: 1}}}}}, "which are not below it"},
	"missing of the over":         {KindWaits, 0, Waits{Waits: []Wait{{ID: WaitID{World: 3}, Missing: []WaitRun{{First: 0, Count: 1}}}}}, ""},
	"missing of no world":         {KindWaits, 0, Waits{Waits: []Wait{{ID: WaitID{World: 4}, Missing: []WaitRun{{First: 0, Count: 1}}}}}, "world 4 does not exist"},
	"connections":                 {KindWaits, 0, Waits{Attempts: 4 * MostAttempts, Unanswered: []string{"rank 4"}}, ""},
	"too many connections":        {KindWaits, 0, Waits{Attempts: 1 << 20}, "1048576 connections that nobody answers"},
	"fewer than the examples":     {KindWaits, 0, Waits{Unanswered: []string{"rank 4"}}, "0 connections"},
	"a start with code 0":         {KindFailure, 0, job.Failure{Class: job.CauseStart, Rank: 4, Host: 2}, "exit code 0 does not exist"},
	"a large exit code":           {KindFailure, 0, job.Failure{Class: job.CauseExit, Rank: 4, Host: 2, Code: 256}, "exit code 256 does not exist"},
	"an unknown class":            {KindFailure, 0, killedRankBut(func(f *job.Failure) { f.Class = 200 }), "class 200"},
	"no rank has failed":          {KindFailure, 0, killedRankBut(func(f *job.Failure) { f.Rank = -1 }), "rank -1"},

	"started":                     {KindStarted, 0, Started{Ranks: 4}, ""},
	"fewer, as a node is lost":    {KindStarted, 0, Started{Ranks: 2}, ""},
	"more than there are":         {KindStarted, 0, Started{Ranks: 5}, "5 ranks of 4 run"},
	"negative":                    {KindStarted, 0, Started{Ranks: -1}, "-1 ranks"},
	"not started":                 {KindStarted, 1, Started{Failures: []StartFailure{{Host: 3, Count: 1, Code: 127}}}, ""},
	"another's ranks":             {KindStarted, 1, Started{Failures: []StartFailure{{Host: 3, First: 1, Count: 1, Code: 127}}}, "ranks 1+1 are not on n3"},
	"another's host":              {KindStarted, 1, Started{Failures: []StartFailure{{Host: 4, First: 1, Count: 1, Code: 127}}}, "n4 is not below it"},
	"too many":                    {KindStarted, 1, Started{Failures: []StartFailure{{Host: 3, Count: math.MaxInt, Code: 127}}}, "are not on n3"},
	"beyond all ranks":            {KindStarted, 1, Started{Failures: []StartFailure{{Host: 3, First: math.MaxInt, Count: 1, Code: 127}}}, "are not on n3"},
	"before all ranks":            {KindStarted, 1, Started{Failures: []StartFailure{{Host: 3, First: math.MinInt, Count: 1, Code: 127}}}, "are not on n3"},
	"for no reason":               {KindStarted, 1, Started{Failures: []StartFailure{{Host: 3, Count: 1}}}, "exit code 0"},
	"bound":                       {KindStarted, 0, bound([]string{"a", "b"}, 2, 3), ""},
	"bound on another's host":     {KindStarted, 0, bound([]string{"a", "b"}, 1), "n1 is not below it"},
	"another's ranks bound":       {KindStarted, 0, bound([]string{"a", "b", "c"}, 2), "3 ranks of n2 are bound, which has 2"},
	"bound twice":                 {KindStarted, 0, bound([]string{"a", "b"}, 2, 2), "of n2 are bound"},
	"none bound":                  {KindStarted, 0, bound(nil, 2), "on no host, or none"},
	"a line break":                {KindStarted, 0, bound([]string{"a\nb", "c"}, 2), "a text of two lines where a rank is bound"},
	"bound nowhere":               {KindStarted, 0, bound([]string{"a", "b"}), "on no host, or none"},
	"a long CPU list":             {KindStarted, 0, bound([]string{"a", strings.Repeat("1,", maxCause)}, 2), "a text of 32768 bytes"},
	"a world of others started":   {KindStarted, 2, Started{}, "world 2 has no ranks below it"},
	"done":                        {KindDone, 0, Done{Ranks: 2, Failed: 1, Ended: 1}, ""},
	"more ended than there are":   {KindDone, 0, Done{Ranks: 4, Ended: 1}, "4, 0 and 1 ranks of 4"},
	"ended late, or never":        {KindDone, 0, Done{Ended: 4, Cut: 1, Never: 3}, ""},
	"more killed than ended":      {KindDone, 0, Done{Ended: 2, Cut: 2, Never: 1}, "2 ranks were killed late and 1 never ran, of 2"},
	"late numbers that wrap":      {KindDone, 0, Done{Ended: 2, Cut: math.MaxInt, Never: math.MaxInt}, "of 2 that were told to end"},
	"numbers that wrap":           {KindDone, 0, Done{Ranks: math.MaxInt, Failed: math.MaxInt, Ended: 6}, "ranks of 4"},
	"a world of others has ended": {KindDone, 2, Done{}, "no ranks below it"},

	"output":                   {KindOutput, 0, append(output(0, 4, stdio.Stdout), output(1, 0, stdio.Stderr)...), ""},
	"output of another's rank": {KindOutput, 0, append(output(0, 4, stdio.Stdout), output(1, 1, stdio.Stderr)...), "rank 1.1, which is not below it"},
	"output of no rank":        {KindOutput, 0, output(0, 10, stdio.Stdout), "rank 10"},
	"output of an ended world": {KindOutput, 0, output(3, 0, stdio.Stdout), "world 3"},
	"output of no stream":      {KindOutput, 0, output(0, 4, 7), "stream 7"},
	"output cut short":         {KindOutput, 0, output(0, 4, stdio.Stdout)[:4], "truncated"},
	"drained":                  {KindDrained, 1, nil, ""},
	"others are drained":       {KindDrained, 2, nil, "no ranks below it"},

	"note":                    {KindNote, 0, Note{Host: 3, Text: "x"}, ""},
	"note of another":         {KindNote, 0, Note{Host: 1}, "n1 is not below it"},
	"note of no level":        {KindNote, 0, Note{Host: 3, Level: NoteAlways - 1}, "level -2"},
	"sign":                    {KindSign, 0, SignRequest{By: 2, Request: bootstrap.SignRequest{Host: 3}}, ""},
	"sign for others":         {KindSign, 0, SignRequest{By: 2, Request: bootstrap.SignRequest{Host: 4}}, "n4 is not below it"},
	"sign by others":          {KindSign, 0, SignRequest{By: 4, Request: bootstrap.SignRequest{Host: 3}}, "n4 is not below it"},
	"summon":                  {KindSummon, 0, Summon{By: 2, Host: 3, Addr: "10.0.0.2:99"}, ""},
	"summon others":           {KindSummon, 0, Summon{By: 2, Host: 4, Addr: "10.0.0.2:99"}, "n4 is not below it"},
	"summon for others":       {KindSummon, 0, Summon{By: 4, Host: 3, Addr: "10.0.0.2:99"}, "n4 is not below it"},
	"address":                 {KindAddress, 0, AddrRequest{By: 2, Host: 3}, ""},
	"address of others":       {KindAddress, 0, AddrRequest{By: 2, Host: 4}, "n4 is not below it"},
	"address for others":      {KindAddress, 0, AddrRequest{By: 4, Host: 3}, "n4 is not below it"},
	"summon to a name":        {KindSummon, 0, Summon{By: 2, Host: 3, Addr: "host:99"}, "no address to call"},
	"name":                    {KindName, 0, NameRequest{Host: 2, Rank: 5, Op: pmi.Lookup}, ""},
	"name for another's rank": {KindName, 0, NameRequest{Host: 2, Rank: 6, Op: pmi.Lookup}, "rank 6 is not on n2"},
	"something else":          {KindName, 0, NameRequest{Host: 2, Rank: 5, Op: pmi.SpawnWorld}, "nothing to do with a name"},
	"spawn":                   {KindSpawn, 0, SpawnRequest{World: 1, Host: 3, Rank: 0}, ""},
	"spawn by another's rank": {KindSpawn, 0, SpawnRequest{World: 1, Host: 3, Rank: 1}, "rank 1.1 is not on n3"},
	"spawn by no rank":        {KindSpawn, 0, SpawnRequest{Host: 3, Rank: math.MinInt}, "is not on n3"},
	"schedule":                {KindSchedule, 0, ScheduleRequest{Host: 3, Rank: 0, Schedule: Schedule{World: 1, Algorithm: "ring"}}, ""},
	"schedule for another's":  {KindSchedule, 0, ScheduleRequest{Host: 3, Rank: 1, Schedule: Schedule{World: 1, Algorithm: "ring"}}, "rank 1.1 is not on n3"},
	"schedule of a long name": {KindSchedule, 0, ScheduleRequest{Host: 3, Rank: 0, Schedule: Schedule{World: 1, Algorithm: strings.Repeat("r", 65)}}, "name of 65 bytes"},
	"schedule of no bytes":    {KindSchedule, 0, ScheduleRequest{Host: 3, Rank: 0, Schedule: Schedule{World: 1, Bytes: -1}}, "-1 bytes"},
	"failure of no rank":      {KindFailure, 0, killedRankBut(func(f *job.Failure) { f.Rank, f.Host = math.MinInt+5, 3 }), "is not on n3"},
	"board":                   {KindBoard, 0, []byte("x"), ""},
	"PMIx fence":              {KindPMIxFence, 1, []byte("x"), ""},
	"PMIx fence of others":    {KindPMIxFence, 2, []byte("x"), "no ranks below it"},
	"PMIx call of no host":    {KindPMIxCall, 0, PMIxCall{Host: 3}, "n2 speaks for n3"},
	"PMIx answer":             {KindPMIxAnswer, 0, PMIxAnswer{}, "only the parent sends it"},
	"PMIx modex of no host":   {KindPMIxModex, 0, PMIxModex{Namespace: "kvs"}, "for no host"},
	"records":                 {KindRecords, 1, []byte("x"), ""},
	"records of the over":     {KindRecords, 3, []byte("x"), ""},
	"records of others":       {KindRecords, 2, []byte("x"), "no ranks below it"},
	"records of no world":     {KindRecords, 4, []byte("x"), "world 4 does not exist"},
	"board of the over":       {KindBoard, 3, []byte("x"), ""},
	"board of others":         {KindBoard, 2, []byte("x"), "no ranks below it"},
	"input taken":             {KindInputAck, 0, InputAck{Bytes: stdio.Ended}, ""},
	"less than none":          {KindInputAck, 0, InputAck{Bytes: -1}, "-1 bytes"},
	"progress":                {KindProgress, 0, Progress{Nodes: 2, Ranks: 4, Host: job.NoHost}, ""},
	"progress of too many":    {KindProgress, 0, Progress{Nodes: 3, Host: job.NoHost}, "3 of 2 nodes"},
	"progress beyond the end": {KindProgress, 0, Progress{Ranks: 5, Host: job.NoHost}, "5 of 4 ranks"},
	"waiting for others":      {KindProgress, 0, Progress{Host: 0}, "n0 is not below it"},

	"counters":          {KindCollected, 0, collectedOfTwo, ""},
	"of too many":       {KindCollected, 0, report.Collected{Levels: []report.Level{{Agents: 3}}}, "more than 2 agents"},
	"of another's node": {KindCollected, 0, report.Collected{Levels: collectedOfTwo.Levels, Nodes: []report.Node{{Host: 1}}}, "n1 is not below it"},
	"of another's rank": {KindCollected, 0, report.Collected{Levels: collectedOfTwo.Levels, Ranks: []report.Rank{{Host: 2, Rank: 0}}}, "rank 0 is not on n2"},

	"what a parent says":     {KindLaunch, 0, Launch{}, "only the parent sends it"},
	"what the launcher says": {KindGrow, 0, Range{}, "only the launcher sends it"},
	"a second hello":         {KindHello, 0, Hello{}, "only a newcomer sends it"},
	"a kind that is not":     {KindHome + 20, 0, nil, "kind 38"},
}

func TestWhatAChildMaySay(t *testing.T) {
	for name, x := range childSays {
		err := say(middleChild(true), x.kind, x.world, x.message)
		if x.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, x.want, name)
	}
}

// What there is one of is said once.
func TestWhatIsSaidOnce(t *testing.T) {
	for kind, message := range map[tree.Kind]any{
		KindReady: Ready{Live: []NodeInfo{{Index: 2}, {Index: 3}}}, KindStarted: Started{}, KindDone: Done{}, KindDrained: nil,
	} {
		o := middleChild(false)
		require.NoError(t, say(o, kind, 0, message))
		require.ErrorContains(t, say(o, kind, 0, message), "said twice")
	}
	o := middleChild(false)
	require.NoError(t, say(o, KindOutput, 0, output(0, 4, stdio.Stdout)))
	require.NoError(t, say(o, KindDrained, 0, nil))
	require.ErrorContains(t, say(o, KindOutput, 0, output(0, 4, stdio.Stdout)), "which has ended")
}

// The header is held to the table, too.
func TestHeaders(t *testing.T) {
	note, home := Encode(Note{Host: 2}), []byte("\x07\x00\x01k")
	parent := OfParent()
	for name, x := range map[string]struct {
		origin *Origin
		stream link.Stream
		header tree.Header
		body   []byte
		want   string
	}{
		"as it should be":        {middleChild(false), link.Control, tree.Header{Kind: KindNote, From: 3}, note, ""},
		"from another host":      {middleChild(false), link.Control, tree.Header{Kind: KindNote, From: 4}, note, "n4 is not below it"},
		"on another stream":      {middleChild(false), link.Data, tree.Header{Kind: KindNote, From: 3}, note, "on the stream of others"},
		"about a world":          {middleChild(false), link.Control, tree.Header{Kind: KindNote, From: 3, World: 1}, note, "about world 1"},
		"to a home":              {middleChild(false), link.KVS, tree.Header{Kind: KindHome, From: 3, To: 0}, home, ""},
		"to a home, from others": {middleChild(false), link.KVS, tree.Header{Kind: KindHome, From: 1, To: 0}, home, "n1 is not below it"},
		"from nobody":            {middleChild(false), link.KVS, tree.Header{Kind: KindHome, From: -1, To: 0}, home, "from no host"},
		"note from nobody":       {middleChild(false), link.Control, tree.Header{Kind: KindNote, From: -1}, note, "from no host"},
		"to nobody":              {middleChild(false), link.KVS, tree.Header{Kind: KindHome, From: 3, To: -1}, home, "for no host"},
		"grown, from a branch":   {middleChild(false), link.Service, tree.Header{Kind: KindGrown, From: 2}, nil, "only the root sends it"},
		"from the parent":        {parent, link.Control, tree.Header{Kind: KindSignal, From: -1}, Encode(Signal{Number: 2}), ""},
		"up, from the parent":    {parent, link.Control, tree.Header{Kind: KindNote, From: -1}, note, "only an agent below sends it"},
		"grow, too far down":     {parent, link.KVS, tree.Header{Kind: KindGrow, From: -1}, Encode(Range{}), "only the launcher sends it"},
		"from beside":            {parent, link.Control, tree.Header{Kind: KindSignal, From: 4}, nil, "a host, which is not above"},
	} {
		_, err := hear(x.origin, x.stream, x.header, x.body)
		if x.want == "" {
			require.NoError(t, err, name)
		} else {
			require.ErrorContains(t, err, x.want, name)
		}
	}
	parent.Launcher(true)
	_, err := hear(parent, link.KVS, tree.Header{Kind: KindGrow, From: -1}, Encode(Range{}))
	require.NoError(t, err)
}

// The root tells of the hosts that it was to start, of all of them and once.
func TestHostsThatWereToBeStarted(t *testing.T) {
	grown := func(hosts ...job.HostIndex) (r Ready) {
		for _, h := range hosts {
			r.Live = append(r.Live, NodeInfo{Index: h})
		}
		return r
	}
	for _, x := range []struct {
		hosts []job.HostIndex
		want  string
	}{{[]job.HostIndex{5, 6}, ""}, {[]job.HostIndex{5}, "1 of 2 hosts"}, {[]job.HostIndex{2, 5, 6}, "n2"}} {
		o := middleChild(true)
		o.extend([]HostEntry{{Index: 5}, {Index: 6}})
		err := say(o, KindGrown, 0, grown(x.hosts...))
		if x.want != "" {
			require.ErrorContains(t, err, x.want)
			continue
		}
		require.NoError(t, err)
		require.ErrorContains(t, say(o, KindGrown, 0, grown(x.hosts...)), "not to be started")
		require.NoError(t, say(o, KindNote, 0, Note{Host: 6}))
	}
}

// A relay that is dead takes along what is below it, of which nothing is known;
// it is no host.
func TestRelaysThatAreDead(t *testing.T) {
	hosts := []HostEntry{{Index: 4, Below: 2}, {Index: 0}, {Index: 1}}
	for _, x := range []struct {
		ready Ready
		want  string
	}{
		{Ready{Dead: []DeadHost{{Index: 4}}}, ""},
		{Ready{Live: []NodeInfo{{Index: 0}, {Index: 1}}}, ""},
		{Ready{Live: []NodeInfo{{Index: 4}, {Index: 0}, {Index: 1}}}, "another host, which is not below it, is up"},
		{Ready{Live: []NodeInfo{{Index: 0}}}, "1 of 2 hosts"},
	} {
		err := say(new(Worlds).Child(false, hosts), KindReady, 0, x.ready)
		if x.want == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, x.want)
		}
	}
}

// A child that says what it may not loses its link: the error tells what it was.
func TestAForgerLosesItsLink(t *testing.T) {
	near, remote := memlink.Pair()
	events := make(chan Event, 100)
	var inbox *Inbox
	inbox = NewInbox(func() {
		for _, e := range inbox.Take(nil) {
			events <- e
		}
	})
	e := NewEdge(near, 7, middleChild(false), inbox, func(tree.Header, []byte) {}, nil)
	defer e.Close()
	send := func(f job.Failure) {
		h := tree.Header{Kind: KindFailure, To: tree.Launcher, From: 2}
		require.NoError(t, remote.Send(link.Control, append(tree.AppendHeader(nil, h), Encode(f)...)))
	}
	honest := job.Failure{Class: job.CauseExit, Rank: 4, Host: 2, Code: 3}
	send(honest)
	m := (<-events).(Message)
	got, err := As[job.Failure](m)
	require.NoError(t, err)
	require.Equal(t, honest, got)
	send(job.Failure{Class: job.CauseSignal, Rank: 0, Host: 0, Signal: -128})
	ended := (<-events).(EdgeEnded)
	require.Equal(t, tree.Slot(7), ended.From)
	require.ErrorIs(t, ended.Err, link.ErrLost)
	require.ErrorContains(t, ended.Err, `protocol error: message "failure": n0 is not below it`)
	_, err = remote.Recv(link.Control)
	require.Error(t, err)
}
