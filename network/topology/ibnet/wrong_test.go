package ibnet

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/network/topology"
)

// variants has the forms that lines take in the tools' versions and settings.
const variants = `src/query_smp.c:195; umad (DR path slid 0; dlid 0; 0,1,1,31 Attr 0x11:0) bad status 110; Connection timed out
# Topology file: generated on Mon Jul 25 11:30:26 2016

Non-Chassis Nodes

vendid=0x2c9
switchguid=0xe41d2d030003e470(e41d2d030003e470)
Switch 36 "S-e41d2d030003e470" # "MF0;switch-1:SX6012/U1" enhanced port 0 lid 268 lmc 0
[1][ext 1] "S-e41d2d030003e470"[2][ext 2] # "MF0;switch-1:SX6012/U1" lid 268 4xEDR
[2]	"S-e41d2d030003e470"[1]	# "MF0;switch-1:SX6012/U1" lid 268 4xEDR
[34]    "H-e41d2d030061f957"[1](e41d2d030061f957)          # "n001 HCA-2" lid 2 4xEDR
[35] "H-e41d2d030061f999"[1](e41d2d030061f999) # "n001 HCA-2" lid 8 1xSDR
[36] "H-e41d2d030061faaa"[1](e41d2d030061faaa) # "Mellanox Technologies Aggregation Node" lid 9 4xHDR
[7] "R-0002c90000000077"[3](2c90000000078) # "router" lid 10 2xNDR

caguid=0xe41d2d030061f957
Ca	1 "H-e41d2d030061f957"		# "n001 HCA-2"
[1](e41d2d030061f957) 	"S-e41d2d030003e470"[34]		# lid 2 lmc 1 "MF0;switch-1:SX6012/U1" lid 268 4xEDR
Ca	2 "H-e41d2d030061f999"		# "n001 HCA-2"
[1](e41d2d030061f999) 	"S-e41d2d030003e470"[35]		# lid 8 lmc 0 "MF0;switch-1:SX6012/U1" lid 268 4xSDR
Ca	1 "H-e41d2d030061faaa"		# "Mellanox Technologies Aggregation Node"
[1](e41d2d030061faaa) 	"S-e41d2d030003e470"[36]		# lid 9 lmc 0 "MF0;switch-1:SX6012/U1" lid 268 4xHDR
rtguid=0x2c90000000077
Rt	4 "R-0002c90000000077"		# "router"
[3](2c90000000078) 	"S-e41d2d030003e470"[7]		# lid 10 lmc 0 "MF0;switch-1:SX6012/U1" lid 268 2xNDR
`

func TestVariants(t *testing.T) {
	f, err := Discover(strings.NewReader(variants), "f")
	require.NoError(t, err)
	g := f.Graph
	assert.Equal(t, []int{3, 1, 4}, []int{g.Hosts(), g.Switches(), g.Cables()})
	assert.Equal(t, []string{"H-e41d2d030061f957", "H-e41d2d030061f999", "router", "MF0;switch-1:SX6012/U1"},
		[]string{g.Name(0), g.Name(1), g.Name(2), g.Name(3)}, "one description of two adapters is no name")
	assert.Equal(t, "n001 HCA-2", g.Info(1).Description)
	assert.Equal(t, []string{"Mellanox Technologies Aggregation Node"}, f.Aside)
	assert.Equal(t, []int64{100e9, 2e9, 200e9}, []int64{g.Rate(g.Ports(0)[0].Out), g.Rate(g.Ports(1)[0].Out), g.Rate(g.Ports(2)[0].Out)})
	assert.Equal(t, []Port{
		{End: topology.End{Node: 0, Port: 1}, GUID: 0xe41d2d030061f957, LID: 2, LMC: 1},
		{End: topology.End{Node: 1, Port: 1}, GUID: 0xe41d2d030061f999, LID: 8},
		{End: topology.End{Node: 2, Port: 3}, GUID: 0x2c90000000078, LID: 10},
		{End: topology.End{Node: 3}, GUID: 0xe41d2d030003e470, LID: 268},
	}, f.Ports)
}

