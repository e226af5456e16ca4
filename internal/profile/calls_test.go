package profile

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	countedCall = regexp.MustCompile(`(?m)^(CALL|START|COLL)\((\w+), (\w*)`)
	// quiet are the calls that send nobody anything of the program's: they receive or
	// complete what another call has sent, or are about objects of this process.
	quiet = regexp.MustCompile(`^MPI_(I?[Rr]ecv|I?[Mm]recv|I?[Mm]?[Pp]robe|Message_|Wait|Test|Request_get_status|Cancel|Status_|Get_count|` +
		`Get_elements|Grequest_|Win_|Type_|Group_|Info_|Comm_|Intercomm_create|Cart_|Dims_create|Op_|Err|Buffer_|Pack_size|` +
		`Alloc_mem|Free_mem|Aint_|Get_address|Reduce_local|Abort|Wtime)`)
)

// counted returns the calls of the profiler's table.
func counted(t *testing.T) []string {
	var names []string
	for _, file := range []string{"calls.h", "profile.c"} {
		text, err := os.ReadFile(filepath.Join("../../native/libprofile", file))
		require.NoError(t, err)
		for _, m := range countedCall.FindAllStringSubmatch(string(text), -1) {
			these := []string{"MPI_" + m[2]}
			if m[1] == "COLL" {
				these = append(these, "MPI_I"+m[3], "MPI_"+m[2]+"_init")
			}
			names = append(names, these...)
			if file == "calls.h" {
				for _, name := range these {
					names = append(names, name+"_c")
				}
			}
		}
	}
	return names
}

// The calls of MPICH's test suite for point-to-point, collective and one-sided
// operations count, unless they send nothing.
func TestCallsOfMPICHsSuite(t *testing.T) {
	text, err := os.ReadFile("testdata/mpich-suite-calls.txt")
	require.NoError(t, err)
	names := counted(t)
	called := 0
	for line := range strings.Lines(string(text)) {
		name := strings.TrimSpace(line)
		if strings.HasPrefix(name, "#") {
			continue
		}
		if called++; quiet.MatchString(name) {
			require.NotContains(t, names, name, "it counts")
			continue
		}
		require.Contains(t, names, name)
	}
	require.Greater(t, called, 200)
}

// The page has each call that counts, and no other in its table; each collective
// operation has the number that the profiler gives it.
func TestCallsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/report.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(page), "## What counts")
	table, _, ok := strings.Cut(table, "\n## ")
	require.True(t, ok)
	var want, got []string
	for _, name := range counted(t) {
		if !strings.HasSuffix(name, "_c") {
			want = append(want, name)
		}
	}
	table = strings.Join(regexp.MustCompile(`(?m)^\|.*`).FindAllString(table, -1), "\n")
	for _, name := range regexp.MustCompile(`MPI_\w+`).FindAllString(table, -1) {
		if !slices.Contains(got, name) {
			got = append(got, name)
		}
	}
	for _, name := range want {
		base := regexp.MustCompile(`^MPI_I([a-z])`).ReplaceAllStringFunc(strings.TrimSuffix(name, "_init"), func(s string) string {
			return "MPI_" + strings.ToUpper(s[5:])
		})
		require.True(t, slices.Contains(got, name) || slices.Contains(got, base), name)
	}
	for _, name := range got {
		require.Contains(t, want, name)
	}
	layout, err := os.ReadFile("../../native/libprofile/layout.h")
	require.NoError(t, err)
	var numbered []string
	for _, m := range regexp.MustCompile(`(?m)^\tOP_(\w+)`).FindAllStringSubmatch(string(layout), -1) {
		numbered = append(numbered, "MPI_"+m[1])
	}
	for i, name := range numbered {
		require.Equal(t, name, Operation(i+1).String())
	}
	require.Len(t, numbered, len(operations)-1)
}
