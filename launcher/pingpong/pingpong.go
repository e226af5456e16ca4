// Package pingpong measures how long messages take between hosts: the program that
// golaunch topo measure runs on each of them, as ranks of a job. Pair by pair, two
// ranks send each other bytes over TCP while all others wait. They find each other
// over the tree of the job.
package pingpong

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/client"
	"github.com/golaunch/golaunch/topology/measure"
)

// Word is the first argument that makes golaunch's own executable such a rank.
const Word = "nla-pingpong"

// Args are the words that follow the executable's name, for pairs of ranks.
func Args(pairs [][2]int) []string {
	var b strings.Builder
	for i, p := range pairs {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%d-%d", p[0], p[1])
	}
	return []string{Word, b.String()}
}

// parsePairs reads what Args wrote.
func parsePairs(text string, ranks int) ([][2]int, error) {
	var pairs [][2]int
	for word := range strings.SplitSeq(text, ",") {
		a, b, _ := strings.Cut(word, "-")
		var p [2]int
		for i, number := range []string{a, b} {
			n, err := strconv.Atoi(number)
			if err != nil || n < 0 || n >= ranks {
				return nil, fmt.Errorf("pair %q: expected two ranks below %d", word, ranks)
			}
			p[i] = n
		}
		if p[0] == p[1] {
			return nil, fmt.Errorf("pair %q: expected two different ranks", word)
		}
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// Main is such a rank; words are the arguments after Word. It returns the exit
// status.
func Main(words []string) int {
	err := errors.New("it runs only as a rank of golaunch topo measure")
	if len(words) == 1 {
		err = run(words[0], os.Stdout)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "golaunch: topo: measure:", err)
		return 1
	}
	return 0
}

// run measures the pairs that this rank is in, and prints what it found on w, a line
// of JSON for each sample: From and To are ranks in decimal.
func run(text string, w io.Writer) error {
	job, err := client.Open()
	if err != nil {
		return err
	}
	defer job.Close()
	pairs, err := parsePairs(text, job.Size())
	if err != nil {
		return err
	}
	world := job.World()
	out := json.NewEncoder(w)
	for i, p := range pairs {
		switch job.Rank() {
		case p[0]:
			var samples []measure.Sample
			if samples, err = lead(world, i, p[1]); err == nil {
				for _, s := range samples {
					s.From, s.To = strconv.Itoa(p[0]), strconv.Itoa(p[1])
					if err = out.Encode(s); err != nil {
						return err
					}
				}
			}
		case p[1]:
			err = follow(world, i, p[0])
		}
		if err != nil {
			return fmt.Errorf("rank %d and rank %d: %w", p[0], p[1], err)
		}
		if err := world.Barrier(); err != nil {
			return err
		}
	}
	return nil
}