const small = `Switch 8 "S1" # "leaf" base port 0 lid 1 lmc 0
[1] "H1"[1] # "n001" lid 2 4xEDR
[2] "H2"[1] # "n002" lid 3 4xEDR

Ca 1 "H1" # "n001"
[1] "S1"[1] # lid 2 lmc 0 "leaf" lid 1 4xEDR
Ca 1 "H2" # "n002"
[1] "S1"[2] # lid 3 lmc 0 "leaf" lid 1 4xEDR
`

func TestDiscoverRefuses(t *testing.T) {
	for _, x := range []struct{ old, new, want string }{
		{small, "", `f: no node is described: expected a line such as Switch 36 "S-0002c90200000001"`},
		{"Switch 8", "Swatch 8", `f:1: "Swatch 8 \"S1\" # \"leaf\" base port 0 lid 1 lmc 0": expected a node (Switch 36 "S-.."), a port ([1] "H-.."[1]) or key=value`},
		{"Switch 8", "include net\nSwitch 8", `f:1: "include net": expected a network in one file, without ibsim's commands`},
		{"Switch 8", "Switch 0", `f:1: "0 ": expected 1 to 255 ports`},
		{"Switch 8", "Switch 1", `f:3: port 2: node "S1" has ports 1 to 1`},
		{`"S1" # "leaf"`, `"S1 # leaf`, `f:1: "\"S1 # leaf base port 0 lid 1 lmc 0": expected a name in quotes: "S-0002c90200000001"`},
		{`8 "S1" # "leaf"`, `8 S1`, `f:1: "8 S1 base port 0 lid 1 lmc 0": expected a number of ports and a name: 36 "S-0002c90200000001"`},
		{`Ca 1 "H2"`, `Ca 1 "H1"`, `f:7: node "H1" is described in line 5 already`},
		{"[2]", "[1]", `f:3: port 1 of node "S1" is described in line 2 already`},
		{"[2]", "[x]", `f:3: "[x] \"H2\"[1] # \"n002\" lid 3 4xEDR": expected a port and where its cable goes: [1] "S-0002c90200000001"[7]`},
		{`[2] "H2"`, `[3] "H2"`, `f:3: cable to port 1 of node "H2": line 8 has that go to port 2 of node "S1"`},
		{`[2] "H2"[1]`, `[2] "H2"[0]`, `f:3: "[2] \"H2\"[0] # \"n002\" lid 3 4xEDR": expected a port`},
		{`[2] "H2"[1]`, `[2] "H2"[1](zz)`, `f:3: "zz": expected a GUID of up to 16 hexadecimal digits`},
		{`[2] "H2"[1]`, `[2](12 "H2"[1]`, `f:3: "(12 \"H2\"[1] # \"n002\" lid 3 4xEDR": expected a GUID in parentheses`},
		{`[2] "H2"[1] # "n002" lid 3 4xEDR`, "", `f:8: port 2 of node "S1" is not described there: expected both ends of each cable (is the file cut off?)`},
		{`Ca 1 "H2" # "n002"` + "\n" + `[1] "S1"[2] # lid 3 lmc 0 "leaf" lid 1 4xEDR` + "\n", "", `f:3: node "H2" is nowhere described: expected all nodes (is the file cut off?)`},
		{`lid 3 lmc 0`, `lid 4 lmc 0`, `f:8: LID 4: line 3 has LID 3 for it`},
		{`lid 3`, `lid 70000`, `f:3: "70000": expected a LID, 0 to 49151`},
		{`lmc 0`, `lmc 8`, `f:1: "8": expected an LMC, 0 to 7`},
		{`lid 3`, `lid 2`, `f: LID 2 is that of n001 and of n002`},
		{`"n002" lid 3 4xEDR`, `"n002`, `: expected a name in quotes`},
		{"Switch 8", `[1] "H1"[1]` + "\nSwitch 8", `f:1: "[1] \"H1\"[1]": expected a node before its ports`},
		{`Ca 1 "H2"`, "caguid=0x12\n" + `Ca 1 "H-0000000000000013"`, `f:8: node "H-0000000000000013": the line before has GUID 0x0000000000000012 for it`},
		{`Ca 1 "H2"`, "caguid=what\n" + `Ca 1 "H2"`, `f:7: "what": expected a GUID`},
		{`Ca 1 "H2"`, "sysimgguid=1\n" + `[1] "S1"[4]`, `f:8: "[1] \"S1\"[4] # \"n002\"": expected a node before its ports`},
	} {
		text := strings.ReplaceAll(small, x.old, x.new)
		require.NotEqual(t, small, text, x.old)
		_, err := Discover(strings.NewReader(text), "f")
		if assert.Error(t, err, x.new) {
			assert.Contains(t, err.Error(), x.want)
		}
	}
	_, err := Discover(strings.NewReader(small), "f")
	assert.NoError(t, err)
}

