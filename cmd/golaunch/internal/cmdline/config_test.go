package cmdline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
)

// A file of flags is read as statements with their lines, whatever their order.
func TestParseConfig(t *testing.T) {
	const text = "# the lab's\n\nhosts a\n--hosts = b:2\n-n2\n\tN 7\nlabel '%r: '\nquiet\n-v=1\nssh-option = Port=7\n"
	all, err := parseConfig(strings.NewReader(text), "conf", dialects.Line{})
	require.NoError(t, err)
	var got []string
	for _, s := range all {
		require.Equal(t, inFile, s.from)
		got = append(got, s.pos+s.name+" "+s.value)
	}
	assert.Equal(t, []string{
		"conf:3: -H/--hosts a", "conf:4: -H/--hosts b:2", "conf:5: -n/--np 2", "conf:6: -N/--ppn 7", "conf:7: -l/--label %r: ",
		"conf:8: -q/--quiet true", "conf:9: -v/--verbose 1", "conf:10: --ssh-option Port=7",
	}, got)
	for text, want := range map[string]string{
		"ppn 2\ncolour 3": "conf:2: unknown flag colour",
		"ppnn 2":          "conf:1: unknown flag ppnn; is --ppn meant?",
		"\nppn":           "conf:2: -N/--ppn: its value is missing",
		"ppn 2\n-N 3":     "conf:2: -N/--ppn: given twice",
		"config f":        "conf:1: --config: it goes on the command line",
		"help":            "conf:1: --help: it goes on the command line",
		"env A=1":         "conf:1: -x/--env is one app's; --genv sets a variable for all",
	} {
		_, err := parseConfig(strings.NewReader(text), "conf", dialects.Line{})
		assert.EqualError(t, err, want, text)
	}
}

// Any text in a file of flags is refused with its line or read as flags that exist.
func FuzzConfig(f *testing.F) {
	f.Add("hosts a\n-n2\nlabel '%r'\n# no\nquiet\n")
	own := Flags()
	f.Fuzz(func(t *testing.T, text string) {
		all, err := parseConfig(strings.NewReader(text), "conf", dialects.Line{})
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "conf:"), err.Error())
			return
		}
		for _, s := range all {
			require.NotNil(t, own.Lookup(s.flag))
			require.NotEmpty(t, s.pos)
		}
	})
}
