package binding

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/network/topology/node"
)

// machine is a host as sysfs shows it, a line per core: package, NUMA node, lowest CPU
// of the L3 cache, and the CPUs of the core; "-" for what is not told.
type machine string

const (
	// One socket of four cores with two threads each, numbered as Intel does.
	laptop machine = `
0 0 0 0,4
0 0 0 1,5
0 0 0 2,6
0 0 0 3,7`
	// Two sockets whose CPUs the firmware numbers in turn.
	twoSockets machine = `
0 0 0 0,8
1 1 1 1,9
0 0 0 2,10
1 1 1 3,11
0 0 0 4,12
1 1 1 5,13
0 0 0 6,14
1 1 1 7,15`
	// Sub-NUMA clusters: two NUMA nodes to a socket, one L3 cache to a socket.
	subNUMA machine = `
0 0 0 0
0 0 0 1
0 1 0 2
0 1 0 3
1 2 4 4
1 2 4 5
1 3 4 6
1 3 4 7`
	// Core complexes: one NUMA node to a socket, two L3 caches in it.
	complexes machine = `
0 0 0 0
0 0 0 1
0 0 2 2
0 0 2 3`
	// A virtual machine without L3 caches.
	noCaches machine = `
0 0 - 0
0 0 - 1`
	// A container that shows no more than which CPUs there are.
	container machine = `
- - - 0
- - - 1`
)

// host is m with these CPUs of ours, all for "", and without those that are offline.
func (m machine) host(t require.TestingT, ours, offline string) *Host {
	files := fstest.MapFS{}
	write := func(name, text string) { files[name] = &fstest.MapFile{Data: []byte(text + "\n")} }
	off := units(t, offline)
	numas, caches := map[string][]int{}, map[string][]int{}
	var online []int
	for line := range strings.Lines(strings.TrimSpace(string(m))) {
		f := strings.Fields(line)
		cpus := slices.DeleteFunc(units(t, f[3]), func(c int) bool { return slices.Contains(off, c) })
		online = append(online, cpus...)
		numas[f[1]] = append(numas[f[1]], cpus...)
		caches[f[2]] = append(caches[f[2]], cpus...)
		for _, c := range cpus {
			dir := fmt.Sprintf("cpu/cpu%d/", c)
			if f[0] != "-" {
				write(dir+"topology/physical_package_id", f[0])
				write(dir+"topology/core_cpus_list", Format(cpus))
			}
		}
	}
	for numa, cpus := range numas {
		if numa != "-" {
			write("node/node"+numa+"/cpulist", Format(cpus))
		}
	}
	for cache, cpus := range caches {
		for _, c := range cpus {
			if cache != "-" {
				write(fmt.Sprintf("cpu/cpu%d/cache/index0/level", c), "3")
				write(fmt.Sprintf("cpu/cpu%d/cache/index0/shared_cpu_list", c), Format(cpus))
			}
		}
	}
	slices.Sort(online)
	write("cpu/online", Format(online))
	n, err := node.FromSysfs(files)
	require.NoError(t, err)
	if ours == "" {
		return New(n, online)
	}
	return New(n, units(t, ours))
}

func units(t require.TestingT, list string) []int {
	if list == "" {
		return nil
	}
	cpus, err := node.ParseUnits(list)
	require.NoError(t, err)
	return cpus
}

func choice(t require.TestingT, word string) Choice {
	p, err := Parse(word)
	require.NoError(t, err)
	return p
}

// texts are CPUs of ranks, as the report has them.
func texts(h *Host, sets [][]int) (list []string) {
	for _, s := range sets {
		text := Format(s)
		if where := h.Describe(s); where != "" {
			text += " " + where
		}
		list = append(list, text)
	}
	return list
}

