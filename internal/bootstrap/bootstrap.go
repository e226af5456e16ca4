// Package bootstrap defines how node launch agents are started on hosts: the
// seams Piper and Bulk, the reach of a bootstrap, and the errors they return
// (docs/architecture.md). Implementations are the packages below it; the
// conformance suite is package bootstraptest.
package bootstrap

import (
	"context"
	"fmt"
	"io"
)

// Reach says from where a bootstrap can start agents.
type Reach int

// The reaches of docs/architecture.md.
const (
	Anywhere     Reach = iota // any node can start agents on any other
	LauncherOnly              // only the launcher's own host can
)

// Host has the properties of a machine that a bootstrap starts an agent on.
type Host struct {
	Index int    // the job.HostIndex, for messages and look-up
	Name  string // as the user gave it
	Addr  string // IP address where the launcher could resolve the name, else empty
	User  string // login name that the user gave; may be empty
	Port  int    // port that the user gave; 0 where none
}

// Pipe is a started command's standard input and output. Close ends the
// command's input and output at once; a command that lives on sees EOF.
type Pipe interface {
	io.ReadWriteCloser
	// Diagnostics returns the last bytes (at most 4 KiB) that the command wrote to its
	// standard error: the last words of a dying shell or agent.
	Diagnostics() string
	// PeerAddr is the address of the host as the starter reaches it, or ""
	// where there is none (a local process).
	PeerAddr() string
}

// Explainer is a Pipe that knows more than its caller of why the command ended
// before it said a word of its own.
type Explainer interface {
	// Explain returns the whole error; said has the words heard instead, from standard
	// error or a shell, and may be empty. It may wait a moment for the command's
	// status.
	Explain(said string) *Error
}

// Piper starts one command on one host and hands back a byte pipe to it.
type Piper interface {
	// Start runs argv on host, word for word: no shell of the host's
	// interprets it. It returns when the command was accepted, not when it
	// has begun to write. Cancelling ctx abandons a start under way but not a
	// pipe already returned. Errors are *Error.
	Start(ctx context.Context, host Host, argv []string) (Pipe, error)
	// Reach says from where this Piper works.
	Reach() Reach
	// NeedsStaging says that the agent's executable must be brought to the
	// host first (package stage); false where the host shares this
	// machine's files.
	NeedsStaging() bool
}

// LoginSheller is a Piper whose commands go through a login shell of the host.
type LoginSheller interface {
	Piper
	// StartLine is Start for a line that the shell interprets.
	StartLine(ctx context.Context, host Host, line string) (Pipe, error)
}

// Bulk starts one command on many hosts at once, without byte pipes, as resource
// managers offer. The started agents dial the launcher, which names each one's parent,
// and dial that.
type Bulk interface {
	// Start runs argv on every host, with the bytes of secret on its standard input,
	// and returns a channel that yields an error, with the host's name, for each host
	// where the command could not be started, or failed; it is closed when all commands
	// have ended, which the end of ctx brings about. The channel never waits for a
	// reader. Where standard input can't be had, the secret may be put into a file of
	// mode 0600 that all hosts see, and "--secret-file", FILE behind argv. It must
	// never be in a command line or an environment. A Bulk that brings argv[0] to a
	// host itself puts "--unlink" and the path there behind argv, which has the agent
	// remove it.
	Start(ctx context.Context, hosts []Host, argv []string, secret io.Reader) (<-chan *Error, error)
}

// Phase names the step of a start that failed.
type Phase string

// The phases of a start, in order.
const (
	Resolve      Phase = "resolve"
	Connect      Phase = "connect"
	HostKey      Phase = "host key"
	Authenticate Phase = "authenticate"
	Command      Phase = "run command"
	Stage        Phase = "stage agent"
	Handshake    Phase = "agent hello"
)

// Error is the reason for which a host could not be started. Permanent errors (host
// key, authentication) are not retried; others are, with full jitter, for as long as
// Patience says.
type Error struct {
	Host      string
	Phase     Phase
	Err       error
	Permanent bool
	Hint      string // advice for the user; may be empty
	// Unreached says that there was no connection to the host at all, which tells
	// nothing of other hosts: a jump host is not meant.
	Unreached bool
	// Absent names the part of the host that is not there yet, which bounds the time
	// that it is tried.
	Absent Absence
	// Tries is the number of tries that the user wants at least, once a second; 0
	// leaves that to Limits.
	Tries int
	// Awaited tells the user why the host is tried again, as "there is no such
	// container yet"; "" where that is not known.
	Awaited string
	// Whole says that not this host's command alone has ended, but that of a Bulk for all
	// hosts of its start: nothing is known to be wrong with the host.
	Whole Whole
}

// Whole is the state of a Bulk's start as a whole.
type Whole uint8

// The states of a Bulk's start.
const (
	WholeRuns      Whole = iota // or nothing is known
	WholeEnded                  // it has ended before its time
	WholeCancelled              // somebody, or a limit of the manager's, had it ended
)

// Error renders "host HOST: PHASE: cause".
func (e *Error) Error() string { return fmt.Sprintf("host %s: %s: %v", e.Host, e.Phase, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
