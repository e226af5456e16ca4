package sshboot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// timeoutError is the end of our patience with a host.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string { return fmt.Sprintf("no answer within %v", e.limit) }

// Unwrap makes it a deadline.
func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }

// interrupted returns the error of a start that ended with its context.
func interrupted(err error, phase bootstrap.Phase, limit time.Duration) *bootstrap.Error {
	if errors.Is(err, context.DeadlineExceeded) {
		return &bootstrap.Error{
			Phase: phase, Err: &timeoutError{limit},
			Hint: "sshd took the connection but did not go on; is the host overloaded?",
		}
	}
	return &bootstrap.Error{Phase: phase, Err: err}
}

// connectError explains why there is no TCP connection. The error of net says
// all of it in one line, of which the user has most already.
func connectError(ctx context.Context, err error, t *Target, limit time.Duration) *bootstrap.Error {
	e := &bootstrap.Error{Phase: bootstrap.Connect, Err: err}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case ctx.Err() != nil && errors.Is(ctx.Err(), context.Canceled):
		e.Err = ctx.Err()
	case errors.As(err, &dns):
		e.Phase = bootstrap.Resolve
		if e.Awaited = "its name does not resolve yet"; dns.IsNotFound {
			e.Absent, e.Awaited = bootstrap.NoName, "its name is not known yet"
		}
		e.Err = fmt.Errorf("name %s: %s", t.HostName, dns.Err)
		e.Hint = "check the spelling, /etc/hosts and HostName in the ssh configuration"
	case errors.Is(err, context.DeadlineExceeded) || isTimeout(err):
		e.Err = &timeoutError{limit}
		e.Hint = fmt.Sprintf("is the host up, and port %d open in its firewall?", t.Port)
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Absent, e.Awaited = bootstrap.NoListener, fmt.Sprintf("nothing listens on port %d yet", t.Port)
		e.Err = fmt.Errorf("%s: %w", t.address(), syscall.ECONNREFUSED)
		e.Hint = fmt.Sprintf("does sshd run there, on port %d?", t.Port)
	case errors.Is(err, syscall.ECONNRESET):
		e.Hint, e.Err = lostInHandshake(err)
	case errors.As(err, &op):
		cause := root(op.Err)
		e.Err, e.Awaited = fmt.Errorf("%s: %w", t.address(), cause), cause.Error()
	}
	return e
}

// lostInHandshake is for a server that hangs up before it knows who calls.
func lostInHandshake(err error) (hint string, cause error) {
	return "sshd drops connections beyond its MaxStartups, and hosts that it penalises (PerSourcePenalties)",
		fmt.Errorf("connection lost during the ssh handshake: %w", root(err))
}

// root is the innermost error: the system's word.
func root(err error) error {
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(err) {
		err = next
	}
	return err
}

func isTimeout(err error) bool {
	var ne net.Error
	return errors.As(err, &ne) && ne.Timeout()
}

// isHangup says that the other side just went away.
func isHangup(err error) bool {
	var op *net.OpError
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &op)
}

// explain turns the error of a log-in into one with advice.
func (a *attempt) explain(err error) *bootstrap.Error {
	a.mu.Lock()
	defer a.mu.Unlock()
	var hostKey *hostKeyError
	var refused *RefusedError
	var algorithms *ssh.AlgorithmNegotiationError
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "ssh: handshake failed: "), "ssh: ")
	e := &bootstrap.Error{Phase: bootstrap.Connect, Err: err}
	switch {
	case errors.As(err, &hostKey):
		e.Phase, e.Err, e.Hint, e.Permanent = bootstrap.HostKey, hostKey, hostKey.hint, true
	case errors.As(err, &algorithms) && !a.keyed:
		e.Permanent = true
		e.Err = errors.New(text)
		if strings.Contains(algorithms.What, "host key") {
			hostKey = a.t.noCommonHostKey(algorithms.RequestedAlgorithms)
			e.Phase, e.Err, e.Hint = bootstrap.HostKey, hostKey, hostKey.hint
		}
	case a.signError != nil:
		e.Phase, e.Err = bootstrap.Authenticate, a.signError
		e.Permanent = errors.As(a.signError, &refused)
	case !a.keyed && isHangup(err):
		e.Hint, e.Err = lostInHandshake(err)
	case !a.keyed:
		e.Err = fmt.Errorf("ssh handshake: %s", text)
		e.Hint = fmt.Sprintf("is it sshd that listens on port %d?", a.t.Port)
	case isHangup(err) && a.signedBy != noKey:
		a.explainBarred(e, err)
	case isHangup(err):
		e.Phase, e.Err = bootstrap.Authenticate, fmt.Errorf("connection lost while logging in as %s: %w", a.t.User, root(err))
	default:
		a.explainRefusal(e, text)
	}
	return e
}