func TestAssign(t *testing.T) {
	for _, x := range []struct {
		name          string
		on            machine
		ours, offline string
		to            string
		ranks         int
		want          []string
	}{
		{name: "a core is all its threads", on: laptop, to: "core", ranks: 2, want: []string{"0,4 core 0 of socket 0", "1,5 core 1 of socket 0"}},
		{name: "threads of a core follow each other", on: laptop, to: "hwthread", ranks: 3,
			want: []string{"0 thread 0 of core 0 of socket 0", "4 thread 1 of core 0 of socket 0", "1 thread 0 of core 1 of socket 0"}},
		{name: "cores of a socket first", on: twoSockets, to: "core", ranks: 5, want: []string{"0,8 core 0 of socket 0", "2,10 core 1 of socket 0",
			"4,12 core 2 of socket 0", "6,14 core 3 of socket 0", "1,9 core 4 of socket 1"}},
		{name: "sockets in turn", on: twoSockets, to: "socket", ranks: 3, want: []string{"0,2,4,6,8,10,12,14 cores 0-3 of socket 0",
			"1,3,5,7,9,11,13,15 cores 4-7 of socket 1", "0,2,4,6,8,10,12,14 cores 0-3 of socket 0"}},
		{name: "NUMA nodes within sockets", on: subNUMA, to: "numa", ranks: 4, want: []string{"0-1 cores 0-1 of socket 0", "2-3 cores 2-3 of socket 0",
			"4-5 cores 4-5 of socket 1", "6-7 cores 6-7 of socket 1"}},
		{name: "one cache per socket", on: subNUMA, to: "l3", ranks: 2, want: []string{"0-3 cores 0-3 of socket 0", "4-7 cores 4-7 of socket 1"}},
		{name: "caches within NUMA nodes", on: complexes, to: "l3", ranks: 2, want: []string{"0-1 cores 0-1 of socket 0", "2-3 cores 2-3 of socket 0"}},
		{name: "only CPUs that are ours", on: twoSockets, ours: "2,3,11", to: "core", ranks: 2, want: []string{"2 core 1 of socket 0", "3,11 core 5 of socket 1"}},
		{name: "a full socket is passed over", on: twoSockets, ours: "0,1,3,5", to: "socket", ranks: 4, want: []string{"0 core 0 of socket 0",
			"1,3,5 cores 4-6 of socket 1", "1,3,5 cores 4-6 of socket 1", "1,3,5 cores 4-6 of socket 1"}},
		{name: "threads are numbered in their core", on: "0 0 0 0-3", ours: "1-3", to: "hwthread", ranks: 2, want: []string{"1 thread 1 of core 0 of socket 0",
			"2 thread 2 of core 0 of socket 0"}},
		{name: "offline CPUs do not count", on: laptop, offline: "1,4", to: "core", ranks: 4, want: []string{"0 core 0 of socket 0", "2,6 core 1 of socket 0",
			"3,7 core 2 of socket 0", "5 core 3 of socket 0"}},
		{name: "listed CPUs in the order given", on: laptop, to: "cpu-list:7,0-1", ranks: 3, want: []string{"7 thread 1 of core 3 of socket 0",
			"0 thread 0 of core 0 of socket 0", "1 thread 0 of core 1 of socket 0"}},
		{name: "several cores each", on: twoSockets, to: "core:2", ranks: 3, want: []string{"0,2,8,10 cores 0-1 of socket 0", "4,6,12,14 cores 2-3 of socket 0",
			"1,3,9,11 cores 4-5 of socket 1"}},
		{name: "cores of two sockets are not for one rank", on: twoSockets, to: "core:3", ranks: 2, want: []string{"0,2,4,8,10,12 cores 0-2 of socket 0",
			"1,3,5,9,11,13 cores 4-6 of socket 1"}},
		{name: "several threads each", on: laptop, to: "hwthread:2", ranks: 2, want: []string{"0,4 core 0 of socket 0", "1,5 core 1 of socket 0"}},
		{name: "of what is ours", on: laptop, ours: "1,2,3,6", to: "core:2", ranks: 1, want: []string{"1-2,6 cores 1-2 of socket 0"}},
		{name: "several CPUs where no more is told", on: container, ours: "0,1,5", to: "core:2", ranks: 1, want: []string{"0-1 cores 0-1 of socket 0"}},
		{name: "cores without caches", on: noCaches, to: "core", ranks: 2, want: []string{"0 core 0 of socket 0", "1 core 1 of socket 0"}},
		{name: "each CPU a core where no more is told", on: container, to: "core", ranks: 2, want: []string{"0 core 0 of socket 0", "1 core 1 of socket 0"}},
		{name: "a CPU that sysfs does not list", on: container, ours: "1,5", to: "core", ranks: 2, want: []string{"1 core 1 of socket 0", "5"}},
	} {
		t.Run(x.name, func(t *testing.T) {
			h := x.on.host(t, x.ours, x.offline)
			sets, err := h.Assign(Wish{Choice: choice(t, x.to), Ranks: x.ranks})
			require.NoError(t, err)
			assert.Equal(t, x.want, texts(h, sets))
		})
	}
}

