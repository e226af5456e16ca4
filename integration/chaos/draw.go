package main

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

// place is where jobs run, and with what.
type place struct {
	cluster   *cluster.Cluster
	nodes     []string
	sshConfig string
	golaunch  string
	race      string // golaunch with the race detector; "" for none
	native    string // directory of the programs of native/
	dir       string // for files of jobs; the nodes see it
}

// drawn is one job as it was drawn: all that is random in it.
type drawn struct {
	number  int
	hosts   []string // of --hosts
	argv    []string // golaunch's command line
	program program
	race    bool
	blows   []blow
}

// String is a job as the report shows it.
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
	for _, i := range r.Perm(len(p.nodes))[:1+r.IntN(len(p.nodes))] {
		d.hosts = append(d.hosts, p.nodes[i])
	}
	perHost := 1 + r.IntN(3)
	ranks := perHost * len(d.hosts)
	if r.IntN(2) == 0 {
		ranks = 1 + r.IntN(ranks)
	}
	d.program = pick(r, p.programs(r, ranks))
	d.argv = slices.Concat([]string{p.golaunch}, p.flags(r, d.hosts, perHost+1, d.program), d.program.flags,
		[]string{"-n", strconv.Itoa(ranks)}, d.program.argv)
	if d.race {
		d.argv[0] = p.race
	}
	for range pick(r, []int{0, 1, 1, 1, 2, 2}) {
		d.blows = append(d.blows, drawBlow(r, d.hosts))
	}
	return d
}

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// flags draws those that change how a job is carried out, and not what comes of
// it.
func (p place) flags(r *rand.Rand, hosts []string, slots int, run program) []string {
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
	sometimes(20, "--stage", filepath.Join(p.native, "pmiclient"))
	sometimes(30, "--allow-dead-nodes")
	sometimes(20, "--prelaunch")
	sometimes(30, "--grace", "500ms")
	sometimes(20, "--label")
	if !run.inherits {
		sometimes(15, "--pmi-port")
	}
	sometimes(20, "--stats")
	sometimes(20, "--report", filepath.Join(p.dir, "report.json"))
	sometimes(20, "--trace", filepath.Join(p.dir, "trace.json"))
	if len(hosts) > 1 {
		sometimes(20, "--spares", "1")
	}
	return f
}

// program is what the ranks of a job run, and what comes of it undisturbed.
type program struct {
	argv     []string
	flags    []string // that it needs
	policy   string   // the only one, and the default, that will do; "" for any
	code     int
	inherits bool // it knows no other way to PMI
	endless  bool // it prints a line per rank, and is ended by SIGTERM
}

// programs are those to choose from for a number of ranks.
func (p place) programs(r *rand.Rand, ranks int) []program {
	at := func(name string, words ...string) []string {
		return append([]string{filepath.Join(p.native, name)}, words...)
	}
	one := strconv.Itoa(r.IntN(ranks))
	endless := []program{
		{argv: at("rankprobe", "sleep"), endless: true},
		{argv: at("rankprobe", "stubborn"), endless: true},
		{argv: at("rankprobe", "flood", "0"), endless: true},
	}
	list := []program{
		{argv: []string{"hostname"}},
		{argv: at("rankprobe", "lines", "2000", one, "3000")},
		{argv: at("rankprobe", "leave")},
		{argv: at("rankprobe", "-r", one, "exit", "7"), code: 7},
		{argv: at("rankprobe", "-r", one, "signal", "11"), code: 139},
		{argv: at("pmiclient", "-q", "-n", "50")},
		{argv: at("pmiclient", "-q", "-m", "all", "-p", "3", "-l", "600")},
		{argv: at("pmiclient", "-x", "abort:5", "-r", one), code: 5},
		{argv: at("pmiclient", "-x", "nofinalize", "-r", one), code: 1},
		{argv: at("pmi2client", "-n", "5"), inherits: true},
		{argv: at("treetour", "2000"), policy: "hcmab"}, // with keys on every node
		{argv: at("treesplit", "3"), policy: "hcmab"},
		{argv: at("pmgrclient", "-n", "20"), flags: []string{"--pmgr"}},
		{argv: at("spawnclient", "-w", "2", "--", filepath.Join(p.native, "spawnclient"), "child")},
		{argv: []string{"/no/such/program"}, code: 127},
	}
	return slices.Concat(endless, endless, endless, endless, list) // most blows want time
}