const smallList = `{ CA-SM Ports:01 SystemGUID:1 NodeGUID:04 PortGUID:05 VenID:0002C9 DevID:1003 Rev:000000A1 {n001 {HCA} 1} LID:0001 PN:01 } { SW Ports:08 SystemGUID:09 NodeGUID:09 PortGUID:09 VenID:000002C9 DevID:C7380000 Rev:000000A1 {leaf} LID:000A PN:01 } PHY=4x LOG=ACT SPD=25
{ SW Ports:08 SystemGUID:09 NodeGUID:09 PortGUID:09 VenID:000002C9 DevID:C7380000 Rev:000000A1 {leaf} LID:000A PN:01 } { CA-SM Ports:01 SystemGUID:1 NodeGUID:04 PortGUID:05 VenID:0002C9 DevID:1003 Rev:000000A1 {n001 {HCA} 1} LID:0001 PN:01 } PHY=4x LOG=ACT SPD=25
`

func TestSubnetListRefuses(t *testing.T) {
	f, err := SubnetList(strings.NewReader(smallList), "f")
	require.NoError(t, err)
	assert.Equal(t, "n001 {HCA} 1", f.Graph.Name(0))
	assert.Equal(t, int64(100e9), f.Graph.Rate(0))
	assert.Equal(t, uint16(10), f.Ports[1].LID)
	for _, x := range []struct{ old, new, want string }{
		{smallList, "# nothing\n", "f: no node is described"},
		{"{ CA-SM", "CA-SM", "expected { CA Ports:.. } or { SW Ports:.. }"},
		{"{ CA-SM", "{ HUB", `f:1: "HUB": expected CA, SW or Rt`},
		{"} LID:0001", " LID:0001", "f:1: "},
		{"LID:0001", "LID:12345", `f:1: "LID:12345": expected LID: and a hexadecimal number of 16 bits`},
		{"LID:0001", "LID:x", `f:1: "LID:x": expected LID:`},
		{"PN:01 } PHY", "PN:00 } PHY", "f:1: PN:00: expected a port from 1"},
		{"PN:01 } PHY", "PN:09 } PHY", `f:1: port 9 of node "0000000000000009" is not described there`},
		{"NodeGUID:04", "Guid:04", "expected NodeGUID:"},
		{"SPD=25", "SPD=25 FOO=1", `f:1: "FOO=1": expected PHY=4x LOG=ACT SPD=14`},
		{"{leaf} LID:000A PN:01 } { CA", "{other} LID:000A PN:01 } { CA", `f:2: node "0000000000000009" is another in line 1`},
		{smallList[strings.Index(smallList, "\n"):], "", "is not described there: expected both ends of each cable"},
	} {
		text := strings.ReplaceAll(smallList, x.old, x.new)
		require.NotEqual(t, smallList, text, x.old)
		_, err := SubnetList(strings.NewReader(text), "f")
		assert.ErrorContains(t, err, x.want)
	}
}

const smallTables = `Unicast lids [0-3] of switch Lid 1 guid 0x0002c90201000004 ('leaf 1'):
0x0001 000 # Switch portguid 0x0002c90201000004: 'leaf 1'
0x0002 001 # Channel Adapter portguid 0x0002c90000000005: 'n001 HCA-1'
2 lids dumped
Unicast lids [0-3] of switch Lid 3 guid 0x0002c90201000008 ('leaf 2'):
0x0002 005 # Channel Adapter portguid 0x0002c90000000005: 'n001 HCA-1'
2 lids dumped
`

