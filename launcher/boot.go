package launcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/golaunch/golaunch/bootstrap"
	execboot "github.com/golaunch/golaunch/bootstrap/exec"
	"github.com/golaunch/golaunch/bootstrap/fork"
	sshboot "github.com/golaunch/golaunch/bootstrap/ssh"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/overlay"
	"github.com/golaunch/golaunch/stage"
	"github.com/golaunch/golaunch/tree"
)

// resolveTimeout bounds the look-up of all host names here. A name that takes
// longer is left to the node that dials it.
const resolveTimeout = 5 * time.Second

// boot is the launcher's side of starting agents: the hosts as they travel,
// the starter for the root, and the keys, which never leave.
type boot struct {
	common    overlay.Common
	hosts     []overlay.HostEntry
	starter   *overlay.Starter
	authority *sshboot.Authority // nil unless ssh
	gate      *overlay.Gate      // nil without relays
	allowed   map[job.HostIndex]bool
}

func newBoot(ctx context.Context, o Options, plan *Plan, jobID string, inbox *overlay.Inbox, report *reporter) (*boot, error) {
	b := &boot{
		common: overlay.Common{
			JobID: jobID, Bootstrap: plan.Bootstrap, Degree: plan.Degree,
			ConnectTimeout: o.ConnectTimeout, LostAfter: o.LostAfter,
			KeepAgent: o.KeepAgent, Verbose: o.Verbose, PreferKey: -1,
			Trace: o.TraceFile != "", Records: o.ReportFile != "", Progress: report.status != nil,
		},
		hosts:   plan.entries(),
		allowed: map[job.HostIndex]bool{},
	}
	if o.AllowDeadNodes && plan.redundant() {
		b.common.MissAfter = o.MissAfter
	}
	if !o.CopyAgent {
		b.common.Agent = stage.SelfInstalled()
	}
	source, err := stage.Self()
	if err != nil {
		return nil, err
	}
	var piper bootstrap.Piper
	switch plan.Bootstrap {
	case BootstrapSSH:
		piper, err = b.openSSH(ctx, o, plan, report)
	case BootstrapExec:
		piper, err = b.openExec(ctx, o, plan)
	default:
		piper = fork.New()
	}
	if err != nil {
		return nil, err
	}
	noise := func(host, line string) { inbox.Put(noiseHeard{host, line}) }
	b.starter = overlay.NewStarter(ctx, piper, source, b.common, inbox, noise)
	b.starter.Redial = true
	return b, nil
}

// usageError is a fault of what the user gave, found after the plan was made.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// openSSH reads the user's ssh configuration, known hosts and keys, and
// resolves every name once.
func (b *boot) openSSH(ctx context.Context, o Options, plan *Plan, report *reporter) (bootstrap.Piper, error) {
	config, err := sshboot.LoadConfig(sshboot.Options{File: o.SSHConfig})
	if err != nil {
		return nil, usageError{err}
	}
	targets := make([]sshboot.Target, len(plan.Hosts))
	for i, h := range plan.Hosts {
		if targets[i], err = config.Target(h); err != nil {
			return nil, usageError{fmt.Errorf("%s: %w", h.Pos, err)}
		}
	}
	for _, w := range config.Warnings() {
		report.note("%s", w)
	}
	resolve(ctx, targets) // what stays unresolved is tried where it is dialled
	b.authority, err = sshboot.OpenAuthority(ctx, sshboot.AuthorityConfig{
		AgentSocket: os.Getenv("SSH_AUTH_SOCK"), Targets: targets,
	})
	if err != nil {
		return nil, err
	}
	b.common.Keys, b.common.KeyNotes = b.authority.Keys(), b.authority.Notes()
	for i := range targets {
		b.hosts[i].Target, b.hosts[i].Addr = &targets[i], targets[i].Addr
	}
	return overlay.SSHPiper(b.common, b.hosts, true, func(ctx context.Context, q sshboot.SignRequest) ([]byte, error) {
		q.From = job.NoHost
		return b.authority.Sign(ctx, q)
	}, func(t *sshboot.Target, line string) {
		if err := remember(t.KnownHostsFile, line); err != nil {
			report.note("host key of %s was accepted, but not recorded: %v", t.Name, err)
			return
		}
		if t.KnownHostsFile != "" && t.KnownHostsFile != os.DevNull {
			report.note("host key of %s was added to %s", t.Name, t.KnownHostsFile)
		}
	})
}

// openExec hands the template on, and resolves the names if it asks for
// addresses.
func (b *boot) openExec(ctx context.Context, o Options, plan *Plan) (bootstrap.Piper, error) {
	b.common.Exec, b.common.Relayed = o.ExecCommand, plan.relayed
	template, err := execboot.Parse(o.ExecCommand)
	if err != nil {
		return nil, err
	}
	if template.Uses("addr") {
		targets := make([]sshboot.Target, len(b.hosts))
		for i, h := range b.hosts {
			if !h.Relay() {
				targets[i].HostName = h.Name
			}
		}
		resolve(ctx, targets) // what stays unresolved is an error of its host
		for i := range targets {
			b.hosts[i].Addr = targets[i].Addr
		}
	}
	if len(plan.Relays) > 0 {
		gate, err := overlay.NewGate()
		if err != nil {
			return nil, err
		}
		b.gate, b.common.Gate = gate, gate.Name()
	}
	return overlay.ExecPiper(b.common)
}

// resolve looks up the names of targets, as many as it can in its time.
func resolve(ctx context.Context, targets []sshboot.Target) {
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	_ = sshboot.Resolve(ctx, targets, net.DefaultResolver.LookupNetIP) // its error is that the time is up
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

// seal ends signing for good and lets go of the keys.
func (b *boot) seal() {
	if b.authority != nil {
		b.authority.Seal()
	}
}

// close releases the keys, and the relays' gate.
func (b *boot) close() {
	if b.gate != nil {
		b.gate.Close()
	}
	if b.authority != nil {
		b.authority.Close()
	}
}

// sign answers a request that came up the tree. Every link on its way has
// checked that both the asker and the host to log in to lie in the range of
// the child it came from.
func (r *run) sign(slot tree.Slot, q overlay.SignRequest) {
	answer := overlay.SignAnswer{ID: q.ID}
	boot, first := r.boot, job.HostIndex(0)
	if r.growing != nil && r.growing.boot != nil {
		boot, first = r.growing.boot, r.growing.first
	}
	if !r.below(slot, q.By) || !r.below(slot, q.Request.Host) || boot.authority == nil {
		answer.Refusal = fmt.Sprintf("host %d may not ask for host %d", q.By, q.Request.Host)
		r.inbox.Put(signatureMade{slot, answer})
		return
	}
	if !boot.allowed[q.By] {
		boot.allowed[q.By] = true
		boot.authority.Allow(q.By, first, job.HostIndex(len(r.plan.Hosts)))
	}
	q.Request.From = q.By
	r.tasks.Go(func() { // ends with the ssh-agent's answer, or with the job
		signature, err := boot.authority.Sign(r.ctx, q.Request)
		if answer.Signature = signature; err != nil {
			answer.Refusal = err.Error()
		}
		r.inbox.Put(signatureMade{slot, answer})
	})
}

func (r *run) below(slot tree.Slot, h job.HostIndex) bool {
	via, ok := r.family.Route(h)
	return ok && via == slot
}
