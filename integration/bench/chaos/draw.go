package chaos

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/integration/cluster"
)

// lostAfter is every job's --lost-after, connectTimeout its --connect-timeout.
const (
	lostAfter      = 2 * time.Second
	connectTimeout = 4 * time.Second
)

// place has the cluster of jobs, and their programs.
type place struct {
	cluster   *cluster.Cluster
	nodes     []string
	sshConfig string
	golaunch  string
	race      string  // golaunch with the race detector; "" for none
	native    string  // directory of the programs of native/
	dir       string  // for files of jobs; the nodes see it
	kinds     []*kind // to draw from, each as often as its weight says
	faults    []*fault
	lacks     []string // things that this machine cannot have
}

// drawn is one job as it was drawn: all that is random in it.
type drawn struct {
	number  int
	hosts   []string // of --hosts
	argv    []string // golaunch's command line
	kind    string
	helped  bool // a PMIx helper serves its ranks
	program program
	race    bool
	blows   []blow
}

// String returns a job as the report shows it.
func (d drawn) String() string {
	words := []string{fmt.Sprintf("job %d:", d.number)}
	for _, b := range d.blows {
		words = append(words, fmt.Sprintf("[%v]", b))
	}
	return strings.Join(append(words, d.argv...), " ")
}

// draw makes the job of a number: the same one for the same seed and place.
func (p place) draw(seed uint64, number int) drawn {
	r := rand.New(rand.NewPCG(seed, uint64(number)))
	d := drawn{number: number, race: r.IntN(2) == 0 && p.race != ""}
	k := pick(r, p.kinds)
	d.kind, d.helped = k.name, k.helped
	hosts, perHost := len(p.nodes), 1+r.IntN(3)
	if k.large {
		hosts, perHost = min(hosts, mostLarge), min(perHost, 2)
	}
	for _, i := range r.Perm(len(p.nodes))[:1+r.IntN(hosts)] {
		d.hosts = append(d.hosts, p.nodes[i])
	}
	ranks := perHost * len(d.hosts)
	if r.IntN(2) == 0 {
		ranks = 1 + r.IntN(ranks)
	}
	d.program = drawProgram(r, k.programs(deck{p.native, strconv.Itoa(r.IntN(ranks))}))
	ranks = max(ranks, d.program.least)
	d.argv = slices.Concat([]string{p.golaunch}, p.flags(r, d.hosts, perHost+1, k, d.program), d.program.flags,
		[]string{"-n", strconv.Itoa(ranks)}, d.program.argv)
	if d.race {
		d.argv[0] = p.race
	}
	for range pick(r, []int{0, 1, 1, 1, 2, 2}) {
		if b, some := p.drawBlow(r, d); some {
			d.blows = append(d.blows, b)
		}
	}
	return d
}

// mostLarge bounds the hosts of a job of large programs.
const mostLarge = 4

// drawProgram draws one that is endless as often as not, where there is one: most blows
// want time.
func drawProgram(r *rand.Rand, list []program) program {
	endless := slices.Clone(list)
	endless = slices.DeleteFunc(endless, func(p program) bool { return !p.endless })
	if len(endless) > 0 && r.IntN(2) == 0 {
		return pick(r, endless)
	}
	return pick(r, list)
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// flags draws those that change the course of a job, and not its outcome.
func (p place) flags(r *rand.Rand, hosts []string, slots int, k *kind, run program) []string {
	list := make([]string, len(hosts))
	for i, h := range hosts {
		list[i] = fmt.Sprintf("%s:%d", h, slots)
	}
	f := []string{"-H", strings.Join(list, ","), "--ssh-config", p.sshConfig, "--oversubscribe",
		"--lost-after", lostAfter.String(), "--connect-timeout", connectTimeout.String()}
	sometimes := func(percent int, words ...string) {
		if r.IntN(100) < percent {
			f = append(f, words...)
		}
	}
	sometimes(70, "--degree", strconv.Itoa(1+r.IntN(8)))
	policies := cache.Policies()
	if r.IntN(100) < 20 {
		f = append(f, "--bootstrap", "exec", "--exec-command", "ssh -F "+p.sshConfig+" {host} {command}")
		policies = slices.DeleteFunc(policies, cache.Policy.UsesHomes) // relays hold no keys
	}
	if run.policy != "" {
		policies = []cache.Policy{cache.Policy(run.policy)}
	}
	sometimes(70, "--cache", string(pick(r, policies)))
	sometimes(20, "--cache-bytes", "16K")
	sometimes(30, "--copy-agent")
	sometimes(10, "--stage", filepath.Join(p.native, "pmiclient"))
	if k.alone && filepath.IsAbs(run.argv[0]) && run.code != 127 && !slices.Contains(f, run.argv[0]) {
		sometimes(25, "--stage", run.argv[0])
	}
	sometimes(30, "--allow-dead-nodes")
	sometimes(20, "--prelaunch")
	sometimes(30, "--grace", "500ms")
	if r.IntN(100) < 12 {
		f = append(f, "--pty")
	} else {
		sometimes(20, "--label")
		sometimes(30, "--restarts", strconv.Itoa(1+r.IntN(2)))
	}
	if !run.inherits {
		sometimes(15, "--pmi-port")
	}
	sometimes(20, "--stats")
	sometimes(20, "--report", filepath.Join(p.dir, "report.json"))
	sometimes(20, "--trace", filepath.Join(p.dir, "trace.json"))
	if len(hosts) > 1 {
		often := 20
		if slices.Contains(f, "--restarts") {
			often = 70
		}
		sometimes(often, "--spares", "1")
	}
	if k.counts {
		quantity := pick(r, []string{"volume", "time"})
		sometimes(40, "--profile", p.profile(), "--profile-what", quantity)
	}
	return f
}