// maxSaid bounds the bytes of a server's words that are kept, and repeated.
const maxSaid = 1000

// explainBarred is for a server that hung up on a right key, as sshd does where
// PAM bars the account. If it gave no reason, it may have died: it is tried once
// more. The caller holds a.mu.
func (a *attempt) explainBarred(e *bootstrap.Error, err error) {
	key := a.keyNames([]int{a.signedBy})
	e.Phase = bootstrap.Authenticate
	e.Hint = "PAM may bar the account there (pam_slurm_adopt, pam_access, pam_nologin), or root; sshd's log on the host tells"
	if a.said != "" {
		e.Permanent = true
		e.Err = fmt.Errorf("user %s: the key %s is right, but the host hung up: %s", a.t.User, key, a.said)
		return
	}
	e.Err = fmt.Errorf("user %s: the key %s is right, but the host hung up without a word: %w", a.t.User, key, root(err))
	if a.ctx.Err() == nil {
		_, e.Permanent = a.d.mute.LoadOrStore(a.t.Name, true)
	}
}

// explainRefusal is for a server that answered no. The caller holds a.mu.
func (a *attempt) explainRefusal(e *bootstrap.Error, text string) {
	e.Phase, e.Permanent = bootstrap.Authenticate, true
	names := a.keyNames(a.offered)
	notes := ""
	if len(a.d.cfg.KeyNotes) > 0 {
		notes = "; not offered: " + strings.Join(a.d.cfg.KeyNotes, "; ")
	}
	user := a.t.User
	switch {
	case a.partial:
		e.Err = fmt.Errorf("user %s: the host wants more than a key (%s)", user, strings.Join(a.methods, ", "))
		e.Hint = "only public keys are supported; use the system's ssh: " + systemSSH(a.t.ConfigFile)
	case names == "":
		e.Err = fmt.Errorf("user %s: there is no private key to offer%s", user, notes)
		e.Hint = "make one with ssh-keygen, or unlock one with ssh-add"
	case len(a.methods) > 0 && !slices.Contains(a.methods, "publickey"):
		e.Err = fmt.Errorf("user %s: the host accepts only %s, no public keys", user, strings.Join(a.methods, ", "))
		e.Hint = "use the system's ssh: " + systemSSH(a.t.ConfigFile)
	case strings.Contains(text, "disconnect"):
		e.Permanent = strings.Contains(text, "Too many authentication failures")
		e.Err = fmt.Errorf("user %s: the host hung up: %s; offered %s%s", user, text, names, notes)
		e.Hint = "with many keys, name the right one: IdentityFile and IdentitiesOnly yes in the ssh configuration"
	case strings.Contains(text, "no common public key signature algorithm"):
		e.Err = fmt.Errorf("user %s: %s; offered %s%s", user, text, names, notes)
		e.Hint = "use an ed25519 key"
	default:
		e.Err = fmt.Errorf("user %s: the host accepts none of the keys %s%s", user, names, notes)
		e.Hint = fmt.Sprintf("try: %s; is the public key in ~/.ssh/authorized_keys there, and the account neither locked nor expired?", a.t.trySSH())
	}
}

// throughJump adds which jump host an error is about.
func throughJump(e *bootstrap.Error, route []*Target, hop int) *bootstrap.Error {
	if hop < len(route)-1 && !strings.HasPrefix(e.Err.Error(), "jump host ") {
		e.Err = fmt.Errorf("jump host %s: %w", route[hop].Name, e.Err)
	}
	return e
}
