package sshboot

import (
	"context"
	"fmt"
	"net/netip"
	"strings"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// Resolve fills in the Addr of every target whose name resolves here, so that
// no name is looked up twice and none by thousands of nodes. A name that does
// not resolve keeps an empty Addr: it may mean something where it is dialled.
// Targets behind jump hosts and proxies are left alone. The only error is that of ctx.
func Resolve(ctx context.Context, targets []Target, lookup bootstrap.LookUpFunc) error {
	questions := make([]bootstrap.Question, len(targets))
	for i, t := range targets {
		if t.Addr == "" && len(t.Jump) == 0 && t.Proxy == "" {
			questions[i] = t.question()
		}
	}
	answers, err := bootstrap.LookUp(ctx, questions, lookup)
	for i, addr := range answers {
		if addr != "" {
			targets[i].Addr = addr
		}
	}
	return err
}

// meetElsewhere gives targets that are this machine by its own name an address at which
// the others reach it. Debian and others have that name mean 127.0.1.1, where every
// node would find itself. The address is the near end of the route to a target that is
// elsewhere; without one, resolved addresses stay. So do localhost and addresses that
// the user has written: a tunnel may end there.
func meetElsewhere(targets []Target, nearEnd func(to string) (netip.Addr, error)) {
	for i := range targets {
		t := &targets[i]
		if _, err := netip.ParseAddr(t.HostName); err == nil || t.HostName == "localhost" || !loopback(t.Addr) {
			continue
		}
		for j := range targets {
			if to := targets[j].Addr; to != "" && !loopback(to) {
				if end, err := nearEnd(to); err == nil && t.takes(end) {
					t.Addr = end.String()
					break
				}
			}
		}
	}
}

// loopback reports an address that leads back to its dialler.
func loopback(addr string) bool {
	ip, err := netip.ParseAddr(addr)
	return err == nil && ip.IsLoopback()
}

// takes says whether t may be dialled at addr.
func (t *Target) takes(addr netip.Addr) bool {
	return !addr.IsLoopback() && (t.Network != "tcp4" || addr.Is4()) && (t.Network != "tcp6" || addr.Is6())
}

// question asks for the address of t.
func (t *Target) question() bootstrap.Question {
	return bootstrap.Question{Network: "ip" + strings.TrimPrefix(t.Network, "tcp"), Name: t.HostName}
}

// lookUp resolves the name of t now, for an agent that is to dial it.
func lookUp(ctx context.Context, t *Target, lookup bootstrap.LookUpFunc) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, bootstrap.LookUpTimeout)
	defer cancel()
	answers, err := bootstrap.LookUp(ctx, []bootstrap.Question{t.question()}, lookup)
	switch {
	case answers[0] != "":
		return answers[0], nil
	case err != nil:
		return "", err
	}
	return "", fmt.Errorf("name %s does not resolve", t.HostName)
}
