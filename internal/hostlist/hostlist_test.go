package hostlist

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

// show renders hosts one by one, without the folding that Fold does.
func show(hosts []job.Host) string {
	var words []string
	for _, h := range hosts {
		w := h.Name
		if h.User != "" {
			w = h.User + "@" + w
		}
		if h.Slots > 0 {
			w += fmt.Sprintf(":%d", h.Slots)
		}
		if h.Port > 0 {
			w += fmt.Sprintf(" port %d", h.Port)
		}
		words = append(words, w)
	}
	return strings.Join(words, " ")
}

func TestParse(t *testing.T) {
	for list, want := range map[string]string{
		"a":                     "a",
		"a,b:2":                 "a b:2",
		" a , b ":               "a b",
		"n[1-3]":                "n1 n2 n3",
		"n[001-003,200]:4":      "n001:4 n002:4 n003:4 n200:4",
		"n[08-11]":              "n08 n09 n10 n11",
		"n[9-11]-ib":            "n9-ib n10-ib n11-ib",
		"n[0]":                  "n0",
		"n[00-02]":              "n00 n01 n02",
		"r[1-2]n[1-2]":          "r1n1 r1n2 r2n1 r2n2",
		"[1-2]n":                "1n 2n",
		"10.0.0.[1-2]:8":        "10.0.0.1:8 10.0.0.2:8",
		"user@h:2":              "user@h:2",
		`CORP\joe@n[1-2]`:       `CORP\joe@n1 CORP\joe@n2`,
		"joe@realm@h":           "joe@realm@h",
		"[::1]":                 "::1",
		"[::1]:4,b":             "::1:4 b",
		"u@[fe80::1%eth0]:4":    "u@fe80::1%eth0:4",
		"a,b,a":                 "a:2 b",
		"a:2,b,a:3":             "a:5 b",
		"joe@a,a":               "joe@a:2",
		"a:0,b:2":               "b:2",
		"a:0,b,a:2":             "a:2 b",
		"a:0,a":                 "a:1",
		"n[1-3]:0,n2,m":         "n2:1 m",
		"n[999999999999999999]": "n999999999999999999",
	} {
		hosts, err := Parse(list, "-H")
		require.NoError(t, err, list)
		assert.Equal(t, want, show(hosts), list)
		for _, h := range hosts {
			assert.Equal(t, "-H", h.Pos)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for list, want := range map[string]string{
		"":                    `-H: "": empty host name`,
		"a,,b":                `-H: "a,,b": empty host name`,
		"a,":                  `-H: "a,": empty host name`,
		":4":                  `-H: ":4": empty host name`,
		"a:":                  `-H: "a:": no number of slots after the colon`,
		"a:x":                 `-H: "a:x": "x" is not a number of slots`,
		"a:-1":                `-H: "a:-1": "-1" is not a number of slots`,
		"a:0":                 "-H: no host has slots; give one a number above 0",
		"a:0,a:0":             "-H: no host has slots; give one a number above 0",
		"a:9999999":           `-H: "a:9999999": 9999999 slots are more than 1048576`,
		"a:1048576,a":         `-H: host a: more than 1048576 slots in all`,
		"n[1-4":               `-H: "n[1-4": [ without ]`,
		"n[1-4,m":             `-H: "n[1-4,m": [ without ]`,
		"[:0":                 `-H: "[:0": [ without ]`,
		"n1-4]":               `-H: "n1-4]": ] without [`,
		"n[]":                 `-H: "n[]": range with an empty number; write [1-4,7]`,
		"n[1-]":               `-H: "n[1-]": range with an empty number; write [1-4,7]`,
		"n[a-c]":              `-H: "n[a-c]": "a" in a range is not a number; write [1-4,7]`,
		"n[5-2]":              `-H: "n[5-2]": range 5-2 runs backwards`,
		"n[1-010]":            `-H: "n[1-010]": range 1-010 pads its ends with zeros to different widths`,
		"n[1-1048577]":        `-H: "n[1-1048577]": more than 1048576 hosts`,
		"a,n[1-1048576]":      `-H: "n[1-1048576]": more than 1048576 hosts`,
		"n[1-9999][1-9999]":   `-H: "n[1-9999][1-9999]": more than 1048576 hosts`,
		"n[1-99999999999999]": `-H: "n[1-99999999999999]": more than 1048576 hosts`,
		"n[1234567890123456789]": `-H: "n[1234567890123456789]": ` +
			`number 1234567890123456789 in a range has more than 18 digits`,
		"::1":          `-H: "::1": several colons: write an IPv6 address in brackets, as in [::1] or [::1]:4`,
		"fe80::1:4":    `-H: "fe80::1:4": several colons: write an IPv6 address in brackets, as in [::1] or [::1]:4`,
		"[::x]":        `-H: "[::x]": "::x" is not an IPv6 address`,
		"[::1%$(id)]":  `-H: "[::1%$(id)]": "::1%$(id)" is not an IPv6 address`,
		"[::1]4":       `-H: "[::1]4": "4" follows the address; only :slots may`,
		"[fe80::[1-2]": `-H: "[fe80::[1-2]": "fe80::[1-2" is not an IPv6 address`,
		"a b":          `-H: "a b": character ' ' in host name`,
		"a;reboot":     `-H: "a;reboot": character ';' in host name`,
		"h\u00f6st":    `-H: "höst": character 'ö' in host name`,
		"-oProxy":      `-H: "-oProxy": host name begins with a dash`,
		"@h":           `-H: "@h": no user name before the @`,
		"-l@h":         `-H: "-l@h": user name "-l" begins with a dash`,
		"a b@h":        `-H: "a b@h": character ' ' in user name "a b"`,
		"x@h,y@h":      `-H: host h: user y, but x at -H`,
	} {
		_, err := Parse(list, "-H")
		assert.EqualError(t, err, want)
	}
	_, err := Parse(strings.Repeat("n", 256), "-H")
	require.ErrorContains(t, err, "host name longer than 255 characters")
	assert.Less(t, len(err.Error()), 120, "a long name is cut in the message")
}

func TestLargestListIsRead(t *testing.T) {
	hosts, err := Parse("n[1-1048576]", "-H")
	require.NoError(t, err)
	require.Len(t, hosts, MaxHosts)
	assert.Equal(t, "n[1-1048576]", Fold(hosts))
}

// Names are those of the entries, a host as often as it is named.
func TestNames(t *testing.T) {
	hosts, names, err := ParseNames("b,n[1-2]:4,b:2,n1", "-H")
	require.NoError(t, err)
	require.Equal(t, []string{"b", "n1", "n2", "b", "n1"}, names)
	want, err := Parse("b,n[1-2]:4,b:2,n1", "-H")
	require.NoError(t, err)
	require.Equal(t, want, hosts)
	file, err := ParseFile(strings.NewReader("b\nn[1-2] slots=4\nb:2\n"), "hosts")
	require.NoError(t, err)
	require.Equal(t, []string{"b", "n1", "n2", "b"}, file.Names)
	require.Len(t, file.Hosts, 3)
	_, _, err = ParseNames("a,,b", "-H")
	require.ErrorContains(t, err, "-H: ")
}

func TestUnion(t *testing.T) {
	list := func(text string) []job.Host {
		hosts, err := Parse(text, text)
		require.NoError(t, err)
		return hosts
	}
	hosts, err := Union(list("a:2,b,joe@c"), nil, list("c:1,a:3,d:4"))
	require.NoError(t, err)
	assert.Equal(t, "a:5 b joe@c d:4", show(hosts))
	_, err = Union(list("joe@a"), list("sue@a"))
	require.EqualError(t, err, "sue@a: host a: user sue, but joe at joe@a")
}
