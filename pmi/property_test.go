package pmi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/job"
)

// requests of one rank, in both versions.
var requests = []string{
	initLine + "\n", init2 + "\n", frame("cmd=fullinit;"), "cmd=get_maxes\n", "cmd=get_appnum\n", "cmd=get_my_kvsname\n",
	put("a", "x;y") + "\n", put("PMI_x", "y") + "\n", get("a") + "\n", get("b") + "\n", frame(put2("a", "1;2")), frame(put2("b", "")),
	frame(get2("a")), frame(get2("PMI_process_mapping")), "cmd=barrier_in\n", frame(fence2), frame("cmd=job-getid;"),
	frame("cmd=info-putnodeattr;key=n;value=v;"), frame("cmd=info-getnodeattr;key=n;wait=FALSE;"), frame("cmd=info-getnodeattr;key=n;wait=TRUE;"),
	frame("cmd=ring;ring-count=1;ring-left=l;ring-right=r;"), spawn1, "cmd=publish_name service=s port=p\n", "cmd=lookup_name service=s\n",
	frame("cmd=name-unpublish;name=s;"), frame("cmd=name-lookup;name=s;"), "cmd=finalize\n", frame("cmd=finalize;"),
	"cmd=abort exitcode=3\n", frame("cmd=abort;isworld=FALSE;msg=m;"), "nonsense\n", frame("nonsense"), "cmd=frobnicate\n",
}

// Whatever one rank says, in either version, it does not matter how the bytes
// are cut.
func TestCutsDoNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		said := rapid.SampledFrom([]string{"", initLine + "\n", init2 + "\n" + frame("cmd=fullinit;pmirank=0;")}).Draw(rt, "start")
		for _, request := range rapid.SliceOfN(rapid.SampledFrom(requests), 0, 20).Draw(rt, "requests") {
			said += request
		}
		if rapid.Bool().Draw(rt, "cut short") {
			said = said[:rapid.IntRange(0, len(said)).Draw(rt, "length")]
		}
		whole, pieces := newWorld(t, 1, 1, nil), newWorld(t, 1, 1, nil)
		whole.send(0, said)
		for rest := said; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 60)).Draw(rt, "piece")
			pieces.send(0, rest[:n])
			rest = rest[n:]
		}
		whole.eof(0)
		pieces.eof(0)
		if got, want := pieces.take(0), whole.take(0); got != want {
			rt.Fatalf("in pieces %q, whole %q", got, want)
		}
		for _, w := range []*world{whole, pieces} {
			for i := range w.violations {
				w.violations[i].Line = "" // as much as had arrived
			}
		}
		if got, want := pieces.news(), whole.news(); got != want {
			rt.Fatalf("in pieces %q, whole %q", got, want)
		}
	})
}

