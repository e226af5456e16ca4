package node

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var want = []Core{
	{Package: 0, NUMA: 0, L3: 0, PUs: []int{0, 4}}, {Package: 0, NUMA: 0, L3: 0, PUs: []int{2, 6}},
	{Package: 1, NUMA: 1, L3: 1, PUs: []int{1, 5}}, {Package: 1, NUMA: 1, L3: 1, PUs: []int{3}},
}

// machine is two packages of two cores of two units, whose units alternate, in sysfs.
func machine() fstest.MapFS {
	files := map[string]string{"cpu/online": "0-6\n", "node/node1/cpulist": "0,2,4,6\n", "node/node0/cpulist": "1,3,5\n",
		"node/node2/cpulist": "\n", "node/has_cpu": "0-1"}
	for pu := range 7 {
		dir := fmt.Sprintf("cpu/cpu%d/", pu)
		siblings, shared := []string{"0,4", "1,5", "2,6", "3"}[pu%4], "0,2,4,6"
		if pu%2 == 1 {
			shared = "1,3,5"
		}
		files[dir+"topology/thread_siblings_list"] = siblings
		files[dir+"topology/physical_package_id"] = fmt.Sprint(pu % 2)
		files[dir+"cache/index0/level"] = "1"
		files[dir+"cache/index1/level"] = "3"
		files[dir+"cache/index1/shared_cpu_list"] = shared
	}
	all := fstest.MapFS{}
	for name, text := range files {
		all[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return all
}

func TestFromSysfs(t *testing.T) {
	n, err := FromSysfs(machine())
	require.NoError(t, err)
	assert.Equal(t, &Node{Packages: 2, NUMAs: 2, L3s: 2, Cores: want}, n)

	bare := fstest.MapFS{"cpu/online": {Data: []byte("0-1")}}
	n, err = FromSysfs(bare)
	require.NoError(t, err)
	assert.Equal(t, &Node{Packages: 1, NUMAs: 1, L3s: 0, Cores: []Core{{L3: None, PUs: []int{0}}, {L3: None, PUs: []int{1}}}}, n)
	assert.Equal(t, []Level{{"core", []int{0, 1}}}, n.Levels())
}

func TestFromSysfsOfThisHost(t *testing.T) {
	if _, err := os.Stat("/sys/devices/system/cpu/online"); err != nil {
		t.Skip("this host has no sysfs: ", err)
	}
	n, err := FromSysfs(os.DirFS("/sys/devices/system"))
	require.NoError(t, err)
	assert.NotEmpty(t, n.Cores)
	assert.NotEmpty(t, n.Levels())
}

func TestFromSysfsRefuses(t *testing.T) {
	for _, x := range []struct{ file, text, want string }{
		{"cpu/online", "", "cpu/online: no processing unit: expected a list such as 0-63"},
		{"cpu/online", "3-1", `cpu/online: "3-1": expected a list of numbers below 65536, such as 0-3,8`},
		{"cpu/online", "0-99999999", `cpu/online: "0-99999999": expected a list`},
		{"cpu/online", strings.Repeat("1,", 40000), "cpu/online: more than 65536 bytes"},
		{"cpu/cpu1/topology/physical_package_id", "x", `cpu/cpu1/topology/physical_package_id: "x": expected a number`},
		{"cpu/cpu1/cache/index1/level", "", `cpu/cpu1/cache/index1/level: "": expected a number`},
		{"cpu/cpu1/cache/index1/shared_cpu_list", "a", `cpu/cpu1/cache/index1/shared_cpu_list: "a": expected a list`},
		{"node/node0/cpulist", "0-5", "node/node1/cpulist: unit 0 is of node0, too"},
		{"cpu/cpu1/topology/thread_siblings_list", "1,,5", `cpu/cpu1/topology/thread_siblings_list: "": expected a list`},
	} {
		fs := machine()
		fs[x.file] = &fstest.MapFile{Data: []byte(x.text)}
		_, err := FromSysfs(fs)
		assert.EqualError(t, err, x.want+strings.TrimPrefix(err.Error(), x.want))
	}
	_, err := FromSysfs(fstest.MapFS{})
	assert.ErrorContains(t, err, "cpu/online")
}

func FuzzFromSysfs(f *testing.F) {
	f.Add("0-1", "0,1", "0", "0-1")
	f.Fuzz(func(t *testing.T, online, siblings, id, shared string) {
		if strings.Count(online, "-") > 2 {
			return
		}
		n, err := FromSysfs(fstest.MapFS{
			"cpu/online":                            {Data: []byte(online)},
			"cpu/cpu0/topology/core_cpus_list":      {Data: []byte(siblings)},
			"cpu/cpu0/topology/physical_package_id": {Data: []byte(id)},
			"cpu/cpu0/cache/index0/level":           {Data: []byte("3")},
			"cpu/cpu0/cache/index0/shared_cpu_list": {Data: []byte(shared)},
			"node/node0/cpulist":                    {Data: []byte(siblings)},
		})
		if err == nil {
			require.NotEmpty(t, n.Cores)
		}
	})
}
