package measure

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const osuTables = `
# hosts: n001 n002
# OSU MPI Latency Test v5.9
# Size          Latency (us)
0                       1.21
8                       1.24

# OSU MPI-CUDA Bandwidth Test v7.2
# Datatype: MPI_CHAR.
# Size      Bandwidth (MB/s)
1000                  500.00    Pass
2000                  800.00    Pass
`

const imbTables = `#------------------------------------------------------------
#    Intel(R) MPI Benchmarks 2021.3, MPI-1 part
#------------------------------------------------------------
# List of Benchmarks to run:
# PingPong
# Sendrecv
1 of 3 is done

#---------------------------------------------------
# Benchmarking PingPong
# #processes = 2
#---------------------------------------------------
       #bytes #repetitions      t[usec]   Mbytes/sec
            0         1000         1.31         0.00
            1         1000         1.52         0.66

#-----------------------------------------------------------------------------
# Benchmarking Sendrecv
# #processes = 2
#-----------------------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]   Mbytes/sec
            0         1000         9.99         9.99         9.99         0.00

# Benchmarking PingPing
       #bytes #repetitions      t[usec]   Mbytes/sec
            4           10         2.00         2.00


# All processes entering MPI_Finalize
`

func TestParse(t *testing.T) {
	for name, x := range map[string]struct {
		text string
		want []Sample
	}{
		"osu": {osuTables, []Sample{
			{From: "n001", To: "n002", Test: PingPong, Time: 1.21}, {From: "n001", To: "n002", Test: PingPong, Size: 8, Time: 1.24},
			{From: "n001", To: "n002", Test: Stream, Size: 1000, Time: 2}, {From: "n001", To: "n002", Test: Stream, Size: 2000, Time: 2.5},
		}},
		"imb": {imbTables, []Sample{{Test: PingPong, Time: 1.31}, {Test: PingPong, Size: 1, Time: 1.52}, {Test: PingPing, Size: 4, Time: 2}}},
		"json": {`{"levels": [], "samples": [{"from": "a", "to": "b", "test": "ping-ping", "bytes": 3, "us": 0.5}]}`,
			[]Sample{{From: "a", To: "b", Test: PingPing, Size: 3, Time: 0.5}}},
	} {
		got, err := Parse(strings.NewReader(x.text), "f")
		require.NoError(t, err, name)
		assert.Equal(t, x.want, got, name)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"":           "f: no table: expected what osu_latency, osu_bw or IMB's PingPong prints, or golaunch topo measure as JSON",
		"1 2\n3 4\n": "f: no table: ",
		"# hosts: a": `f:1: "# hosts: a": expected two hosts, as in # hosts: n001 n002`,
		"# OSU MPI Bi-Directional Bandwidth Test v5.9\n":     `f:1: "# OSU MPI Bi-Directional Bandwidth Test v5.9": expected output of osu_latency or osu_bw`,
		"# OSU MPI Latency Test v5.9\n# Size Latency (us)\n": "f:2: the table of ping-pong before it has no rows",
		"# OSU MPI Latency Test v5.9\n8\n":                   `f:2: "8": expected 2 columns or more`,
		"# OSU MPI Latency Test v5.9\n8x 1\n":                `f:2: "8x": expected a number of bytes`,
		"# OSU MPI Latency Test v5.9\n8 fast\n":              `f:2: "fast": expected a number`,
		"# OSU MPI Latency Test v5.9\n8 0.00\n":              "f:2: time of 0 us: expected 1e-06 to 1e+12",
		"# OSU MPI Latency Test v5.9\n8 NaN\n":               "f:2: time of NaN us: expected 1e-06 to 1e+12",
		"# OSU MPI Latency Test v5.9\n8 inf\n":               "f:2: time of +Inf us: expected 1e-06 to 1e+12",
		"# OSU MPI Latency Test v5.9\n9999999999999 1\n":     "f:2: message of 9999999999999 bytes: expected 0 to 1099511627776",
		"# OSU MPI Bandwidth Test v5.9\n8 0.00\n":            `f:2: "8 0.00": expected a size and a bandwidth above 0`,
		"# Benchmarking PingPong\n0 1000 1.31 0.00\n":        `f:2: "0 1000 1.31 0.00": expected the names of the columns first, #bytes ... t[usec]`,
		"# Benchmarking PingPong\n#bytes t_avg[usec]\n":      `f:2: "#bytes t_avg[usec]": expected a column t[usec]`,
		"{":                       "f: expected what golaunch topo measure prints as JSON: unexpected end of JSON input",
		"{}":                      "f: no samples: expected what golaunch topo measure prints as JSON",
		`{"samples": [{"us":1}]}`: `f: sample 0: test "": expected ping-pong, ping-ping or stream`,
		`{"samples": [{"test":"stream","bytes":-1,"us":1}]}`:           "f: sample 0: message of -1 bytes: expected 0 to 1099511627776",
		`{"samples": [{"test":"stream","bytes":1,"us":1,"from":"a"}]}`: `f: sample 0: from "a" to "": expected the names of both hosts, or of neither`,
	} {
		_, err := Parse(strings.NewReader(text), "f")
		require.ErrorContains(t, err, want, "%q", text)
	}
}

// Samples survive a round trip through JSON, and lines fit them.
func FuzzParse(f *testing.F) {
	for _, text := range []string{osuTables, imbTables, `{"samples": [{"from": "a", "to": "b", "test": "ping-ping", "bytes": 3, "us": 0.5}]}`, "# OSU MPI Latency Test\n1 1e300\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		read, err := Parse(bytes.NewReader(text), "f")
		if err != nil {
			return
		}
		for _, s := range read {
			require.NoError(t, s.Check())
		}
		if l, err := Levels(read, nil); err == nil {
			for _, level := range l {
				assert.True(t, level.Latency >= 0 && level.Bandwidth >= 0 && level.R2 >= 0 && level.R2 <= 1, "%+v", level)
			}
		}
		encoded, err := json.Marshal(Report{Samples: read})
		require.NoError(t, err)
		again, err := Parse(bytes.NewReader(encoded), "f")
		require.NoError(t, err)
		require.Len(t, again, len(read))
	})
}
