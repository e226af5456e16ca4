package spec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]struct {
		family          string
		hosts, switches int
	}{
		"fattree:18,18,6/1,18,6/1,1,3":     {"fattree:18,18,6/1,18,6/1,1,3", 1944, 324},
		"fattree:3;18,18,6;1,18,6;1,1,3":   {"fattree:18,18,6/1,18,6/1,1,3", 1944, 324},
		"PGFT(2; 12,12; 1,6; 1,2)":         {"fattree:12,12/1,6/1,2", 144, 18},
		"XGFT(2;4,4;1,4)":                  {"fattree:4,4/1,4/1,1", 16, 8},
		"xgft:4,4/1,4":                     {"fattree:4,4/1,4/1,1", 16, 8},
		"clos:R=36,T=20,mu=0.8":            {"fattree:20,36/1,16/1,1", 720, 52},
		"clos:R=36,mu=1,levels=3":          {"fattree:18,18,36/1,18,18/1,1,1", 11664, 648 + 648 + 324},
		"torus:8x8x8":                      {"torus:8x8x8", 512, 512},
		"torus:8x4mx8,hosts=2":             {"torus:8x4mx8,hosts=2", 512, 256},
		"mesh:4x4":                         {"mesh:4x4", 16, 16},
		"dragonfly:p=4,a=8,h=2,g=16":       {"dragonfly:p=4,a=8,h=2,g=16", 512, 128},
		"Dragonfly:p=4, a=8, h=2, g=16":    {"dragonfly:p=4,a=8,h=2,g=16", 512, 128},
		"cray:6,16,4,2,12":                 {"cray:6,16,4,2,12,groups=4", 1536, 384},
		"cray:3,4,2,2,12,groups=2,h=2":     {"cray:3,4,2,2,12,groups=2,h=2", 48, 24},
		"fattree:18,18/1,9/1,2,rate=12.5G": {"fattree:18,18/1,9/1,2", 324, 27},
	} {
		assert.True(t, Is(text), text)
		g, err := Parse(text)
		require.NoError(t, err, text)
		assert.Equal(t, want.family, g.Family().String())
		assert.Equal(t, []int{want.hosts, want.switches}, []int{g.Hosts(), g.Switches()}, text)
		again, err := Parse(g.Family().String())
		require.NoError(t, err, "what a family prints can be read")
		assert.Equal(t, g.Family().String(), again.Family().String())
	}
	g, err := Parse("mesh:2x2,rate=12.5G")
	require.NoError(t, err)
	assert.Equal(t, int64(12.5e9), g.Rate(0))
	for _, text := range Examples() {
		_, err := Parse(text)
		assert.NoError(t, err)
	}
}

func TestParseRefuses(t *testing.T) {
	all := "expected one of fattree:18,18/1,9/1,2, xgft:4,4/1,4, clos:R=36,T=20,mu=0.8, torus:8x8x8, mesh:8x8x8, dragonfly:p=4,a=8,h=2,g=16, cray:6,16,4,2,12"
	for text, want := range map[string]string{
		"":                                     `network "": ` + all,
		"ring:8":                               `network "ring:8": ` + all,
		"torus":                                `network "torus": ` + all,
		"fattree:18,x/1,9/1,2":                 `network "fattree:18,x/1,9/1,2": "x": expected a whole number, at most 2097152 (such as fattree:18,18/1,9/1,2)`,
		"fattree:18,18/1,9":                    `"18,18/1,9": expected 3 lists of numbers, M/W/P`,
		"fattree:18,18/1,9/1":                  `"1": expected 2 numbers, one of each level`,
		"fattree:3;18,18;1,9;1,2":              `"18,18": expected 3 numbers, one of each level`,
		"fattree:18,18/1,0/1,2":                "w2=0: expected 1..1048576",
		"fattree:18,18/1,9/1,2,speed=3":        `"speed=3": expected one of rate`,
		"fattree:18,18/1,9/1,2,rate=3X":        `"rate=3X": expected bit/s, such as 100G, at most 1000T`,
		"fattree:18,18/1,9/1,2,rate=NaN":       `"rate=NaN": expected bit/s`,
		"fattree:18,18/1,9/1,2,rate=1G,rate=2": `"rate=2": rate is given twice`,
		"fattree:2000000,2000000/1,1/1,1":      "m1=2000000: expected 1..1048576",
		"fattree:99999999999999999999/1/1":     `"99999999999999999999": expected a whole number`,
		"clos:T=20,mu=0.8":                     "expected R=number",
		"clos:R=36,T=20":                       `"mu=": expected a number, such as mu=0.8`,
		"clos:36,T=20,mu=1":                    `"36": expected key=value`,
		"clos:R=36,T=30,mu=0.8":                "T=30: leaves 6 ports upward, 0.2 for each host, expected at least mu=0.8",
		"torus:":                               `"": expected a whole number`,
		"torus:8,8,8":                          `"8,8,8": expected sizes, such as 8x8x8`,
		"torus:8x0":                            "dimension 0: expected 1..2097152",
		"torus:2000x2000":                      "more than 2097152 hosts and switches: too large",
		"torus:8x-1":                           `"-1": expected a whole number`,
		"dragonfly:p=4,a=8,h=2":                "expected g=number",
		"dragonfly:p=4,a=8,h=1,g=16":           "h=1: a group has 8 ports to 15 other groups",
		"dragonfly:p=4,a=,h=1,g=16":            `"a=": expected a value behind =`,
		"cray:6,16,4,2":                        `"6,16,4,2": expected 5 numbers`,
		"cray:6,16,4,2,0":                      `"0": expected 1..65536`,
		"cray:6,16,4,2,12,groups=4,7":          `"7": expected key=value`,
	} {
		_, err := Parse(text)
		assert.ErrorContains(t, err, want, text)
	}
	_, err := Parse(string(make([]byte, 5000)))
	assert.EqualError(t, err, "network of 5000 bytes: expected at most 4096")
	assert.False(t, Is("fabric.topo"))
	assert.True(t, Is("torus:what"))
}

func FuzzParse(f *testing.F) {
	for _, text := range append(Examples(), "PGFT(2;4,4;1,4;1,1)", "torus:4m", "cray:1,1,1,1,1,groups=1", "fattree:;;") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 30 {
			return // networks as large as allowed take their time
		}
		g, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(g.Family().String())
		require.NoError(t, err)
		require.Equal(t, g.Family().String(), again.Family().String())
	})
}
