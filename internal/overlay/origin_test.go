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

// about returns the job of a message of a kind.
func about(k tree.Kind) job.Number {
	if kinds[k].of == ofJob {
		return job.Cold
	}
	return job.TreeItself
}

// say has it judge a message of a kind, on the stream of that kind; other messages than
// bytes are encoded. Those of a job are of job.Cold.
func say(o *Origin, k tree.Kind, world int, message any) error {
	return sayIn(o, about(k), k, world, message)
}

// sayIn is say of a job.
func sayIn(o *Origin, n job.Number, k tree.Kind, world int, message any) error {
	body, raw := message.([]byte)
	if !raw && message != nil {
		body = Encode(message)
	}
	from := tree.Launcher
	if kinds[k].sender == byBelow { // a neighbor passes it on
		from = o.own
	}
	_, err := hear(o, kinds[k].stream, tree.Header{Kind: k, Job: n, World: uint16(world), To: tree.Launcher, From: from}, body)
	return err
}

// middleChild returns a child with hosts 2 and 3 of five hosts, and job.Cold as middleJob
// has it.
func middleChild(root bool) *Origin {
	var w Worlds
	o := w.Child(root, []HostEntry{{Index: 2}, {Index: 3}})
	middleJob(&w, job.Cold)
	return o
}

// childAlone returns a child with hosts, on which job.Cold has no ranks yet.
func childAlone(root bool, hosts ...HostEntry) *Origin {
	var w Worlds
	w.KnowJob(job.Cold)
	return w.Child(root, hosts)
}