// Ranks on several nodes that say the same things with different speed, and
// in different versions of the protocol, see the same.
func TestOrderOfRanksDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const size = 6
		nodes := rapid.SampledFrom([]int{1, 2, 3, 6}).Draw(rt, "nodes")
		rounds := rapid.IntRange(1, 4).Draw(rt, "rounds")
		second := rapid.SliceOfN(rapid.Bool(), size, size).Draw(rt, "PMI-2")
		said, want := make([]string, size), make([]string, size)
		ask := func(r int, one, two, answer, answer2 string) {
			if second[r] {
				said[r], want[r] = said[r]+frame(two), want[r]+frame(answer2)
			} else {
				said[r], want[r] = said[r]+one+"\n", want[r]+answer+"\n"
			}
		}
		for r := range size {
			said[r], want[r] = initLine+"\n", "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n"
			for round := range rounds {
				key, v := fmt.Sprintf("k%d", r), fmt.Sprintf("v;%d.%d", round, r)
				ask(r, put(key, v), put2(key, v), putOK, put2OK)
				ask(r, "cmd=barrier_in", fence2, "cmd=barrier_out", fence2OK)
				// The second fence keeps the next round's put away.
				peer := (r + size/2) % size
				key, v = fmt.Sprintf("k%d", peer), fmt.Sprintf("v;%d.%d", round, peer)
				ask(r, get(key), get2(key), value(v), value2(v))
				ask(r, "cmd=barrier_in", fence2, "cmd=barrier_out", fence2OK)
			}
		}
		w := newWorld(t, nodes, size/nodes, nil)
		got := make([]string, size)
		for left := size; left > 0; {
			r := rapid.IntRange(0, size-1).Draw(rt, "rank")
			n := min(len(said[r]), rapid.IntRange(1, 200).Draw(rt, "bytes"))
			if n == 0 {
				// This one has said all: let the first that has not go on.
				for r = 0; said[r] == ""; r++ {
				}
				n = len(said[r])
			}
			w.send(job.Rank(r), said[r][:n])
			if said[r] = said[r][n:]; said[r] == "" {
				left--
			}
			for i := range size {
				got[i] += w.replies[job.Rank(i)]
				delete(w.replies, job.Rank(i))
			}
		}
		if len(w.violations) > 0 {
			rt.Fatal(w.violations[0])
		}
		for r := range size {
			if got[r] != want[r] {
				rt.Fatalf("rank %d got %q, want %q", r, got[r], want[r])
			}
		}
	})
}

// Threads of ranks that ask for things in any order are each answered once, and
// a fence never before every rank has asked for as many.
func TestEveryThreadIsAnswered(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const size, fences = 4, 3
		nodes := rapid.SampledFrom([]int{1, 2, 4}).Draw(rt, "nodes")
		ppn := size / nodes
		w := newWorld(t, nodes, ppn, nil).start2()
		var said [size][]string
		for r := range size {
			for i := range fences {
				said[r] = append(said[r], fmt.Sprintf("cmd=kvs-fence;thrid=f%d;", i))
			}
			for peer := range ppn {
				said[r] = append(said[r], fmt.Sprintf("cmd=info-getnodeattr;key=k%d;wait=TRUE;thrid=a%d;", peer, peer))
			}
			said[r] = append(said[r], fmt.Sprintf("cmd=info-putnodeattr;key=k%d;value=v;thrid=p;", r%ppn), "cmd=job-getid;thrid=j;")
			said[r] = rapid.Permutation(said[r]).Draw(rt, "order")
		}
		var asked, done [size]int // fences
		var answered [size]map[string]bool
		for left := size; left > 0; {
			r := rapid.IntRange(0, size-1).Draw(rt, "rank")
			for len(said[r]) == 0 {
				r = (r + 1) % size
			}
			n := rapid.IntRange(1, len(said[r])).Draw(rt, "requests")
			var data string
			for _, text := range said[r][:n] {
				data += frame(text)
				if strings.Contains(text, "fence") {
					asked[r]++
				}
			}
			if said[r] = said[r][n:]; len(said[r]) == 0 {
				left--
			}
			w.send(job.Rank(r), data)
			for i := range size {
				for _, reply := range split(t, w.take(job.Rank(i))) {
					_, thrid, _ := strings.Cut(reply, "thrid=")
					thrid, _, _ = strings.Cut(thrid, ";")
					if answered[i] == nil {
						answered[i] = map[string]bool{}
					}
					if answered[i][thrid] {
						rt.Fatalf("rank %d: second answer to %s", i, thrid)
					}
					answered[i][thrid] = true
					if thrid[0] == 'f' {
						done[i]++
					}
				}
				if complete := slices.Min(asked[:]); done[i] != complete {
					rt.Fatalf("rank %d left %d fences, %d are complete", i, done[i], complete)
				}
			}
		}
		for r := range size {
			if want := fences + ppn + 2; len(answered[r]) != want {
				rt.Fatalf("rank %d: %d answers, want %d", r, len(answered[r]), want)
			}
		}
	})
}
