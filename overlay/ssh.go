package overlay

import (
	"context"

	"github.com/golaunch/golaunch/bootstrap"
	sshboot "github.com/golaunch/golaunch/bootstrap/ssh"
	"github.com/golaunch/golaunch/job"
)

// SignFunc has a signature made for logging in to a host: by the launcher's
// keys, or through the tree.
type SignFunc func(ctx context.Context, r sshboot.SignRequest) ([]byte, error)

// SSHPiper makes the ssh bootstrap for hosts, each of which has its Target.
// jump says that hosts behind a ProxyJump are reached through it, as only the
// launcher does: agents sit behind it already. accepted is told of host keys
// that were accepted without being known.
func SSHPiper(c Common, hosts []HostEntry, jump bool, sign SignFunc, accepted func(t *sshboot.Target, line string)) (bootstrap.Piper, error) {
	targets := make(map[job.HostIndex]sshboot.Target, len(hosts))
	for _, h := range hosts {
		if h.Target != nil {
			targets[h.Index] = *h.Target
		}
	}
	return sshboot.New(sshboot.DialerConfig{
		Targets:        func(i job.HostIndex) (sshboot.Target, bool) { t, ok := targets[i]; return t, ok },
		Keys:           c.Keys,
		KeyNotes:       c.KeyNotes,
		Accepted:       accepted,
		PreferKey:      c.PreferKey,
		Sign:           sign,
		ConnectTimeout: c.ConnectTimeout, HandshakeTimeout: c.ConnectTimeout, MissAfter: c.MissAfter,
		UseJump: jump,
	})
}
