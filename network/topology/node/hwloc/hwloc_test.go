package hwloc

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/filestest"
	"github.com/golaunch/golaunch/network/topology/node"
)

func names(levels []node.Level) (list []string) {
	for _, l := range levels {
		list = append(list, fmt.Sprintf("%s %d", l.Name, slices.Max(l.Of)+1))
	}
	return list
}

// Descriptions of real machines.
func TestMachines(t *testing.T) {
	for _, x := range []struct {
		file                 string
		packages, numas, l3s int
		cores, pus           int
		levels               []string
	}{
		{file: "AMD-19h-Zen3-2xEpyc-7763.xml", packages: 2, numas: 1, l3s: 16, cores: 128, pus: 128, levels: []string{"package 2", "l3 16", "core 128"}},
		{file: "Intel-Haswell-2xXeon-E5-2680v3.xml", packages: 2, numas: 1, l3s: 4, cores: 24, pus: 24, levels: []string{"package 2", "l3 4", "core 24"}},
		{file: "Intel-KnightsLanding-XeonPhi-7210.xml", packages: 1, numas: 1, cores: 64, pus: 256, levels: []string{"core 64"}},
		{file: "nvidiaDGX2.xml", packages: 2, numas: 2, l3s: 2, cores: 4, pus: 4, levels: []string{"package 2", "core 4"}},
		{file: "v2-16amd64-8n2c-cpusets.xml", packages: 6, numas: 3, cores: 10, pus: 10, levels: []string{"numa 4", "package 6", "core 10"}},
		{file: "v2-192em64t-24n8c2t.xml", packages: 24, numas: 24, l3s: 24, cores: 192, pus: 384, levels: []string{"package 24", "core 192"}},
		{file: "v2-96em64t-4n4d3ca2co-pci.xml", packages: 16, numas: 4, l3s: 16, cores: 96, pus: 96, levels: []string{"numa 4", "package 16", "core 96"}},
		{file: "v2-power8gpudistances.xml", packages: 2, numas: 2, l3s: 8, cores: 8, pus: 16, levels: []string{"package 2", "core 8"}},
	} {
		t.Run(x.file, func(t *testing.T) {
			n, err := ParseXML(filestest.Shared(t, "hwloc/"+x.file), x.file)
			require.NoError(t, err)
			pus := 0
			for _, c := range n.Cores {
				pus += len(c.PUs)
			}
			assert.Equal(t, []int{x.packages, x.numas, x.l3s, x.cores, pus}, []int{n.Packages, n.NUMAs, n.L3s, len(n.Cores), x.pus})
			assert.Equal(t, x.levels, names(n.Levels()))
		})
	}
}

// small is two packages of two cores of two units, whose units alternate.
const small = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x000000ff">
    <object type="Package" os_index="0" cpuset="0x00000055">
      <object type="NUMANode" os_index="1" cpuset="0x00000055"/>
      <object type="L3Cache" cpuset="0x00000055">
        <object type="Core" os_index="0"><object type="PU" os_index="0"/><object type="PU" os_index="4"/></object>
        <object type="Core" os_index="1"><object type="PU" os_index="6"/><object type="PU" os_index="2"/></object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x000000aa">
      <object type="NUMANode" os_index="0" cpuset="0x0,0x000000aa"/>
      <object type="NUMANode" os_index="2" cpuset="0x000000aa"/>
      <object type="L3Cache" cpuset="0x000000aa">
        <object type="Core" os_index="0"><object type="PU" os_index="1"/><object type="PU" os_index="5"/></object>
        <object type="PU" os_index="3"/>
      </object>
    </object>
  </object>
</topology>
`

var want = []node.Core{
	{Package: 0, NUMA: 0, L3: 0, PUs: []int{0, 4}}, {Package: 0, NUMA: 0, L3: 0, PUs: []int{2, 6}},
	{Package: 1, NUMA: 1, L3: 1, PUs: []int{1, 5}}, {Package: 1, NUMA: 1, L3: 1, PUs: []int{3}},
}

func TestParseXML(t *testing.T) {
	for _, version := range []string{"2.0", "3.0"} {
		n, err := ParseXML(strings.NewReader(strings.Replace(small, `version="2.0"`, `version="`+version+`"`, 1)), "f")
		require.NoError(t, err)
		assert.Equal(t, &node.Node{Packages: 2, NUMAs: 2, L3s: 2, Cores: want}, n)
		assert.Equal(t, []node.Level{{Name: "package", Of: []int{0, 0, 1, 1}}, {Name: "core", Of: []int{0, 1, 2, 3}}}, n.Levels())
	}
}

func TestParseXMLRefuses(t *testing.T) {
	for _, x := range []struct{ old, new, want string }{
		{small, "", "no topology: expected hwloc's XML, as lstopo --of xml writes it"},
		{small, "<object type='PU'/>", "f:1: an object outside of a topology"},
		{` version="2.0"`, "", `f:3: hwloc XML of version "": expected 2.0 or 3.0`},
		{`"2.0"`, `"4.0"`, `f:3: hwloc XML of version "4.0": expected 2.0 or 3.0`},
		{`type="PU" os_index="4"`, `type="PU" os_index="0"`, "f:8: PU 0 is there twice"},
		{`type="PU" os_index="4"`, `type="PU"`, `f:8: PU of os_index="": expected a number below 65536`},
		{`type="PU" os_index="4"`, `type="PU" os_index="70000"`, `f:8: PU of os_index="70000"`},
		{`type="PU"`, `type="Misc"`, "no PU: expected at least one processing unit"},
		{`type="Core"`, `kind="Core"`, "f:8: an object without type"},
		{`0x0,0x000000aa`, `0x0,aa`, `f:13: NUMA node 0: cpuset "aa": expected words of 32 bits`},
		{`</topology>`, "", "unexpected EOF"},
		{`</object>`, "", "f:"},
		{`</topology>`, "</topology><topology version='2.0'></topology>", "a second topology in one file"},
	} {
		text := strings.ReplaceAll(small, x.old, x.new)
		require.NotEqual(t, small, text)
		_, err := ParseXML(strings.NewReader(text), "f")
		assert.ErrorContains(t, err, x.want)
	}
	deep := `<topology version="2.0">` + strings.Repeat(`<object type="Group">`, 300)
	_, err := ParseXML(strings.NewReader(deep), "f")
	assert.ErrorContains(t, err, "more than 256 in each other")
}

func FuzzParseXML(f *testing.F) {
	f.Add(small)
	f.Fuzz(func(t *testing.T, text string) {
		n, err := ParseXML(strings.NewReader(text), "f")
		if err != nil {
			require.Contains(t, err.Error(), "f:")
			return
		}
		require.NotEmpty(t, n.Cores)
		require.NotEmpty(t, n.Levels())
	})
}

// hwloc and sysfs agree on this host.
func TestSysfsAgreesWithHwloc(t *testing.T) {
	lstopo, err := exec.LookPath("lstopo-no-graphics")
	if err != nil {
		t.Skip("lstopo-no-graphics is not installed (apt-get install hwloc-nox)")
	}
	text, err := exec.Command(lstopo, "--disallowed", "--of", "xml").Output()
	require.NoError(t, err)
	n, err := ParseXML(strings.NewReader(string(text)), "lstopo")
	require.NoError(t, err)
	own, err := node.FromSysfs(os.DirFS("/sys/devices/system"))
	require.NoError(t, err)
	assert.Equal(t, n, own)
}
