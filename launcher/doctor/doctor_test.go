package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// healthy is a host on which nothing is wrong at a time.
func healthy(at time.Time) Facts {
	return Facts{
		Time: at.UnixNano(), User: "ann", Home: "/home/ann", HomeThere: true, System: "Linux 6.1, amd64", CPUs: 4, Memory: 16 << 30,
		Dirs:  []Dir{{"/dev/shm", true, true, 1 << 30}},
		Files: 1024, FilesMax: 1 << 20, Processes: ^uint64(0), Libc: "glibc 2.36", Tools: []string{"sh"}, WorkDir: "/work", WorkDirHere: true,
	}
}

func TestProblems(t *testing.T) {
	from := time.Unix(1000, 0)
	to := from.Add(3 * time.Second)
	for _, x := range []struct {
		name   string
		change func(f *Facts)
		want   string
	}{
		{"none", func(*Facts) {}, ""},
		{"between the times", func(f *Facts) { f.Time = to.UnixNano() }, ""},
		{"clock behind", func(f *Facts) { f.Time = from.Add(-9 * time.Second).UnixNano() }, "behind by 9s"},
		{"clock ahead", func(f *Facts) { f.Time = to.Add(time.Minute).UnixNano() }, "ahead by 1m0s"},
		{"noexec", func(f *Facts) { f.Dirs[0].Exec = false }, "/dev/shm: noexec"},
		{"full", func(f *Facts) { f.Dirs[0].Free = 1 << 20 }, "/dev/shm: full"},
		{"read-only", func(f *Facts) { f.Dirs[0].There = false }, "not to be written to"},
		{"no home", func(f *Facts) { f.HomeThere = false }, "HOME is /home/ann, which is no directory"},
		{"HOME unset", func(f *Facts) { f.Home, f.HomeThere = "", false }, "HOME is not set"},
		{"no directory", func(f *Facts) { f.WorkDirHere = false }, "there is no /work"},
		{"few files", func(f *Facts) { f.FilesMax = 256 }, "256 open files"},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := healthy(from)
			x.change(&f)
			got := f.Problems(from, to)
			if x.want == "" {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Contains(t, got[0], x.want)
		})
	}
}

func TestLines(t *testing.T) {
	f := healthy(time.Now())
	require.Equal(t, []string{
		"account    ann, home /home/ann", "agent      in /dev/shm", "system     Linux 6.1, amd64, 4 CPUs, 16 GiB",
		"libraries  glibc 2.36; no MPICH or Open MPI in PATH", "limits     1024 open files, up to 1048576; unlimited processes", "programs   sh",
	}, f.Lines("n001"))
	f.Home = "/nodes/n001/home"
	require.Equal(t, "account    ann, home /nodes/HOST/home", f.Lines("n001")[0])
	var empty Facts
	require.Contains(t, strings.Join(empty.Lines(""), "\n"), "agent      in nowhere")
}