// middleJob makes a job on five hosts known. The first world has ranks 0 to 9, two on each
// host; world 1 has rank 0 on host 3 and rank 1 on host 4; world 2 is on host 0; world 3 is
// over.
func middleJob(w *Worlds, n job.Number) {
	for h := range job.HostIndex(5) {
		w.Call(HostEntry{Index: h, Name: fmt.Sprint("n", h)})
	}
	w.Rules(n, LaunchOptions{Cache: cache.Distributed, PMIVersion: pmi.VersionGroups})
	var blocks []job.Block
	for h := range 5 {
		blocks = append(blocks, job.Block{Host: job.HostIndex(h), First: job.Rank(2 * h), Count: 2})
	}
	w.Know(n, 0, blocks)
	w.Know(n, 1, []job.Block{{Host: 3, Count: 1}, {Host: 4, First: 1, Count: 1}})
	w.Know(n, 2, []job.Block{{Host: 0, Count: 1}})
	w.Know(n, 3, []job.Block{{Host: 2, Count: 1}})
	w.Forget(n, 3)
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

// childSays has messages that a child may send, and others.
var childSays = map[string]struct {
	kind    tree.Kind
	world   int
	message any
	want    string // of the error; "" for none
}{
	"ready":                      {kind: KindReady, message: liveHosts(2, 3)},
	"one of them dead":           {kind: KindReady, message: Ready{Live: liveHosts(3).Live, Dead: []DeadHost{{Index: 2}}}},
	"a host of others is up":     {kind: KindReady, message: liveHosts(2, 3, 4), want: "n4, which is not below it, is up"},
	"a host of others is dead":   {kind: KindReady, message: Ready{Live: liveHosts(2, 3).Live, Dead: []DeadHost{{Index: 0}}}, want: "n0, which is not below it, is dead"},
	"a host that does not exist": {kind: KindReady, message: liveHosts(2, 3, -1), want: "another host, which is not below it, is up"},
	"a host dead and alive":      {kind: KindReady, message: Ready{Live: liveHosts(2, 3).Live, Dead: []DeadHost{{Index: 3}}}, want: "n3 is told of twice"},
	"negative room":              {kind: KindReady, message: Ready{Live: []NodeInfo{{Index: 2}, {Index: 3, Room: &Room{Ranks: -1}}}}, want: "room for -1 ranks"},
	"much said of a host":        {kind: KindReady, message: Ready{Live: []NodeInfo{{Index: 2}, {Index: 3, Room: &Room{None: strings.Repeat("x", maxCause)}}}}, want: "a text of 16384 bytes"},
	"a host left out":            {kind: KindReady, message: liveHosts(2), want: "1 of 2 hosts are told of"},
	"died":                       {kind: KindDied, message: Died{Dead: []DeadHost{{Index: 3}, {Index: 2}}}},
	"others died":                {kind: KindDied, message: Died{Dead: []DeadHost{{Index: 1}}}, want: "n1 is not below it"},
	"died twice":                 {kind: KindDied, message: Died{Dead: []DeadHost{{Index: 3}, {Index: 3}}}, want: "n3 has died twice"},
	"grown without being asked":  {kind: KindGrown, message: liveHosts(2, 3), want: "not to be started"},

	"failure":                     {kind: KindFailure, message: killedRank},
	"of a node":                   {kind: KindFailure, message: job.Failure{Class: job.CauseNodeLost, Rank: -1, Host: 3}},
	"of all starts of a node":     {kind: KindFailure, message: job.Failure{Class: job.CauseStart, Rank: -1, Host: 3, Code: 125}},
	"of a world that is over":     {kind: KindFailure, message: killedRankBut(func(f *job.Failure) { f.World = 3 })},
	"an abort, whatever its code": {kind: KindFailure, message: job.Failure{Class: job.CauseAbort, Rank: 4, Host: 2, Code: -1 << 31}},
	"of another host":             {kind: KindFailure, message: killedRankBut(func(f *job.Failure) { f.Host = 0 }), want: "n0 is not below it"},
	"of another host's rank":      {kind: KindFailure, message: killedRankBut(func(f *job.Failure) { f.Rank = 0 }), want: "rank 0 is not on n2"},
	"of a rank that is not":       {kind: KindFailure, message: killedRankBut(func(f *job.Failure) { f.Rank = 10 }), want: "rank 10 is not on n2"},
	"of a world that is not":      {kind: KindFailure, message: killedRankBut(func(f *job.Failure) { f.World = 4 }), want: "world 4 does not exist"},
	"a signal that makes exit 0":  {kind: KindFailure, message: killedRankBut(func(f *job.Failure) { f.Signal = -128 }), want: "signal -128 does not exist"},
	"a large signal":              {kind: KindFailure, message: killedRankBut(func(f *job.Failure) { f.Signal = 65 }), want: "signal 65 does not exist"},
	"after MPI_Finalize":          {kind: KindFailure, message: job.Failure{Class: job.CauseExit, Rank: 4, Host: 2, Code: 1, Finalized: true}},
	"a signal after MPI_Finalize": {kind: KindFailure, message: killedRankBut(func(f *job.Failure) { f.Finalized = true }), want: "after MPI_Finalize"},
	"ranks wait":                  {kind: KindWaiting, message: Waiting{Ranks: []RankRange{{First: 4, Count: 4}}}},
	"ranks of others wait":        {kind: KindWaiting, message: Waiting{Ranks: []RankRange{{First: 5, Count: 4}}}, want: "ranks 5+4 of world 0, which are not below it"},
	"ranks far beyond wait":       {kind: KindWaiting, message: Waiting{Ranks: []RankRange{{First: math.MaxInt, Count: 4}}}, want: "which are not below it"},
	"ranks waited, which is over": {kind: KindWaiting, world: 3, message: Waiting{Ranks: []RankRange{{First: 0, Count: 1}}}},
	"ranks of no world wait":      {kind: KindWaiting, world: 4, message: Waiting{}, want: "world 4 does not exist"},
	"missing":                     {kind: KindWaits, message: Waits{Waits: []Wait{{Missing: []WaitRun{{First: 4, Count: 4}}}}}},
	"others are missing":          {kind: KindWaits, message: Waits{Waits: []Wait{{Missing: []WaitRun{{First: 3, Count: 1}}}}}, want: "which are not below it"},
	"missing far beyond":          {kind: KindWaits, message: Waits{Waits: []Wait{{Missing: []WaitRun{{First: math.MaxInt, Count: 4}}}}}, want: "which are not below it"},
	"out of MPI_Init":             {kind: KindWaits, message: Waits{Waits: []Wait{{ID: InitOf(0), Missing: []WaitRun{{First: 4, Count: 1}}, Begun: []WaitRun{{First: 5, Count: 1}}, Ended: []WaitRun{{First: 6, Count: 2}}}}}},
	"out of a spawned world's":    {kind: KindWaits, message: Waits{Waits: []Wait{{ID: InitOf(1), Ended: []WaitRun{{First: 0, Count: 1}}}}}},
	"others have not begun":       {kind: KindWaits, message: Waits{Waits: []Wait{{ID: InitOf(0), Begun: []WaitRun{{First: 3, Count: 1}}}}}, want: "which are not below it"},
	"out of a fence":              {kind: KindWaits, message: Waits{Waits: []Wait{{ID: WaitID{Fence: true, PMIx: true}, Left: []WaitRun{{First: 4, Count: 1}}}}}},
	"others have finalized":       {kind: KindWaits, message: Waits{Waits: []Wait{{ID: WaitID{Fence: true}, Left: []WaitRun{{First: 3, Count: 1}}}}}, want: "which are not below it"},
	"others have ended":           {kind: KindWaits, message: Waits{Waits: []Wait{{ID: InitOf(1), Ended: []WaitRun{{First: 1, Count: 1}}}}}, want: "which are not below it"},
	"more than all have ended":    {kind: KindWaits, message: Waits{Waits: []Wait{{ID: InitOf(0), Ended: []WaitRun{{First: 4, Count: 4}, {First: 4, Count: 4}}}}}, want: "which are not below it"},
	"MPI_Init of no world":        {kind: KindWaits, message: Waits{Waits: []Wait{{ID: InitOf(4), Ended: []WaitRun{{First: 0, Count: 1}}}}}, want: "world 4 does not exist"},
	"MPI_Init beyond all worlds":  {kind: KindWaits, message: Waits{Waits: []Wait{{ID: WaitID{Init: true, World: MaxWorlds}, Ended: []WaitRun{{First: 0, Count: 1}}}}}, want: "does not exist"},
	"missing of a spawned world":  {kind: KindWaits, message: Waits{Waits: []Wait{{ID: WaitID{World: 1}, Missing: []WaitRun{{First: 0, Count: 1}}}}}},
	"others of it are missing":    {kind: KindWaits, message: Waits{Waits: []Wait{{ID: WaitID{World: 1}, Missing: []WaitRun{{First: 1, Count: 1}}}}}, want: "which are not below it"},
	"missing of the over":         {kind: KindWaits, message: Waits{Waits: []Wait{{ID: WaitID{World: 3}, Missing: []WaitRun{{First: 0, Count: 1}}}}}},
	"missing of no world":         {kind: KindWaits, message: Waits{Waits: []Wait{{ID: WaitID{World: 4}, Missing: []WaitRun{{First: 0, Count: 1}}}}}, want: "world 4 does not exist"},
	"connections":                 {kind: KindWaits, message: Waits{Attempts: 4 * MostAttempts, Unanswered: []string{"rank 4"}}},
	"too many connections":        {kind: KindWaits, message: Waits{Attempts: 1 << 20}, want: "1048576 connections that nobody answers"},
	"fewer than the examples":     {kind: KindWaits, message: Waits{Unanswered: []string{"rank 4"}}, want: "0 connections"},
	"a start with code 0":         {kind: KindFailure, message: job.Failure{Class: job.CauseStart, Rank: 4, Host: 2}, want: "exit code 0 does not exist"},
	"a large exit code":           {kind: KindFailure, message: job.Failure{Class: job.CauseExit, Rank: 4, Host: 2, Code: 256}, want: "exit code 256 does not exist"},
	"an unknown class":            {kind: KindFailure, message: killedRankBut(func(f *job.Failure) { f.Class = 200 }), want: "class 200"},
	"no rank has failed":          {kind: KindFailure, message: killedRankBut(func(f *job.Failure) { f.Rank = -1 }), want: "rank -1"},

	"started":                     {kind: KindStarted, message: Started{Ranks: 4}},
	"fewer, as a node is lost":    {kind: KindStarted, message: Started{Ranks: 2}},
	"more than there are":         {kind: KindStarted, message: Started{Ranks: 5}, want: "5 ranks of 4 run"},
	"negative":                    {kind: KindStarted, message: Started{Ranks: -1}, want: "-1 ranks"},
	"not started":                 {kind: KindStarted, world: 1, message: Started{Failures: []StartFailure{{Host: 3, Count: 1, Code: 127}}}},
	"another's ranks":             {kind: KindStarted, world: 1, message: Started{Failures: []StartFailure{{Host: 3, First: 1, Count: 1, Code: 127}}}, want: "ranks 1+1 are not on n3"},
	"another's host":              {kind: KindStarted, world: 1, message: Started{Failures: []StartFailure{{Host: 4, First: 1, Count: 1, Code: 127}}}, want: "n4 is not below it"},
	"too many":                    {kind: KindStarted, world: 1, message: Started{Failures: []StartFailure{{Host: 3, Count: math.MaxInt, Code: 127}}}, want: "are not on n3"},
	"beyond all ranks":            {kind: KindStarted, world: 1, message: Started{Failures: []StartFailure{{Host: 3, First: math.MaxInt, Count: 1, Code: 127}}}, want: "are not on n3"},
	"before all ranks":            {kind: KindStarted, world: 1, message: Started{Failures: []StartFailure{{Host: 3, First: math.MinInt, Count: 1, Code: 127}}}, want: "are not on n3"},
	"for no reason":               {kind: KindStarted, world: 1, message: Started{Failures: []StartFailure{{Host: 3, Count: 1}}}, want: "exit code 0"},
	"bound":                       {kind: KindStarted, message: bound([]string{"a", "b"}, 2, 3)},
	"bound on another's host":     {kind: KindStarted, message: bound([]string{"a", "b"}, 1), want: "n1 is not below it"},
	"another's ranks bound":       {kind: KindStarted, message: bound([]string{"a", "b", "c"}, 2), want: "3 ranks of n2 are bound, which has 2"},
	"bound twice":                 {kind: KindStarted, message: bound([]string{"a", "b"}, 2, 2), want: "of n2 are bound"},
	"none bound":                  {kind: KindStarted, message: bound(nil, 2), want: "on no host, or none"},
	"a line break":                {kind: KindStarted, message: bound([]string{"a\nb", "c"}, 2), want: "a text of two lines where a rank is bound"},
	"bound nowhere":               {kind: KindStarted, message: bound([]string{"a", "b"}), want: "on no host, or none"},
	"a long CPU list":             {kind: KindStarted, message: bound([]string{"a", strings.Repeat("1,", maxCause)}, 2), want: "a text of 32768 bytes"},
	"a world of others started":   {kind: KindStarted, world: 2, message: Started{}, want: "world 2 has no ranks below it"},
	"done":                        {kind: KindDone, message: Done{Ranks: 2, Failed: 1, Ended: 1}},
	"more ended than there are":   {kind: KindDone, message: Done{Ranks: 4, Ended: 1}, want: "4, 0 and 1 ranks of 4"},
	"ended late, or never":        {kind: KindDone, message: Done{Ended: 4, Cut: 1, Never: 3}},
	"more killed than ended":      {kind: KindDone, message: Done{Ended: 2, Cut: 2, Never: 1}, want: "2 ranks were killed late and 1 never ran, of 2"},
	"late numbers that wrap":      {kind: KindDone, message: Done{Ended: 2, Cut: math.MaxInt, Never: math.MaxInt}, want: "of 2 that were told to end"},
	"numbers that wrap":           {kind: KindDone, message: Done{Ranks: math.MaxInt, Failed: math.MaxInt, Ended: 6}, want: "ranks of 4"},
	"a world of others has ended": {kind: KindDone, world: 2, message: Done{}, want: "no ranks below it"},

	"output":                   {kind: KindOutput, message: append(output(0, 4, stdio.Stdout), output(1, 0, stdio.Stderr)...)},
	"output of another's rank": {kind: KindOutput, message: append(output(0, 4, stdio.Stdout), output(1, 1, stdio.Stderr)...), want: "rank 1.1, which is not below it"},
	"output of no rank":        {kind: KindOutput, message: output(0, 10, stdio.Stdout), want: "rank 10"},
	"output of an ended world": {kind: KindOutput, message: output(3, 0, stdio.Stdout), want: "world 3"},
	"output of no stream":      {kind: KindOutput, message: output(0, 4, 7), want: "stream 7"},
	"output cut short":         {kind: KindOutput, message: output(0, 4, stdio.Stdout)[:4], want: "truncated"},
	"drained":                  {kind: KindDrained, world: 1},
	"others are drained":       {kind: KindDrained, world: 2, want: "no ranks below it"},

	"note":                    {kind: KindNote, message: Note{Host: 3, Text: "x"}},
	"note of another":         {kind: KindNote, message: Note{Host: 1}, want: "n1 is not below it"},
	"note of no level":        {kind: KindNote, message: Note{Host: 3, Level: NoteAlways - 1}, want: "level -2"},
	"sign":                    {kind: KindSign, message: SignRequest{By: 2, Request: bootstrap.SignRequest{Host: 3}}},
	"sign for others":         {kind: KindSign, message: SignRequest{By: 2, Request: bootstrap.SignRequest{Host: 4}}, want: "n4 is not below it"},
	"sign by others":          {kind: KindSign, message: SignRequest{By: 4, Request: bootstrap.SignRequest{Host: 3}}, want: "n4 is not below it"},
	"summon":                  {kind: KindSummon, message: Summon{By: 2, Host: 3, Addr: "10.0.0.2:99"}},
	"summon others":           {kind: KindSummon, message: Summon{By: 2, Host: 4, Addr: "10.0.0.2:99"}, want: "n4 is not below it"},
	"summon for others":       {kind: KindSummon, message: Summon{By: 4, Host: 3, Addr: "10.0.0.2:99"}, want: "n4 is not below it"},
	"address":                 {kind: KindAddress, message: AddrRequest{By: 2, Host: 3}},
	"address of others":       {kind: KindAddress, message: AddrRequest{By: 2, Host: 4}, want: "n4 is not below it"},
	"address for others":      {kind: KindAddress, message: AddrRequest{By: 4, Host: 3}, want: "n4 is not below it"},
	"summon to a name":        {kind: KindSummon, message: Summon{By: 2, Host: 3, Addr: "host:99"}, want: "no address to call"},
	"name":                    {kind: KindName, message: NameRequest{Host: 2, Rank: 5, Op: pmi.Lookup}},
	"name for another's rank": {kind: KindName, message: NameRequest{Host: 2, Rank: 6, Op: pmi.Lookup}, want: "rank 6 is not on n2"},
	"something else":          {kind: KindName, message: NameRequest{Host: 2, Rank: 5, Op: pmi.SpawnWorld}, want: "nothing to do with a name"},
	"spawn":                   {kind: KindSpawn, message: SpawnRequest{World: 1, Host: 3, Rank: 0}},
	"spawn by another's rank": {kind: KindSpawn, message: SpawnRequest{World: 1, Host: 3, Rank: 1}, want: "rank 1.1 is not on n3"},
	"spawn by no rank":        {kind: KindSpawn, message: SpawnRequest{Host: 3, Rank: math.MinInt}, want: "is not on n3"},
	"schedule":                {kind: KindSchedule, message: ScheduleRequest{Host: 3, Rank: 0, Schedule: Schedule{World: 1, Algorithm: "ring"}}},
	"schedule for another's":  {kind: KindSchedule, message: ScheduleRequest{Host: 3, Rank: 1, Schedule: Schedule{World: 1, Algorithm: "ring"}}, want: "rank 1.1 is not on n3"},
	"schedule of a long name": {kind: KindSchedule, message: ScheduleRequest{Host: 3, Rank: 0, Schedule: Schedule{World: 1, Algorithm: strings.Repeat("r", 65)}}, want: "name of 65 bytes"},
	"schedule of no bytes":    {kind: KindSchedule, message: ScheduleRequest{Host: 3, Rank: 0, Schedule: Schedule{World: 1, Bytes: -1}}, want: "-1 bytes"},
	"failure of no rank":      {kind: KindFailure, message: killedRankBut(func(f *job.Failure) { f.Rank, f.Host = math.MinInt+5, 3 }), want: "is not on n3"},
	"board":                   {kind: KindBoard, message: []byte("x")},
	"PMIx fence":              {kind: KindPMIxFence, world: 1, message: []byte("x")},
	"PMIx fence of others":    {kind: KindPMIxFence, world: 2, message: []byte("x"), want: "no ranks below it"},
	"PMIx call of no host":    {kind: KindPMIxCall, message: PMIxCall{Host: 3}, want: "n2 speaks for n3"},
	"PMIx answer":             {kind: KindPMIxAnswer, message: PMIxAnswer{}, want: "only the parent sends it"},
	"PMIx modex of no host":   {kind: KindPMIxModex, message: PMIxModex{Namespace: "kvs"}, want: "for no host"},
	"records":                 {kind: KindRecords, world: 1, message: []byte("x")},
	"records of the over":     {kind: KindRecords, world: 3, message: []byte("x")},
	"records of others":       {kind: KindRecords, world: 2, message: []byte("x"), want: "no ranks below it"},
	"records of no world":     {kind: KindRecords, world: 4, message: []byte("x"), want: "world 4 does not exist"},
	"board of the over":       {kind: KindBoard, world: 3, message: []byte("x")},
	"board of others":         {kind: KindBoard, world: 2, message: []byte("x"), want: "no ranks below it"},
	"input taken":             {kind: KindInputAck, message: InputAck{Bytes: stdio.Ended}},
	"less than none":          {kind: KindInputAck, message: InputAck{Bytes: -1}, want: "-1 bytes"},
	"progress":                {kind: KindProgress, message: Progress{Nodes: 2, Ranks: 4, Host: job.NoHost}},
	"progress of too many":    {kind: KindProgress, message: Progress{Nodes: 3, Host: job.NoHost}, want: "3 of 2 nodes"},
	"progress beyond the end": {kind: KindProgress, message: Progress{Ranks: 7, Host: job.NoHost}, want: "7 of 6 ranks"},
	"waiting for others":      {kind: KindProgress, message: Progress{Host: 0}, want: "n0 is not below it"},

	"counters":          {kind: KindCollected, message: collectedOfTwo},
	"of too many":       {kind: KindCollected, message: report.Collected{Levels: []report.Level{{Agents: 3}}}, want: "more than 2 agents"},
	"of another's node": {kind: KindCollected, message: report.Collected{Levels: collectedOfTwo.Levels, Nodes: []report.Node{{Host: 1}}}, want: "n1 is not below it"},
	"of another's rank": {kind: KindCollected, message: report.Collected{Levels: collectedOfTwo.Levels, Ranks: []report.Rank{{Host: 2, Rank: 0}}}, want: "rank 0 is not on n2"},

	"what a parent says":     {kind: KindLaunch, message: Launch{}, want: "only the parent sends it"},
	"what the launcher says": {kind: KindGrow, message: Range{}, want: "only the launcher sends it"},
	"a second hello":         {kind: KindHello, message: Hello{}, want: "only a newcomer sends it"},
	"a kind that is not":     {kind: KindHome + 20, want: "kind 38"},
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

// Single facts are told once.
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
		"as it should be":        {origin: middleChild(false), stream: link.Control, header: tree.Header{Kind: KindNote, From: 3}, body: note},
		"from another host":      {origin: middleChild(false), stream: link.Control, header: tree.Header{Kind: KindNote, From: 4}, body: note, want: "n4 is not below it"},
		"on another stream":      {origin: middleChild(false), stream: link.Data, header: tree.Header{Kind: KindNote, From: 3}, body: note, want: "on the stream of others"},
		"about a world":          {origin: middleChild(false), stream: link.Control, header: tree.Header{Kind: KindNote, From: 3, World: 1}, body: note, want: "about world 1"},
		"to a home":              {origin: middleChild(false), stream: link.KVS, header: tree.Header{Kind: KindHome, Job: job.Cold, From: 3, To: 0}, body: home},
		"to a home, from others": {origin: middleChild(false), stream: link.KVS, header: tree.Header{Kind: KindHome, Job: job.Cold, From: 1, To: 0}, body: home, want: "n1 is not below it"},
		"from nobody":            {origin: middleChild(false), stream: link.KVS, header: tree.Header{Kind: KindHome, Job: job.Cold, From: -1, To: 0}, body: home, want: "from no host"},
		"note from nobody":       {origin: middleChild(false), stream: link.Control, header: tree.Header{Kind: KindNote, From: -1}, body: note, want: "from no host"},
		"to nobody":              {origin: middleChild(false), stream: link.KVS, header: tree.Header{Kind: KindHome, Job: job.Cold, From: 3, To: -1}, body: home, want: "for no host"},
		"grown, from a branch":   {origin: middleChild(false), stream: link.Service, header: tree.Header{Kind: KindGrown, From: 2}, want: "only the root sends it"},
		"of no job":              {origin: middleChild(false), stream: link.Control, header: tree.Header{Kind: KindStalled, From: -1}, want: "about job 0, though it is about a job"},
		"of a job":               {origin: middleChild(false), stream: link.Control, header: tree.Header{Kind: KindPong, Job: job.Cold, From: -1}, want: "about job 1, though it is about the tree"},
		"a job's note":           {origin: middleChild(false), stream: link.Control, header: tree.Header{Kind: KindNote, Job: job.Cold, From: 3}, body: note},
		"from the parent":        {origin: parent, stream: link.Control, header: tree.Header{Kind: KindSignal, Job: job.Cold, From: -1}, body: Encode(Signal{Number: 2})},
		"up, from the parent":    {origin: parent, stream: link.Control, header: tree.Header{Kind: KindNote, From: -1}, body: note, want: "only an agent below sends it"},
		"grow, too far down":     {origin: parent, stream: link.KVS, header: tree.Header{Kind: KindGrow, From: -1}, body: Encode(Range{}), want: "only the launcher sends it"},
		"from beside":            {origin: parent, stream: link.Control, header: tree.Header{Kind: KindSignal, Job: job.Cold, From: 4}, want: "a host, which is not above"},
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
		h := tree.Header{Kind: KindFailure, Job: job.Cold, To: tree.Launcher, From: 2}
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
