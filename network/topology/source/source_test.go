package source

import (
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/network/topology/ibnet"
	"github.com/golaunch/golaunch/network/topology/spec"
)

func TestRead(t *testing.T) {
	g, err := spec.Parse("torus:4x4x3")
	require.NoError(t, err)
	var ibsim strings.Builder
	require.NoError(t, ibnet.Write(&ibsim, g))
	for _, x := range []struct{ text, form, family string }{
		{"# comment\n" + ibsim.String(), "ibnetdiscover", "torus:4x4x3"},
		{"\n# two\nSwitchName=a Nodes=n[1-4]\nSwitchName=b Nodes=m[1-4]\nSwitchName=c Switches=a,b\n", "topology.conf", "fattree:4,2/1,1/1,1"},
		{"   NID    (HEX)    NODENAME\n 12 0xc c0-0c0s3n0 compute\n", "cname", "cray:6,16,4,1,1,groups=1"},
		{"{ CA Ports:01 NodeGUID:04 {n001} LID:0001 PN:01 } { SW Ports:08 NodeGUID:09 {leaf} LID:000A PN:01 } PHY=4x\n" +
			"{ SW Ports:08 NodeGUID:09 {leaf} LID:000A PN:01 } { CA Ports:01 NodeGUID:04 {n001} LID:0001 PN:01 } PHY=4x\n", "opensm-subnet.lst", "fattree:1/1/1"},
	} {
		n, err := Read(strings.NewReader(x.text), "f")
		require.NoError(t, err)
		assert.Equal(t, []string{x.form, x.family}, []string{n.Form, n.Graph.Family().String()})
		assert.NoError(t, n.Irregular)
	}
	n, err := Read(strings.NewReader("SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\nSwitchName=c Nodes=n3"), "f")
	require.NoError(t, err)
	assert.Nil(t, n.Graph.Family())
	assert.ErrorContains(t, n.Irregular, "it is in 3 pieces")
}

func TestReadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "f: no known form of a network: expected ibnetdiscover's output",
		"hello\n":                 "f: no known form of a network",
		"SwitchName=a\n":          "f:1: switch \"a\": expected Nodes= or Switches=",
		"Switch 8 \"S\"\n[x]\n":   "f:2: ",
		"nid00012 c0-0c0s3n7":     "f:1: ",
		"Unicast lids [0-22] of ": "f: forwarding tables: expected the network itself",
	} {
		_, err := Read(strings.NewReader(text), "f")
		assert.ErrorContains(t, err, want)
	}
	broken := errors.New("broken")
	_, err := Read(iotest.ErrReader(broken), "f")
	assert.ErrorIs(t, err, broken)
}

func FuzzRead(f *testing.F) {
	f.Add("SwitchName=a Nodes=n1")
	f.Add("Switch 8 \"S\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Count(text, "-") > 3 || len(text) > 1000 {
			return // large ranges take their time
		}
		n, err := Read(strings.NewReader(text), "f")
		if err == nil {
			require.NotNil(t, n.Graph)
			require.Equal(t, n.Graph.Family() == nil, n.Irregular != nil)
		}
	})
}
