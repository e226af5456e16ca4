package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Worlds of Open MPI that find each other: spawned, several deep, of several commands
// with keys, by a name, over nodes and on one.
func TestPMIxWorlds(t *testing.T) {
	c := theCluster(t)
	eachPMIx(t, func(t *testing.T, m pmixMPI) {
		for name, x := range map[string]struct {
			ranks string
			args  []string
			want  []string
		}{
			"spawned":  {"4", []string{"spawn", "6"}, []string{"4 and 6 ranks: sum 55 ok"}},
			"nested":   {"2", []string{"spawn", "3", "3"}, []string{"2 and 3 ranks: sum 15 ok", "3 and 3 ranks: sum 21 ok", "3 and 3 ranks: sum 21 ok"}},
			"halves":   {"8", []string{"halves"}, []string{"4 and 4 ranks: sum 36 ok"}},
			"by names": {"3", []string{"names"}, []string{"3 and 2 ranks: sum 15 ok", "3 and 2 ranks: sum 15 ok"}},
			"several commands": {"2", []string{"several", "n003", "/usr"}, []string{
				"1 and 3 ranks: sum 10 ok", "spawned rank 0 of command 0 on n003 in /",
			}},
			"an added host": {"2", []string{"add", "n004", "2"}, []string{
				"1 and 2 ranks: sum 6 ok", "spawned rank 0 of command 0 on n004 in /", "spawned rank 1 of command 0 on n004 in /",
			}},
		} {
			t.Run(name, func(t *testing.T) {
				r := over(t, c, 4, m.argv([]string{"-n", x.ranks, "--degree", "2", "--wdir", "/"}, "mpiworlds", x.args...)...)
				require.Zero(t, r.code, r.stderr)
				require.Empty(t, r.stderr)
				if name != "several commands" {
					require.ElementsMatch(t, x.want, r.lines())
					return
				}
				require.Subset(t, r.lines(), x.want)
				require.Regexp(t, `(?m)^spawned rank 1 of command 1 on n00\d in /usr$`, r.stdout)
				require.Regexp(t, `(?m)^spawned rank 2 of command 1 on n00\d in /usr$`, r.stdout)
			})
		}
		nothingOfPMIxLeft(t, c, firstNodes(c, 4)...)
	})
}

// MPI's name service, which all worlds of a job share.
func TestPMIxNames(t *testing.T) {
	c := theCluster(t)
	eachPMIx(t, func(t *testing.T, m pmixMPI) {
		r := over(t, c, 4, m.argv([]string{"-n", "8", "-N", "2"}, "mpinames")...)
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, "8 ranks found the port\n", r.stdout)
		nothingOfPMIxLeft(t, c, firstNodes(c, 4)...)
	})
}

// A spawn that cannot be is answered and explained, and the job goes on. Of several ranks
// that spawn together Open MPI 4 tells the first alone, and the others wait for ever.
func TestPMIxSpawnThatIsRefused(t *testing.T) {
	eachPMIx(t, func(t *testing.T, m pmixMPI) {
		ways := map[string][]string{"together": {"refused", "/no/such", "2"}, "alone": {"alone", "/no/such"}}
		if m.suffix == ".openmpi" {
			delete(ways, "together")
		}
		for name, args := range ways {
			t.Run(name, func(t *testing.T) {
				r := local(t, "", m.argv([]string{"-n", "2", "--nodes", "2"}, "mpispawn", args...)...)
				require.Zero(t, r.code, r.stderr)
				require.Contains(t, r.stdout, "rank 0: refused\n")
				require.Contains(t, r.stderr, "golaunch: spawn by rank 0 on ")
				require.Contains(t, r.stderr, "program not found: /no/such")
			})
		}
	})
}

// Worlds that have parted end each for themselves; those that have not, together.
func TestPMIxWorldsPart(t *testing.T) {
	c := theCluster(t)
	eachPMIx(t, func(t *testing.T, m pmixMPI) {
		for name, x := range map[string]struct {
			program string
			args    []string
			code    int
			stdout  string
			message string
		}{
			"the spawned one ends badly":  {"mpispawn", []string{"parts"}, 3, "goes on\n", `rank 1\.0 on n00\d \(pid \d+\) exited with code 3, after finalize`},
			"the spawning one ends badly": {"mpispawn", []string{"leaves"}, 3, "goes on\n", `rank 0 on n00\d \(pid \d+\) exited with code 3, after finalize`},
			"while still connected":       {"mpiworlds", []string{"fails", "5"}, 5, "", `rank 1\.0 on n00\d \(pid \d+\) exited with code 5`},
		} {
			t.Run(name, func(t *testing.T) {
				r := over(t, c, 1, m.argv([]string{"-n", "1"}, x.program, x.args...)...)
				require.Equal(t, x.code, r.code, r.stderr)
				if x.stdout != "" { // else a rank may or may not have said something
					require.Equal(t, x.stdout, r.stdout)
				}
				require.Regexp(t, `(?m)^golaunch: `+x.message+`$`, r.stderr)
			})
		}
		nothingOfPMIxLeft(t, c, firstNodes(c, 2)...)
	})
}
