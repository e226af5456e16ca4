package hostlist

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
)

func TestFold(t *testing.T) {
	for list, want := range map[string]string{
		"":                             "",
		"a":                            "a",
		"a b":                          "a,b",
		"n1 n2 n3 n7":                  "n[1-3,7]",
		"n001 n002 n128":               "n[001-002,128]",
		"n099 n100 n101":               "n[099-101]",
		"n9 n10 n010":                  "n[9-10,010]",
		"n01 n1":                       "n[01,1]",
		"n3 n2 n1":                     "n[3,2,1]",
		"n1 n1":                        "n1,n1",
		"n1 n2 n1":                     "n[1-2,1]",
		"n1-ib0 n2-ib0":                "n[1-2]-ib0",
		"r1n1 r1n2 r2n1 r2n2":          "r1n[1-2],r2n[1-2]",
		"10.0.0.1 10.0.0.2":            "10.0.0.[1-2]",
		"::1 ::2":                      "[::1],[::2]",
		"n1:4 n2:4 n3:2":               "n[1-2]:4,n3:2",
		"joe@n1 joe@n2 n3":             "joe@n[1-2],n3",
		"n1234567890123456789 n1 n2":   "n1234567890123456789,n[1-2]",
		"n999999999999999999 n1 login": "n[999999999999999999,1],login",
	} {
		assert.Equal(t, want, Fold(parseWords(t, list)), list)
	}
}

// parseWords reads hosts separated by blanks without merging them.
func parseWords(t *testing.T, words string) []job.Host {
	var hosts []job.Host
	for _, w := range strings.Fields(words) {
		if strings.HasPrefix(w, "::") {
			w = "[" + w + "]"
		}
		one, err := Parse(w, "")
		require.NoError(t, err)
		hosts = append(hosts, one...)
	}
	return hosts
}

// Parse reads the output of Fold back: every name, in order, with its terms.
func TestFoldThenParseIsIdentity(t *testing.T) {
	name := rapid.OneOf(
		rapid.StringMatching(`n[0-9]{1,3}`),
		rapid.StringMatching(`r[0-2]n0?[0-9]`),
		rapid.StringMatching(`[a-z][a-z0-9.-]{0,6}`),
		rapid.StringMatching(`[0-9]{1,20}`),
		rapid.SampledFrom([]string{"::1", "fe80::2%eth0", "10.0.0.7", "10.0.0.8"}),
	)
	host := rapid.Custom(func(t *rapid.T) job.Host {
		return job.Host{
			Name:  name.Draw(t, "name"),
			Slots: rapid.IntRange(0, 2).Draw(t, "slots"),
			User:  rapid.SampledFrom([]string{"", "", "joe"}).Draw(t, "user"),
			Pos:   "-H",
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		hosts := rapid.SliceOfNDistinct(host, 1, 30, func(h job.Host) string { return h.Name }).Draw(t, "hosts")
		back, err := Parse(Fold(hosts), "-H")
		require.NoError(t, err)
		require.Equal(t, hosts, back)
	})
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a,b:2", "n[001-128,200]:4", "u@[::1]:4", "r[1-2]n[1-4]", "n[1-", "a,,b", "[1:2]", "::1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, list string) {
		const limit = 1000
		hosts, err := parseMerged(list, "-H", limit)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.NotEmpty(t, hosts)
		require.LessOrEqual(t, len(hosts), limit)
		back, err := parseMerged(Fold(hosts), "-H", limit)
		require.NoError(t, err)
		require.Equal(t, hosts, back)
	})
}
