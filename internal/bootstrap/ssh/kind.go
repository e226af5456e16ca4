package sshboot

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
)

// The flags: a file of configuration, and keywords that count before it.
const (
	configOption  = "ssh-config"
	keywordOption = "ssh-option"
)

// Kind returns this bootstrap's entry for the registry.
func Kind() bootstrap.Kind {
	return bootstrap.Kind{
		Name: "ssh",
		Options: []bootstrap.Option{
			{Name: configOption, Help: "ssh configuration `FILE` to use instead of ~/.ssh/config", File: true},
			{Name: keywordOption, Help: "`KEY=VALUE` of ssh's configuration, which counts before the file's", Repeat: true},
		},
		Open: openJob,
		Join: joinNode,
	}
}

// Setup is the message for agents, for all hosts together.
type Setup struct {
	Keys      []PublicKey `cbor:"1,keyasint"`
	KeyNotes  []string    `cbor:"2,keyasint"` // why other keys cannot be offered
	PreferKey int         `cbor:"3,keyasint"` // index of the key that worked before, or -1
}

// openJob reads the user's ssh configuration, known hosts and keys, and resolves
// every name once.
func openJob(ctx context.Context, j bootstrap.Job) (*bootstrap.Opened, error) {
	config, err := LoadConfig(Options{File: j.Values[configOption], Lines: lines(j.Values[keywordOption])})
	if err != nil {
		return nil, job.Exit(job.ExitUsage, "%w", err)
	}
	targets := make([]Target, len(j.Hosts))
	for i, h := range j.Hosts {
		if targets[i], err = config.Target(h); err != nil {
			return nil, job.Exit(job.ExitUsage, "%s: %w", h.Pos, err)
		}
	}
	for _, w := range config.Warnings() {
		j.Note("%s", w)
	}
	resolving, cancel := context.WithTimeout(ctx, bootstrap.LookUpTimeout)
	_ = Resolve(resolving, targets, net.DefaultResolver.LookupNetIP) // names without an address are tried where they are dialled
	cancel()
	meetElsewhere(targets, bootstrap.NearEnd)
	authority, err := OpenAuthority(ctx, AuthorityConfig{
		AgentSocket: os.Getenv("SSH_AUTH_SOCK"), Targets: targets, Elsewhere: config.Elsewhere, Passphrase: j.Passphrase,
		SameHost: func(ctx context.Context, key []byte, t *Target) bool {
			return config.SameHost(ctx, key, t, net.DefaultResolver)
		},
	})
	if err != nil {
		return nil, err
	}
	opened, err := newOpened(j, authority, targets)
	if err != nil {
		authority.Close()
	}
	return opened, err
}

// lines returns those of a text, none of an empty one.
func lines(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// newOpened returns the launcher's side, with its keys open.
func newOpened(j bootstrap.Job, authority *Authority, targets []Target) (*bootstrap.Opened, error) {
	s := Setup{Keys: authority.Keys(), KeyNotes: authority.Notes(), PreferKey: -1}
	o := &bootstrap.Opened{Authority: authority, Routes: make([]bootstrap.Route, len(targets))}
	o.LookUp = func(ctx context.Context, h job.HostIndex) (string, error) {
		if h < 0 || int(h) >= len(targets) {
			return "", fmt.Errorf("host %d is not planned", h)
		}
		return lookUp(ctx, &targets[h], net.DefaultResolver.LookupNetIP)
	}
	var err error
	if o.Setup, err = bootstrap.Pack(s); err != nil {
		return nil, err
	}
	for i := range targets {
		o.Routes[i].Addr = targets[i].Addr
		if o.Routes[i].Data, err = bootstrap.Pack(targets[i]); err != nil {
			return nil, err
		}
	}
	config := s.dialer(j.Limits)
	config.UseJump = true
	config.Targets = func(i job.HostIndex) (Target, bool) {
		if i < 0 || int(i) >= len(targets) {
			return Target{}, false
		}
		return targets[i], true
	}
	config.Sign = func(ctx context.Context, q SignRequest) ([]byte, error) {
		q.From = job.NoHost
		return authority.Sign(ctx, q)
	}
	config.Accepted = func(t *Target, line string) {
		if err := remember(t.KnownHostsFile, line); err != nil {
			j.Note("host key of %s was accepted, but not recorded: %v", t.Name, err)
			return
		}
		if t.KnownHostsFile != "" && t.KnownHostsFile != os.DevNull {
			j.Note("host key of %s was added to %s", t.Name, t.KnownHostsFile)
		}
	}
	o.Piper, err = New(config)
	return o, err
}

// dialer returns the configuration that launcher and agents have in common.
func (s Setup) dialer(l bootstrap.Limits) DialerConfig {
	return DialerConfig{
		Keys: s.Keys, KeyNotes: s.KeyNotes, PreferKey: s.PreferKey,
		ConnectTimeout: l.ConnectTimeout, HandshakeTimeout: l.ConnectTimeout, MissAfter: l.MissAfter,
	}
}

// joinNode returns the side of an agent, which sits behind the jump hosts already.
func joinNode(n bootstrap.Node) (bootstrap.Piper, error) {
	s, err := bootstrap.Unpack[Setup](n.Setup)
	if err != nil {
		return nil, err
	}
	targets := make(map[job.HostIndex]Target, len(n.Data))
	for h, data := range n.Data {
		if targets[h], err = bootstrap.Unpack[Target](data); err != nil {
			return nil, err
		}
	}
	config := s.dialer(n.Limits)
	config.Targets = func(i job.HostIndex) (Target, bool) { t, ok := targets[i]; return t, ok }
	config.Sign, config.LookUp = n.Sign, n.LookUp
	// A node's view of another is no proof for the user's known_hosts.
	config.Accepted = func(t *Target, _ string) { n.Accepted(t.Name) }
	return New(config)
}

// Learned names the key that has worked here.
func (d *Dialer) Learned() []byte {
	s := Setup{Keys: d.cfg.Keys, KeyNotes: d.cfg.KeyNotes, PreferKey: d.cfg.PreferKey}
	if key, ok := d.WorkedKey(); ok {
		s.PreferKey = key
	}
	packed, err := bootstrap.Pack(s)
	if err != nil {
		panic(err) // the setup came packed
	}
	return packed
}

// remember adds a line to the user's known_hosts file, if there is one to be.
func remember(file, line string) error {
	if file == "" {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n") // in one write: other programs append too
	return errors.Join(err, f.Close())
}
