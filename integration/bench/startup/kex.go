package startup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
)

// kexNames are the launchers that start jobs over each key exchange.
var kexNames = []string{golaunchName, hydraName}

// kexTasks returns those jobs.
func (s settings) kexTasks() []task {
	few, many := task{s.most(16), min(4, s.pmiRanks()), trueProgram}, task{s.most(full), s.pmiRanks(), trueProgram}
	if few.nodes == many.nodes && few.ppn == many.ppn {
		return []task{few}
	}
	return []task{few, many}
}

// kexJobs starts jobs over the key exchange of the field.
func (b *bench) kexJobs(ctx context.Context, f *field) error {
	list := named(kexNames...)
	if err := f.check(ctx, list, task{nodes: b.most(full), ppn: 2}); err != nil {
		return err
	}
	for _, t := range b.kexTasks() {
		if err := b.job(ctx, f, partKex, list, t); err != nil {
			return err
		}
	}
	return nil
}

// overOpenSSH10 carries out the part of key exchanges between hosts of OpenSSH 10, or tells
// that they cannot be had here.
func (b *bench) overOpenSSH10(ctx context.Context, kex step) error {
	reason := cluster.OpenSSH10Unavailable()
	switch {
	case !b.wants(kex.part):
		return nil
	case reason != nil:
		return b.lackOpenSSH10(reason)
	}
	b.book.openSSH10 = marked("sshd", cluster.OpenSSH10Version(), "OpenSSH")
	return b.on(ctx, cluster.Config{Nodes: b.most(full), Kex: cluster.KexOpenSSH10}, kex)
}

// lackOpenSSH10 enters in the book that there is no OpenSSH 10 here, with the reason.
func (b *bench) lackOpenSSH10(reason error) error {
	b.tell("%s, key exchange %s: NOT MEASURED: %v", partKex, cluster.KexOpenSSH10, reason)
	for _, t := range b.kexTasks() {
		c := &contest{place: place{partKex, cluster.KexOpenSSH10, t.nodes, t.ppn, "true"}}
		for _, name := range kexNames {
			c.entries = append(c.entries, &entry{name: name, failed: "not over OpenSSH 10: " + reason.Error(), absent: true})
		}
		b.book.contests = append(b.book.contests, c)
	}
	return b.save()
}

// kex writes the section about key exchanges.
func (p *page) kex() {
	var all []*contest
	for _, kex := range []string{cluster.KexDefault, cluster.KexCurve25519, cluster.KexOpenSSH10} {
		all = append(all, p.of(partKex, kex)...)
	}
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b *contest) int {
		return cmp.Or(cmp.Compare(a.nodes, b.nodes), cmp.Compare(a.ppn, b.ppn))
	})
	version := "OpenSSH 10"
	if v, _, _ := strings.Cut(p.openSSH10, ","); v != "" {
		version = v
	}
	fmt.Fprintf(p, `
## The key exchanges of ssh (kex)

`+"`/bin/true`"+` over the installed OpenSSH with its default, over the same with curve25519 everywhere, and
over the sshd and ssh of %s with their default, mlkem768x25519, which golaunch's client has
as its first choice. So there golaunch pays for the same exchange as its rivals; over older OpenSSHs
it has curve25519 in either row.
`, version)
	p.threeTables(all, func(c *contest) string { return shape(c) + ", " + c.kex }, "nodes × ranks, key exchange")
}
