package placement

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/network/placement/rankfile"
)

// wishOf is that of a rank file.
func wishOf(t *testing.T, text string) Wish {
	file, err := rankfile.Parse(strings.NewReader(text), "ranks")
	require.NoError(t, err)
	return Wish{Rule: File, RankFile: file}
}

// Errors of a rank file for a job name its line.
func TestWrongRankFile(t *testing.T) {
	for _, c := range []struct {
		text string
		in   *Input
		want string
	}{
		{"0 h0\n1 far", inputOf(t, "", 2, 0, 0), "ranks:2: host far is not one of the job's; name it in -H or -f"},
		{"0 h0\n1 +n2", inputOf(t, "", 2, 0, 0), "ranks:2: +n2: the job has 2 hosts, +n0 to +n1"},
		{"0 h0\n\n1-2 h1", inputOf(t, "", 2, 0, 0), "--map-by: ranks:3: rank 2: the job has ranks 0 to 1"},
		{"0 h0\n1 h1", inputOf(t, "", 3, 0, 0), "--map-by: ranks: rank 2 has no line: the job has 3 ranks"},
		{"0 h0\n3 h0\n1-2 h1\n", inputOf(t, "", 4, 1, 2), "--map-by: ranks:2: rank 3 is one more than the 1 slot of host h0; give it more slots (host:N), or --oversubscribe"},
	} {
		var hosts []job.Host
		for _, h := range c.in.Hosts {
			hosts = append(hosts, h.Host)
		}
		w := wishOf(t, c.text)
		found, err := w.At(hosts)
		if err == nil {
			_, err = found.Place(c.in)
		}
		require.EqualError(t, err, c.want)
	}
	in := inputOf(t, "", 4, 1, 2)
	in.Oversubscribe = true
	got, _ := placed(t, wishOf(t, "0 h0\n3 h0\n1-2 h1\n"), in)
	require.Equal(t, []int{0, 1, 1, 0}, got)

	in.PPN = 1
	found, err := (&Wish{Rule: Seq}).At([]job.Host{{Name: "h0"}})
	require.NoError(t, err)
	_, err = found.Place(in)
	require.EqualError(t, err, "--map-by: each rank has its host already; leave --ppn out")
	in.PPN = 0
	_, err = found.Place(in)
	require.EqualError(t, err, "--map-by: the list of hosts ends after rank 0: the job has 4 ranks; name more, a host as often as it is to hold ranks")
}

// Without -n a list says how many ranks there are.
func TestOpenNumberOfList(t *testing.T) {
	in := inputOf(t, "", 0, 0, 0)
	in.Apps = nil
	got, _ := placed(t, wishOf(t, "0-2 h1\n3 h0"), in)
	require.Equal(t, []int{1, 1, 1, 0}, got)
}

// Hosts of a list that are dead have others in their place: one that nobody has
// listed, or what is free.
func TestDeadHostsOfList(t *testing.T) {
	all := inputOf(t, "", 6, 3, 3, 3, 3)
	var hosts []job.Host
	for _, h := range all.Hosts {
		hosts = append(hosts, h.Host)
	}
	w := wishOf(t, "0,3 h0\n1,4 h1\n2,5 h2\n")
	found, err := w.At(hosts)
	require.NoError(t, err)
	for _, c := range []struct {
		live []int
		want []int // positions in live; nil if there is no place
	}{
		{[]int{0, 1, 2, 3}, []int{0, 1, 2, 0, 1, 2}},
		{[]int{0, 3, 2}, []int{0, 1, 2, 0, 1, 2}},
		{[]int{0, 2}, []int{0, 0, 1, 0, 1, 1}},
		{[]int{3}, nil},
	} {
		in := *all
		in.Hosts = nil
		for _, i := range c.live {
			in.Hosts = append(in.Hosts, all.Hosts[i])
		}
		p, err := found.Place(&in)
		if c.want == nil {
			require.EqualError(t, err, "--map-by: ranks lists hosts that are not there: not enough free slots: 4 ranks, 1 free slot on 1 host; give more slots (host:N) or hosts, or --oversubscribe")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, c.want, in.expand(p.Blocks))
	}
}
