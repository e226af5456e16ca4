package launcher

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
)

// fold keeps the ranks' standard output until all have ended, and shows equal output of
// several once, with their ranks and hosts, as dshbak -c does (--fold). The bytes are
// in a temporary file, so its size is that of the output; in memory are places.
type fold struct {
	to    io.Writer
	file  *os.File
	size  int64
	ranks map[job.RankID]*folded
	names map[job.HostIndex]string
}

// folded is the output of one rank.
type folded struct {
	host   job.HostIndex
	sum    hash.Hash
	pieces []piece
	last   byte
}

// piece is a run of bytes in the file.
type piece struct{ at, length int64 }

func newFold(to io.Writer) (*fold, error) {
	file, err := os.CreateTemp("", "golaunch-fold-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, err
	}
	return &fold{to: to, file: file, ranks: map[job.RankID]*folded{}, names: map[job.HostIndex]string{}}, nil
}

// add takes the next bytes of a rank on a host.
func (f *fold) add(r job.RankID, host job.HostIndex, name string, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if _, err := f.file.Write(data); err != nil {
		return fmt.Errorf("--fold keeps it in a temporary file (TMPDIR says where): %w", err)
	}
	one := f.ranks[r]
	if one == nil {
		one = &folded{host: host, sum: sha256.New()}
		f.ranks[r] = one
		f.names[host] = name
	}
	_, _ = one.sum.Write(data) // never fails
	one.last = data[len(data)-1]
	length := int64(len(data))
	if n := len(one.pieces); n > 0 && one.pieces[n-1].at+one.pieces[n-1].length == f.size {
		one.pieces[n-1].length += length
	} else {
		one.pieces = append(one.pieces, piece{f.size, length})
	}
	f.size += length
	return nil
}

// show writes all of it, in the order of the lowest rank of each text, and forgets it,
// also where it cannot be written.
func (f *fold) show() error {
	defer func() { f.ranks = map[job.RankID]*folded{} }()
	alike := map[string][]job.RankID{}
	for r, one := range f.ranks {
		sum := string(one.sum.Sum(nil))
		alike[sum] = append(alike[sum], r)
	}
	var groups [][]job.RankID
	for _, ranks := range alike {
		slices.SortFunc(ranks, inOrder)
		groups = append(groups, ranks)
	}
	slices.SortFunc(groups, func(x, y []job.RankID) int { return inOrder(x[0], y[0]) })
	w := bufio.NewWriter(f.to)
	for _, ranks := range groups {
		line := strings.Repeat("-", 16)
		fmt.Fprintf(w, "%s\n%s\n%s\n", line, f.ownersText(ranks), line)
		one := f.ranks[ranks[0]]
		for _, p := range one.pieces {
			if _, err := io.Copy(w, io.NewSectionReader(f.file, p.at, p.length)); err != nil {
				return err
			}
		}
		if one.last != '\n' {
			fmt.Fprintln(w)
		}
	}
	return w.Flush()
}

func inOrder(x, y job.RankID) int {
	return cmp.Or(cmp.Compare(x.World, y.World), cmp.Compare(x.Rank, y.Rank))
}

// ownersText returns the label of equal output: ranks in order, and their hosts.
func (f *fold) ownersText(ranks []job.RankID) string {
	var hosts []job.HostIndex
	var numbers []string
	for i := 0; i < len(ranks); {
		end := i + 1
		for end < len(ranks) && ranks[end].World == ranks[i].World && int(ranks[end].Rank-ranks[i].Rank) == end-i {
			end++
		}
		number := ranks[i].String()
		if end > i+1 {
			number = fmt.Sprintf("%v-%d", ranks[i], ranks[end-1].Rank)
		}
		numbers = append(numbers, number)
		i = end
	}
	for _, r := range ranks {
		hosts = append(hosts, f.ranks[r].host)
	}
	slices.Sort(hosts)
	var named []job.Host
	for _, h := range slices.Compact(hosts) {
		named = append(named, job.Host{Name: f.names[h]})
	}
	word := "ranks"
	if len(ranks) == 1 {
		word = "rank"
	}
	return fmt.Sprintf("%s %s on %s", word, strings.Join(numbers, ","), hostlist.Fold(named))
}

// close lets go of the file.
func (f *fold) close() { f.file.Close() }