func TestAssignRefuses(t *testing.T) {
	for _, x := range []struct {
		on       machine
		ours, to string
		ranks    int
		want     string
	}{
		{on: laptop, to: "core", ranks: 5, want: "the host has 4 cores for 5 ranks; use fewer per host, --oversubscribe to let ranks share them, or --bind-to none"},
		{on: laptop, to: "core:2", ranks: 3, want: "the host has 2 groups of 2 cores for 3 ranks; use fewer"},
		{on: twoSockets, to: "hwthread:5", ranks: 3, want: "the host has 2 groups of 5 hardware threads for 3 ranks"},
		{on: twoSockets, to: "core:5", ranks: 1, want: "no socket of the host has 5 of them for a rank (the job may use CPUs 0-15); choose fewer, or --bind-to none"},
		{on: laptop, ours: "2,6", to: "core", ranks: 2, want: "the host has 1 core (the job may use CPUs 2,6 alone) for 2 ranks"},
		{on: twoSockets, to: "socket", ranks: 9, want: "the host has 8 cores in 2 sockets for 9 ranks"},
		{on: laptop, to: "cpu-list:0-1", ranks: 3, want: "the host has 2 CPUs of the list for 3 ranks"},
		{on: laptop, ours: "0-3", to: "cpu-list:3-5", ranks: 1, want: "CPUs 4-5 are not the job's to use there: CPUs 0-3 are, by the affinity or the cgroup of golaunch's agent; choose"},
		{on: laptop, ours: "0-3", to: "cpu-list:9", ranks: 1, want: "CPU 9 is not the job's to use there"},
		{on: laptop, ours: "1", to: "cpu-list:0", ranks: 1, want: "CPU 0 is not the job's to use there: CPU 1 is, by the affinity"},
		{on: noCaches, to: "l3", ranks: 1, want: "the kernel tells of no L3 cache there; use --bind-to core, or none"},
	} {
		_, err := x.on.host(t, x.ours, "").Assign(Wish{Choice: choice(t, x.to), Ranks: x.ranks})
		assert.ErrorContains(t, err, x.want)
	}
	_, err := New(nil, []int{0, 1}).Assign(Wish{Choice: choice(t, "socket"), Ranks: 1})
	assert.ErrorContains(t, err, "the kernel tells of no socket there")
}

// Ranks that are started later, of a spawned world, take what is free.
func TestAssignBesideOthers(t *testing.T) {
	h := laptop.host(t, "", "")
	w := Wish{Choice: choice(t, "core"), Ranks: 2, Taken: [][]int{{0, 4}, {2, 6}}}
	sets, err := h.Assign(w)
	require.NoError(t, err)
	assert.Equal(t, [][]int{{1, 5}, {3, 7}}, sets)

	for on, want := range map[string]int{"core": 2, "hwthread": 4, "socket": 2} {
		free, err := h.Free(choice(t, on), w.Taken)
		require.NoError(t, err)
		assert.Equal(t, want, free, on)
	}

	w.Ranks = 3
	_, err = h.Assign(w)
	assert.ErrorContains(t, err, "the host has 4 cores for 3 ranks beside 2 that live; use fewer")
	w.Share = true
	sets, err = h.Assign(w)
	require.NoError(t, err)
	assert.Equal(t, [][]int{{1, 5}, {3, 7}, {0, 4}}, sets)
}

// For every wish: no CPU but ours, no core twice before all are taken, and no place
// that has two ranks per core more than another.
func TestAssignProperties(t *testing.T) {
	machines := []machine{laptop, twoSockets, subNUMA, complexes}
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(machines).Draw(t, "machine")
		all := m.host(t, "", "").ours
		ours := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, len(all), rapid.ID).Draw(t, "ours")
		kind := rapid.SampledFrom([]Kind{Core, Thread, Socket, NUMA, L3}).Draw(t, "kind")
		n := rapid.IntRange(1, 20).Draw(t, "ranks")
		h := m.host(t, Format(ours), "")
		if kind == Core || kind == Thread {
			fewAtATime(t, h, kind, n)
		}
		w := Wish{Choice: Choice{kind: kind}, Ranks: n}
		sets, err := h.Assign(w)
		room := len(h.cores)
		if kind == Thread {
			room = len(ours)
		}
		require.Equal(t, n <= room, err == nil, "%v", err)
		told, has, err := h.Room(w.Choice)
		require.NoError(t, err)
		require.Equal(t, room, told, has)
		w.Share = true
		shared, err := h.Assign(w)
		require.NoError(t, err)
		if n <= room {
			require.Equal(t, sets, shared)
		}
		users := map[int]int{}
		for _, s := range shared {
			require.NotEmpty(t, s)
			require.True(t, slices.IsSorted(s))
			for _, c := range s {
				require.Contains(t, ours, c)
				users[c]++
			}
		}
		if kind == Core || kind == Thread {
			least, most := n, 0
			for _, c := range ours {
				least, most = min(least, users[c]), max(most, users[c])
			}
			require.LessOrEqual(t, most-least, 1)
		}
	})
}

