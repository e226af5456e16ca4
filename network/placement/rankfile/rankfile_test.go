package rankfile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/lines"
	"github.com/golaunch/golaunch/network/placement/binding"
)

func TestParse(t *testing.T) {
	f, err := Parse(strings.NewReader("\ufeff# hosts\nrank 0=n1 slot=1:0-2\r\n"+
		"rank 2 = +n1 slots = 0:*,1:3,5\n\n1 n1 # the same\n3-4,6 n2 slot=0-3,7\nRANK 5=n3\n"), "ranks")
	require.NoError(t, err)
	var got []string
	for rank := range f.Of {
		line := f.Line(rank)
		got = append(got, fmt.Sprintf("%s %s+%d %s", f.Pos(rank), line.Host, line.Index, line.Slots))
	}
	require.Equal(t, []string{
		"ranks:2 n1+0 1:0-2",
		"ranks:5 n1+0 ",
		"ranks:3 +1 0:*,1:3,5",
		"ranks:6 n2+0 0-3,7",
		"ranks:6 n2+0 0-3,7",
		"ranks:7 n3+0 ",
		"ranks:6 n2+0 0-3,7",
	}, got)
	require.Equal(t, map[job.Rank]string{0: "1:0-2", 2: "0:*,1:3,5", 3: "0-3,7", 4: "0-3,7", 6: "0-3,7"}, f.Slots())
	f, err = Parse(strings.NewReader("0 a"), "ranks")
	require.NoError(t, err)
	require.Nil(t, f.Slots())
}

// Every mistake is told with its line.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "r: places no rank; a line is such as rank 0=n001",
		"# none\n":                           "r: places no rank; a line is such as rank 0=n001",
		"rank 0=a\n0 b":                      "r:2: rank 0 has line 1 already",
		"0-3 a\n\n2 b":                       "r:3: rank 2 has line 1 already",
		"0 a\n2 b\n\n":                       "r:3: the file ends here, and rank 1 has no line, but rank 2 has",
		"x a":                                `r:1: "x": expected a rank, 0 to 1048575`,
		"-1 a":                               `r:1: "": expected a rank, 0 to 1048575`,
		"1048576 a":                          `r:1: "1048576": expected a rank, 0 to 1048575`,
		"3-1 a":                              `r:1: "3-1": it ends before it begins`,
		"0":                                  `r:1: "0": expected a line such as rank 0=n001 slot=0:0-3, or 0 n001`,
		"rank":                               `r:1: "rank": expected a line such as rank 0=n001 slot=0:0-3, or 0 n001`,
		"rank 0":                             `r:1: "rank 0": expected a line such as rank 0=n001 slot=0:0-3, or 0 n001`,
		"rank 0=":                            `r:1: "rank 0=": expected a line such as rank 0=n001 slot=0:0-3, or 0 n001`,
		"rank 0=a=b":                         `r:1: "rank 0=a=b": expected a line such as rank 0=n001 slot=0:0-3, or 0 n001`,
		"0=a":                                `r:1: "0=a": expected a line such as rank 0=n001 slot=0:0-3, or 0 n001`,
		"0 a slot=1 b":                       `r:1: "0 a slot=1 b": expected a line such as rank 0=n001 slot=0:0-3, or 0 n001`,
		"0 a cores=1":                        `r:1: "cores=1": expected slot= and CPUs`,
		"0 a b":                              `r:1: "b": expected slot= and CPUs`,
		"0 a slot=":                          `r:1: slot=: "": expected a list of numbers below 65536, such as 0-3,8`,
		"0 a slot=p1":                        `r:1: slot=: "p1": expected a list of numbers below 65536, such as 0-3,8`,
		"0 a slot=*":                         `r:1: slot=: "*": expected a list of numbers below 65536, such as 0-3,8`,
		"0 a slot=x:1":                       `r:1: slot=: "x:1": expected CPUs as in 0-3,8 or cores of a socket as in 1:0-2`,
		"0 a slot=0:4-2":                     `r:1: slot=: "4-2": expected a list of numbers below 65536, such as 0-3,8`,
		"0 a slot=3,0:1":                     `r:1: slot=: "3,0:1": expected CPUs as in 0-3,8 or cores of a socket as in 1:0-2`,
		"rank 0=+nx":                         `r:1: "x": expected the number of a host after +n, 0 to 65536`,
		"0 " + strings.Repeat("a", 99) + "=": `r:1: "0 ` + strings.Repeat("a", 78) + `...": expected a line such as rank 0=n001 slot=0:0-3, or 0 n001`,
		strings.Repeat("a", lines.MaxLine+1): "r:1: line of more than 1048576 bytes",
	} {
		_, err := Parse(strings.NewReader(text), "r")
		require.EqualError(t, err, want, "%.40q", text)
	}
}

// Whatever a file holds, it is read, each rank with one line, or refused with a line
// that it has.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"rank 0=n1 slot=1:0-2\nrank 1=+n2", "0-3,5 a slot=0:*,1\n4 b", "rank 0 = a slots = 1", "0 a\n0 b", "\ufeff#\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse(strings.NewReader(text), "r")
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "r:"), err)
			return
		}
		require.NotEmpty(t, file.Of)
		held := make([]int, len(file.Lines))
		for rank := range file.Of {
			held[file.Of[rank]]++
			line := file.Line(rank)
			require.LessOrEqual(t, line.Number, strings.Count(text, "\n")+1)
			if line.Slots != "" {
				_, err := binding.ParseSlots(line.Slots)
				require.NoError(t, err)
			}
		}
		require.NotContains(t, held, 0, "a line without a rank")
	})
}
