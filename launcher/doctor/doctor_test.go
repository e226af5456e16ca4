package doctor

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/cgroups"
)

// healthy is a host on which nothing is wrong at a time.
func healthy(at time.Time) Facts {
	return Facts{
		Time: at.UnixNano(), User: "ann", Home: "/home/ann", HomeThere: true, System: "Linux 6.1, amd64", CPUs: 4, Memory: 16 << 30,
		Dirs:  []Dir{{"/dev/shm", true, true, 1 << 30}},
		Files: 1024, FilesMax: 1 << 20, Processes: ^uint64(0), Libc: "glibc 2.36", Tools: []string{"sh"}, WorkDir: "/work", WorkDirHere: true,
		Shm: 8 << 30,
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
		{"where golaunch is already", func(f *Facts) { f.Dirs[0].There, f.AgentPath = false, "/golaunch" }, ""},
		{"in an image's directory", func(f *Facts) { f.WorkDir, f.WorkDirHere = "", false }, ""},
		{"no home", func(f *Facts) { f.HomeThere = false }, "HOME is /home/ann, which is no directory"},
		{"HOME unset", func(f *Facts) { f.Home, f.HomeThere = "", false }, "HOME is not set"},
		{"no directory", func(f *Facts) { f.WorkDirHere = false }, "there is no /work"},
		{"small shared memory", func(f *Facts) { f.Shm = 8 << 20 }, "8 MiB of /dev/shm: 4 ranks of MPICH need 21 MiB, of Open MPI 4600 KiB"},
		{"few processes", func(f *Facts) { f.Cgroup.Processes = 20 }, "20 processes and threads are allowed: golaunch and 4 ranks of MPI need some 28"},
		{"enough processes of one CPU", func(f *Facts) { f.Cgroup.Processes, f.Cgroup.CPUs = 20, 0.5 }, ""},
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
		"libraries  glibc 2.36; no MPICH or Open MPI in PATH", "limits     1024 open files, up to 1048576; unlimited processes",
		"cgroup     no limits; 8 GiB of /dev/shm", "16 ranks   1 GiB of memory and 0.25 CPUs each", "programs   sh",
	}, f.Lines("n001"))
	f.Cgroup, f.Shm = cgroups.Limits{Memory: 64 << 20, Processes: 24, CPUs: 0.5}, 64<<20
	require.Contains(t, f.Lines("n001"), "cgroup     64 MiB of memory, 24 processes and threads, the time of 0.5 CPUs; 64 MiB of /dev/shm")
	require.Contains(t, f.Lines("n001"), "16 ranks   4 MiB of memory and 0.031 CPUs each; /dev/shm holds 11 of MPICH, 16 of Open MPI; processes are too few: some 64 are needed")
	f.Home = "/nodes/n001/home"
	require.Equal(t, "account    ann, home /nodes/HOST/home", f.Lines("n001")[0])
	var empty Facts
	require.Contains(t, strings.Join(empty.Lines(""), "\n"), "agent      in nowhere")
}

func TestNetwork(t *testing.T) {
	at := func(host string, rank int, ways ...Way) Found { return Found{host, Facts{Rank: rank, Ways: ways}} }
	lines, problems := Network([]Found{at("a", 0)})
	require.Empty(t, lines)
	require.False(t, problems)

	lines, problems = Network([]Found{at("a", 1, Way{0, []string{"10.0.0.2"}, nil, ""}), at("b", 0, Way{Rank: 1}, Way{7, nil, []string{"10.0.0.9"}, ""})})
	require.Equal(t, []string{"network    2 of 2 ways from host to host that were tried are answered"}, lines, "one whose rank said nothing is no pair")
	require.False(t, problems)

	lines, problems = Network([]Found{at("a", 0, Way{Rank: 1, Lacks: "it has none"}), at("b", 1, Way{0, []string{"10.0.0.2"}, nil, ""})})
	require.Equal(t, []string{"network    1 of 2 ways from host to host that were tried are answered",
		"problem    a does not reach b: it has none: MPI between them cannot work"}, lines)
	require.True(t, problems)

	var all []Found
	for i := range 10 {
		all = append(all, at(fmt.Sprint("h", i), i, Way{(i + 1) % 10, nil, []string{"10.0.0.2", "10.0.0.3"}, ""}, Way{5, []string{"10.0.0.4"}, []string{"10.0.0.5"}, ""}))
	}
	all[3].WaysUnknown = "why"
	lines, problems = Network(all)
	require.True(t, problems)
	require.Len(t, lines, 1+8+1+1+1)
	require.Equal(t, "problem    h0 does not reach h1: no answer from 10.0.0.2, 10.0.0.3: MPI between them waits for ever", lines[1])
	require.Equal(t, "           and 2 more", lines[9])
	require.Contains(t, lines[10], "note       h5 answers at 10.0.0.4, and not at 10.0.0.5: ")
	require.Equal(t, "note       which hosts h3 reaches is not known: why", lines[11])
}

// Each host tries all of few others, and of many those at distances that are powers of two.
func TestWhichHostsAreTried(t *testing.T) {
	require.Empty(t, others(0, 1))
	require.Equal(t, []int{4, 0, 1, 2}, others(3, 5))
	require.Equal(t, []int{100, 0, 2, 6, 14, 30, 62}, others(99, 101))
}

// Ways of nothing to try are told apart: one machine needs no network, another has no address,
// or none but one's own.
func TestWaysWithoutAddresses(t *testing.T) {
	address := netip.MustParseAddr("127.0.0.1")
	own := end{"m", []netip.Addr{address}}
	require.Equal(t, Way{Rank: 1}, tryWay(t.Context(), 1, own, own))
	require.Equal(t, Way{Rank: 1}, tryWay(t.Context(), 1, end{"m", nil}, end{"m", nil}))
	require.Equal(t, "it has no address beyond the loopback interface", tryWay(t.Context(), 1, own, end{"n", nil}).Lacks)
	require.Equal(t, "both have the same addresses", tryWay(t.Context(), 1, own, end{"n", own.Addresses}).Lacks)
	require.Equal(t, Way{Rank: 1, Reached: []string{"127.0.0.1"}}, tryWay(t.Context(), 1, end{"m", nil}, end{"n", own.Addresses}))
}

// Hosts answer, however late the last rank has told of its own.
func TestLateRanks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := func(ctx context.Context, own end) (int, []end, error) {
			<-ctx.Done()
			return 0, []end{own, {"n", []netip.Addr{netip.MustParseAddr("127.0.0.1")}}}, nil
		}
		rank, ways, err := tryOthers(t.Context(), end{"m", nil}, late)
		require.NoError(t, err)
		require.Zero(t, rank)
		require.Equal(t, []Way{{Rank: 1, Reached: []string{"127.0.0.1"}}}, ways)
	})
}