// fewAtATime checks groups: as many as the kind has by itself for each, of one socket, and
// none of them twice.
func fewAtATime(t *rapid.T, h *Host, kind Kind, n int) {
	each := rapid.IntRange(2, 4).Draw(t, "each")
	sets, err := h.Assign(Wish{Choice: Choice{kind: kind, each: each}, Ranks: n})
	if err != nil {
		return
	}
	seen := map[int]bool{}
	for _, s := range sets {
		cores, sockets := map[int]bool{}, map[int]bool{}
		for i, c := range h.cores {
			for _, cpu := range s {
				if slices.Contains(c.PUs, cpu) {
					cores[i], sockets[c.Package] = true, true
				}
			}
		}
		have := len(s)
		if kind == Core {
			have = len(cores)
		}
		require.Equal(t, each, have)
		require.Len(t, sockets, 1)
		for _, cpu := range s {
			require.False(t, seen[cpu])
			seen[cpu] = true
		}
	}
}

func TestParse(t *testing.T) {
	for word, want := range map[string]string{"": "none", "none": "none", "core": "core", "l3": "l3", "core:1": "core", "core:4": "core:4", "hwthread:2": "hwthread:2",
		"cpu-list:0-3,8": "cpu-list:0-3,8", "cpu-list:8,0,1": "cpu-list:8,0-1"} {
		assert.Equal(t, want, choice(t, word).String())
	}
	for word, want := range map[string]string{
		"cores":           `"cores" is nothing to bind to; none, core, core:N, hwthread, socket, numa, l3, gpu and cpu-list:LIST are`,
		"socket:2":        `"socket:2" is nothing to bind to`,
		"core:0":          `"core:0": "0" is not a number of them for each rank`,
		"core:":           `"core:": "" is not a number of them`,
		"hwthread:x":      `"hwthread:x": "x" is not a number of them`,
		"cpu-list":        `"cpu-list" lacks its CPUs; write them as in cpu-list:0-3,8`,
		"cpu-list:":       `"cpu-list:" lacks its CPUs`,
		"cpu-list:3-1":    `"3-1": expected a list of numbers below 65536, such as 0-3,8`,
		"cpu-list:0-2,1":  `"0-2,1" names CPU 1 twice`,
		"cpu-list:0;1":    `"0;1": expected a list`,
		"cpu-list:-1":     `"-1": expected a list`,
		"cpu-list:999999": `"999999": expected a list`,
	} {
		_, err := Parse(word)
		assert.ErrorContains(t, err, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, word := range []string{"core", "core:4", "cpu-list:0-3,8", "cpu-list:8,0", "cpu-list:1-1"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		p, err := Parse(word)
		if err != nil {
			return
		}
		again, err := Parse(p.String())
		require.NoError(t, err)
		require.Equal(t, p, again)
		require.LessOrEqual(t, len(p.cpus), node.MaxPUs)
	})
}

func TestFind(t *testing.T) {
	h := twoSockets.host(t, "0-11", "")
	for text, want := range map[string][]int{
		"3": {3}, "8,0-1": {0, 1, 8}, "1:0": {1, 9}, "1:0-2": {1, 3, 5, 9, 11}, "0:0,3": {0, 6, 8},
		"0:0,1:1": {0, 3, 8, 11}, "1:*": {1, 3, 5, 7, 9, 11},
	} {
		s, err := ParseSlots(text)
		require.NoError(t, err, text)
		cpus, err := h.Find(s)
		require.NoError(t, err, text)
		assert.Equal(t, want, cpus, text)
	}
	for text, want := range map[string]string{
		"12": "CPU 12 is not the job's to use", "2:0": "the host has no socket 2", "1:4": "core 4 of socket 1 is not there, or not the job's",
	} {
		s, err := ParseSlots(text)
		require.NoError(t, err, text)
		_, err = h.Find(s)
		assert.ErrorContains(t, err, want, text)
	}
	for text, want := range map[string]string{
		"": "expected a list", "x": "expected a list", "*": "expected a list", "0,1:0": "expected CPUs as in 0-3,8 or cores of a socket as in 1:0-2",
		":0": "expected CPUs", "0-1:0": "expected CPUs", "0:": "expected a list", "1:0:2": "expected a list",
	} {
		_, err := ParseSlots(text)
		assert.ErrorContains(t, err, want, text)
	}
}

func FuzzParseSlots(f *testing.F) {
	for _, text := range []string{"0-3,8", "1:0-2", "0:0,2,1:0", "1:*"} {
		f.Add(text)
	}
	h := twoSockets.host(f, "0-11", "")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSlots(text)
		if err != nil {
			return
		}
		cpus, err := h.Find(s)
		if err == nil {
			require.NotEmpty(t, cpus)
			require.Subset(t, h.ours, cpus)
		}
	})
}
