package sshboot

import (
	"context"
	"strings"

	"github.com/golaunch/golaunch/bootstrap"
)

// Resolve fills in the Addr of every target whose name resolves here, so that
// no name is looked up twice and none by thousands of nodes. A name that does
// not resolve keeps an empty Addr: it may mean something where it is dialled.
// Targets behind jump hosts and proxies are left alone. The only error is that of ctx.
func Resolve(ctx context.Context, targets []Target, lookup bootstrap.LookUpFunc) error {
	questions := make([]bootstrap.Question, len(targets))
	for i, t := range targets {
		if t.Addr == "" && len(t.Jump) == 0 && t.Proxy == "" {
			questions[i] = bootstrap.Question{Network: "ip" + strings.TrimPrefix(t.Network, "tcp"), Name: t.HostName}
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