func TestParseTablesRefuses(t *testing.T) {
	tables, err := ParseTables(strings.NewReader(smallTables), "f")
	require.NoError(t, err)
	assert.Equal(t, Table{GUID: 0x2c90201000008, LID: 3, Name: "leaf 2", Ports: []uint8{255, 255, 5}}, tables.Switches[1])
	for _, x := range []struct{ old, new, want string }{
		{smallTables, "", "f: no table: expected a line such as Unicast lids"},
		{"2 lids dumped\nUni", "Uni", `f:1: the table that begins here is cut off: expected a line such as "2 lids dumped" at its end`},
		{"5: 'n001 HCA-1'\n2 lids dumped\n", "5: 'n001 HCA-1'\n", `f:1: the table that begins here is cut off`},
		{"2 lids dumped", "1 lids dumped", `f:4: "1 lids dumped": expected 2, the lids since line 1`},
		{"2 lids dumped", "3 valid lids dumped", `f:4: "3 valid lids dumped": expected 2`},
		{"0x0001 000", "0xzz 000", `f:2: "0xzz": expected a LID, 0x0001 to 0xbfff`},
		{"0x0001 000", "0xc000 000", `f:2: "0xc000": expected a LID`},
		{"0x0001 000", "0x0001 255", `expected a LID and a port, such as 0x0001 005`},
		{"0x0001 000", "0x0001", `expected a LID and a port`},
		{"0x0001 000", "0x0002 000", `f:3: LID 0x2 is in this table already, by port 0`},
		{"0201000008", "0201000004", `f:5: switch 0x0002c90201000004 has a table in line 1 already`},
		{"guid 0x0002c90201000004", "guid what", `f:1: "what": expected a GUID`},
		{" guid 0x0002c90201000004 ('leaf 1'):", "", `expected the switch's guid`},
		{"switch Lid 1", "switch Lid 0", `f:1: "0": expected a LID`},
		{"0x0002 005 # Channel Adapter portguid 0x0002c90000000005", "0x0002 005 # Channel Adapter portguid 0x7", "f:6: LID 0x2 is port 0x0000000000000007 here, 0x0002c90000000005 in another table"},
		{"0x0002 005", "what", `f:6: "what`},
		{smallTables, "0x0001 005\n", `f:1: "0x0001 005": expected a switch before its table`},
		{smallTables, "5 lids dumped\n", `f:1: "5 lids dumped": expected the number of lids after a table`},
	} {
		text := strings.ReplaceAll(smallTables, x.old, x.new)
		require.NotEqual(t, smallTables, text, x.old)
		_, err := ParseTables(strings.NewReader(text), "f")
		assert.ErrorContains(t, err, x.want)
	}
}

// Each beginning of a file is refused or is a fabric, and no table of half a
// switch passes for a whole one.
func TestCutOff(t *testing.T) {
	for _, text := range []string{variants, small, smallList} {
		for i := range text {
			for _, parse := range []parser{Discover, SubnetList} {
				f, err := parse(strings.NewReader(text[:i]), "f")
				assert.True(t, (f == nil) != (err == nil))
			}
		}
	}
	for i := range smallTables {
		tables, err := ParseTables(strings.NewReader(smallTables[:i]), "f")
		if err == nil {
			whole, _ := ParseTables(strings.NewReader(smallTables), "f")
			for k, got := range tables.Switches {
				assert.Equal(t, whole.Switches[k].Ports, got.Ports, smallTables[:i])
			}
		}
	}
}

func FuzzDiscover(f *testing.F)   { fuzz(f, Discover, variants, small) }
func FuzzSubnetList(f *testing.F) { fuzz(f, SubnetList, smallList) }

func fuzz(f *testing.F, parse func(io.Reader, string) (*Fabric, error), seeds ...string) {
	for _, text := range seeds {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		fabric, err := parse(strings.NewReader(text), "f")
		if err != nil {
			require.Contains(t, err.Error(), "f:")
			return
		}
		require.NotZero(t, fabric.Graph.Nodes()+len(fabric.Aside))
		for _, p := range fabric.Ports {
			require.Less(t, int(p.End.Node), fabric.Graph.Nodes())
		}
		_, _ = topology.Recognize(fabric.Graph)
	})
}

func FuzzParseTables(f *testing.F) {
	f.Add(smallTables)
	f.Add("dump_ucast_routes: Switch 0x2\n0x0001 : 001  : 01   : yes\n0x0005 : UNREACHABLE\n")
	f.Fuzz(func(t *testing.T, text string) {
		tables, err := ParseTables(strings.NewReader(text), "f")
		if err != nil {
			require.Contains(t, err.Error(), "f:")
			return
		}
		require.NotEmpty(t, tables.Switches)
	})
}
