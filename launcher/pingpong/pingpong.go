// Package pingpong measures the times of messages between hosts: the program that
// golaunch topo measure runs on each of them, as ranks of a job. Pair by pair, two
// ranks send each other bytes over TCP while all others wait. They find each other over
// the tree of the job.
package pingpong

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/client"
	"github.com/golaunch/golaunch/network/topology/measure"
)

// Word is the first argument that makes golaunch's own executable such a rank.
const Word = "nla-pingpong"

// pair is two ranks that measure, and the names of their hosts.
type pair struct {
	ranks [2]int
	hosts [2]string
}

// Args are the words that follow the executable's name, for pairs of ranks. Hosts are
// the names of the ranks' hosts, for messages.
func Args(pairs [][2]int, hosts []string) []string {
	words := []string{Word}
	for _, p := range pairs {
		words = append(words, fmt.Sprintf("%d-%d", p[0], p[1]), hosts[p[0]], hosts[p[1]])
	}
	return words
}

// parsePairs reads the words of Args.
func parsePairs(words []string, ranks int) ([]pair, error) {
	var pairs []pair
	for each := range slices.Chunk(words, 3) {
		a, b, _ := strings.Cut(each[0], "-")
		if len(each) < 3 {
			return nil, fmt.Errorf("pair %q: expected the names of two hosts behind it", each[0])
		}
		p := pair{hosts: [2]string(each[1:])}
		for i, number := range []string{a, b} {
			n, err := strconv.Atoi(number)
			if err != nil || n < 0 || n >= ranks {
				return nil, fmt.Errorf("pair %q: expected two ranks below %d", each[0], ranks)
			}
			p.ranks[i] = n
		}
		if p.ranks[0] == p.ranks[1] {
			return nil, fmt.Errorf("pair %q: expected two different ranks", each[0])
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// Main is such a rank; words are the arguments after Word. It returns the exit
// status.
func Main(words []string) int {
	err := errors.New("it runs only as a rank of golaunch topo measure")
	if len(words) > 0 {
		err = run(context.Background(), words, os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "golaunch: topo: measure:", err)
		return 1
	}
	return 0
}

// run measures the pairs that this rank is in, and prints a line of JSON on w for each
// sample: From and To are ranks in decimal.
func run(ctx context.Context, words []string, w io.Writer) error {
	job, err := client.Open(ctx)
	if err != nil {
		return err
	}
	defer job.Close()
	pairs, err := parsePairs(words, job.Size())
	if err != nil {
		return err
	}
	world := job.World()
	out := json.NewEncoder(w)
	for i, p := range pairs {
		switch job.Rank() {
		case p.ranks[0]:
			var samples []measure.Sample
			if samples, err = lead(ctx, world, i, p.ranks[1]); err == nil {
				for _, s := range samples {
					s.From, s.To = strconv.Itoa(p.ranks[0]), strconv.Itoa(p.ranks[1])
					if err = out.Encode(s); err != nil {
						return err
					}
				}
			}
		case p.ranks[1]:
			err = follow(ctx, world, i, p.ranks[0], p.hosts)
		}
		if err != nil {
			return fmt.Errorf("%s and %s: %w", p.hosts[0], p.hosts[1], err)
		}
		if err := world.Barrier(ctx); err != nil {
			return err
		}
	}
	return nil
}
