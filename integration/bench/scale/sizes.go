package scale

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/bootstrap"
	sshboot "github.com/golaunch/golaunch/internal/bootstrap/ssh"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/stage"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/tree"
)

// frameBytes is the longest frame of the streams that carry long messages.
const frameBytes = link.MaxFrame

// sizes knows the lengths of a job's messages: those of package overlay's encodings for
// a job like this one, to the byte.
type sizes struct {
	common  overlay.Common
	entries []int // sums: entries[i] is that of the hosts before i
	infos   []int
	base    int // of a range, without hosts and without the agent's own entry
	launch  int
}

// host returns host i as its starter is told of it.
func host(i int) overlay.HostEntry {
	return overlay.HostEntry{Index: job.HostIndex(i), Name: nameOf(i), Addr: addrOf(i), Access: &overlay.Access{Data: packed(target(i))}}
}

// target describes host i to ssh.
func target(i int) sshboot.Target {
	return sshboot.Target{Name: nameOf(i), HostName: nameOf(i), Addr: addrOf(i), Port: 22, User: "user", HostKeys: [][]byte{make([]byte, 51)}}
}

// packed encodes a message of the bootstrap to its agents.
func packed(v any) []byte {
	b, err := bootstrap.Pack(v)
	if err != nil {
		panic(err) // a value of this file is wrong
	}
	return b
}

func addrOf(i int) string { return fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255) }

func nameOf(i int) string { return fmt.Sprintf("n%05d", i) }

func info(i int) overlay.NodeInfo {
	return overlay.NodeInfo{Index: job.HostIndex(i), HostName: nameOf(i), Addr: host(i).Addr, Cores: 64}
}

// newSizes makes the messages of a job.
func newSizes(nodes, ranks int) (*sizes, error) {
	s := &sizes{entries: []int{0}, infos: []int{0}}
	s.common = overlay.Common{
		JobID: strings.Repeat("0", 32), Bootstrap: sshboot.Kind().Name,
		Setup: packed(sshboot.Setup{Keys: []sshboot.PublicKey{{Blob: make([]byte, 51), Name: "/home/user/.ssh/id_ed25519"}}}),
		Agent: stage.Installed{Path: "/usr/local/bin/golaunch", Size: 9 << 20, MTime: 1 << 30},
	}
	for i := range nodes {
		s.entries = append(s.entries, s.entries[i]+len(overlay.Encode(host(i))))
		s.infos = append(s.infos, s.infos[i]+len(overlay.Encode(info(i))))
	}
	launch, err := launchOf(nodes, ranks)
	if err != nil {
		return nil, err
	}
	s.launch = len(overlay.Encode(launch))
	return s, nil
}

// under returns s for a tree of some degree.
func (s *sizes) under(degree int) *sizes {
	z, self := *s, host(0)
	z.common.Degree = degree
	z.base = len(overlay.Encode(overlay.Range{Self: self, Hosts: []overlay.HostEntry{}, Common: z.common})) - 1 - len(overlay.Encode(self))
	return &z
}

// launchOf returns the launch message of a job, by the launcher's own plan.
func launchOf(nodes, ranks int) (*overlay.Launch, error) {
	o := launcher.DefaultOptions()
	o.Programs.Dir, o.Placement.PPN = "/home/user", ranks
	o.Programs.Apps = []job.App{{Argv: []string{"./app"}, N: nodes * ranks}}
	for i := range nodes {
		o.Hosts.List = append(o.Hosts.List, job.Host{Name: nameOf(i)})
	}
	p, err := launcher.NewPlan(&o, "login")
	if err != nil {
		return nil, err
	}
	l := &overlay.Launch{
		World:   overlay.World{KVSName: "kvs_0123456789abcdef_0", Size: p.Size, Apps: p.Apps, Blocks: p.Blocks, Mapping: p.ProcessMapping()},
		Env:     slices.Repeat([]string{strings.Repeat("X", 60)}, 30),
		Rlimits: make([]unix.Rlimit, 16), LaunchOptions: overlay.LaunchOptions{Cache: cache.HCMAB},
	}
	for i := range nodes {
		l.Nodes = append(l.Nodes, job.HostIndex(i))
	}
	return l, nil
}

// rangeBytes returns the length of a Range for an agent on host self with count hosts
// from first on.
func (s *sizes) rangeBytes(self, first, count int) int {
	return framed(s.base + s.entries[self+1] - s.entries[self] + head(count) + s.entries[first+count] - s.entries[first])
}

// readyBytes returns the length of a Ready of count live nodes from first on.
func (s *sizes) readyBytes(first, count int) int {
	return framed(len(overlay.Encode(overlay.Ready{Live: []overlay.NodeInfo{}})) - 1 + head(count) + s.infos[first+count] - s.infos[first])
}

// launchBytes returns the length of the launch message.
func (s *sizes) launchBytes() int { return framed(s.launch) }

// hostProof is as long as that of a host with an ed25519 key.
var hostProof = bootstrap.Proof{HostKey: make([]byte, 51), Signature: make([]byte, 83)}

// The messages that are always alike.
var (
	helloBytes   = framed(len(overlay.Encode(overlay.Hello{Protocol: overlay.Protocol, OSArch: "linux/amd64", Cores: 64, HostName: nameOf(1), Addr: host(1).Addr})))
	signBytes    = framed(len(overlay.Encode(overlay.SignRequest{ID: 100, By: 1000, Request: bootstrap.SignRequest{From: 1000, Host: 1000, Data: make([]byte, 200), Proof: hostProof}})))
	signedBytes  = framed(len(overlay.Encode(overlay.SignAnswer{ID: 100, Signature: make([]byte, 83)})))
	startedBytes = framed(len(overlay.Encode(overlay.Started{})))
	doneBytes    = framed(len(overlay.Encode(overlay.Done{Ranks: 1 << 20})))
)

// framed adds the headers that a message of n bytes travels with.
func framed(n int) int {
	const payload = frameBytes - tree.HeaderSize
	return n + max(1, (n+payload-1)/payload)*tree.HeaderSize
}

// head returns the length of CBOR's head of an array of n.
func head(n int) int {
	switch {
	case n < 24:
		return 1
	case n < 1<<8:
		return 2
	case n < 1<<16:
		return 3
	}
	return 5
}
