package hostlist

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Host files are read as editors of any system write them: without an end of the last
// line, with those of DOS, a byte order mark, blanks, tabs and comments.
//
//report:hosts pmodels/mpich#6719 a host file whose last line does not end
func TestParseFile(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"plain":       {"a\nb\n", "a b"},
		"no newline":  {"a\nb", "a b"},
		"hydra":       {"a:4\nb:2\n", "a:4 b:2"},
		"open mpi":    {"a slots=4 max_slots=8\nb slots=2 max-slots=2\n", "a:4 b:2"},
		"wide equals": {"a  slots = 4   max_slots =8\n", "a:4"},
		"settings":    {"a user=joe port=2222\n", "joe@a port 2222"},
		"ranges":      {"n[01-02]:4\nm[1-2] slots=3\n", "n01:4 n02:4 m1:3 m2:3"},
		"list":        {"a:2,b\n", "a:2 b"},
		"comments":    {"# all\n\n  a # one\n\t\nb:2# two\n", "a b:2"},
		"crlf":        {"a:2\r\n\r\nb slots=3\r\n", "a:2 b:3"},
		"mark":        {"\ufeffa\n", "a"},
		"addresses":   {"10.0.0.1:2\n[::1]:4\n", "10.0.0.1:2 ::1:4"},
		"per slot":    {"a\na\nb\na\n", "a:3 b"},
		"twice":       {"a slots=2\na:3\n", "a:5"},
	} {
		f, err := ParseFile(strings.NewReader(c.text), "hosts")
		require.NoError(t, err, name)
		assert.Equal(t, c.want, show(f.Hosts), name)
	}
}

func TestParseFileTellsWhere(t *testing.T) {
	f, err := ParseFile(strings.NewReader("# head\na\nb slots=1 max_slots=2\nc max_slots=1\n"), "hosts")
	require.NoError(t, err)
	assert.Equal(t, "hosts:2", f.Hosts[0].Pos)
	assert.Equal(t, "hosts:3", f.Hosts[1].Pos)
	assert.Equal(t, "hosts:3", f.Capped)

	f, err = ParseFile(strings.NewReader("a\n"), "hosts")
	require.NoError(t, err)
	assert.Empty(t, f.Capped)
}

func TestParseFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                            `hosts: names no host`,
		"# none\n\n":                  `hosts: names no host`,
		"a\nb:x\n":                    `hosts:2: "b:x": "x" is not a number of slots`,
		"a\r\nn[3-1]\r\n":             `hosts:2: "n[3-1]": range 3-1 runs backwards`,
		"a b\n":                       `hosts:1: "b" is not key=value; put one host on a line`,
		"slots=4\n":                   `hosts:1: "slots=4": a line begins with the host`,
		"a slots=\n":                  `hosts:1: "slots=": no number of slots after the colon`,
		"a slots=0\n":                 "hosts:1: no host has slots; give one a number above 0",
		"a max_slots=0\n":             `hosts:1: "max_slots=0": leave the host out instead`,
		"a:0 slots=2\n":               `hosts:1: "slots=2": host a has its slots from :0 already`,
		"a slots=2 slots=3\n":         `hosts:1: "slots=3": given twice`,
		"a:2 slots=3\n":               `hosts:1: "slots=3": host a has its slots from :2 already`,
		"a slots=4 max_slots=2\n":     `hosts:1: host a: slots=4 is above max_slots=2`,
		"a:4 max-slots=2\n":           `hosts:1: host a: slots=4 is above max_slots=2`,
		"joe@a user=jim\n":            `hosts:1: "user=jim": host a has its user from joe@ already`,
		"a user=-l\n":                 `hosts:1: "user=-l": user name "-l" begins with a dash`,
		"a port=0\n":                  `hosts:1: "port=0": not a port; 1 to 65535 are`,
		"a port=65536\n":              `hosts:1: "port=65536": not a port; 1 to 65535 are`,
		"a binding=core\n":            `hosts:1: "binding=core": a host has no binding of its own; remove it, and use --bind-to`,
		"a ifname=ib0\n":              `hosts:1: "ifname=ib0": name the host by its address on that network instead`,
		"a colour=red\n":              `hosts:1: "colour=red": unknown setting; known are slots, max_slots, user and port`,
		"a user=x\na user=y\n":        `hosts:2: host a: user y, but x at hosts:1`,
		"a port=22\na port=23\n":      `hosts:2: host a: port 23, but 22 at hosts:1`,
		"\x7fELF\x02\x01\n":           `hosts:1: "\x7fELF\x02\x01": character '\x7f' in host name`,
		"a\n" + longLine():            `hosts:2: line longer than 1048576 bytes`,
		"a slots=99999999999999999\n": `hosts:1: "slots=99999999999999999": 99999999999999999 slots are more than 1048576`,
	} {
		_, err := ParseFile(strings.NewReader(text), "hosts")
		assert.EqualError(t, err, want)
	}
	_, err := parseFile(strings.NewReader("n[1-9]\nm[1-2]\n"), "hosts", 10)
	assert.EqualError(t, err, `hosts:2: "m[1-2]": more than 10 hosts`)
	_, err = ParseFile(iotest.ErrReader(&fs.PathError{Op: "read", Path: "hosts", Err: errors.New("is a directory")}), "hosts")
	assert.EqualError(t, err, "hosts: read: is a directory")
}

func longLine() string { return strings.Repeat("x", maxLine+1) + "\n" }

func FuzzParseFile(f *testing.F) {
	for _, s := range []string{"a:2\nb slots=3 max_slots=4\n", "# c\r\nn[1-4] user=x port=22\r\n", "a = b\n", "a slots = 4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := parseFile(strings.NewReader(text), "hosts", 1000)
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "hosts:"), err)
			require.NotContains(t, err.Error(), "\n")
			return
		}
		require.NotEmpty(t, file.Hosts)
		for _, h := range file.Hosts {
			require.NotEmpty(t, h.Name)
			require.True(t, strings.HasPrefix(h.Pos, "hosts:"))
		}
	})
}

// A host without slots has no ranks, in a file and in a list, and the others have theirs.
//
//report:hosts open-mpi/ompi#9221 a host with slots=0
func TestHostsWithoutSlots(t *testing.T) {
	f, err := ParseFile(strings.NewReader("a slots=0\nb slots=2\n"), "hosts")
	require.NoError(t, err)
	require.Equal(t, "b:2", show(f.Hosts))
	hosts, err := Parse("a:0,b:2", "-H")
	require.NoError(t, err)
	require.Equal(t, "b:2", show(hosts))
}
