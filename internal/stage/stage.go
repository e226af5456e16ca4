// Package stage brings the agent's executable to a host and starts it there,
// over any bootstrap.Piper: one command that looks at the host, takes the
// executable from its standard input, and becomes the agent (docs/architecture.md).
//
// The first arguments of the agent: --hash HEX, the SHA-256 that its own executable
// must have, which it checks itself (/proc/self/exe), and --unlink PATH, its own file.
// It removes PATH and then the directory that holds it as soon as it runs, so that
// nothing can leave them behind. With Options.Keep there is no --unlink: the file
// stays, under the name nla-HASH, for the next job. An agent that runs from
// Options.Installed is told neither, but may be --installed and the answer for Accept.
// One whose file does not name the start is told --start and the magic of it, by which
// Abandon finds it.
//
// Not here: retries, hedging and the agent's hello (package overlay).
package stage

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// defaultTimeout is patience enough for a slow line: 16 MiB at 1 Mbit/s.
const defaultTimeout = 2 * time.Minute

// Options changes how Start works. The zero value is valid.
type Options struct {
	// Keep leaves the executable on the host, and uses one left there.
	Keep bool
	// Installed is run, without --hash, where the host has that very file.
	Installed Installed
	// AgentPath, if not "", is a golaunch, or nla, that the host has there: it is run at once,
	// without a shell and without a copy.
	AgentPath string
	// Noise receives, line by line, the host's shell's own output; may be nil. It is
	// called from the goroutine of Start.
	Noise func(line string)
	// Timeout bounds looking and copying, once the command is started; 0
	// means two minutes.
	Timeout time.Duration
}

// Start starts the agent on h with words as its arguments (after those of this package)
// and returns its pipe, at the first byte that the agent itself writes. If p needs no
// staging, it just runs src.Path() with words.
//
// Errors are *bootstrap.Error: those of p, or of phase Stage.
func Start(ctx context.Context, p bootstrap.Piper, h bootstrap.Host, src Source, words []string, o Options) (bootstrap.Pipe, error) {
	if !p.NeedsStaging() {
		defer bootstrap.BeginStep(ctx, bootstrap.Command)()
		return p.Start(ctx, h, append([]string{src.Path()}, words...))
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	candidates := strings.Fields(onceOrder)
	if o.Keep {
		candidates = strings.Fields(keptOrder)
	}
	// Its hash takes time, and only a kept file is asked for by it.
	native := Image{OS: runtime.GOOS, Arch: runtime.GOARCH}
	if o.Keep && o.AgentPath == "" {
		var err error
		if native, err = src.Native(); err != nil {
			return nil, stageError(h, err, true, "")
		}
	}
	var skipped []string
	for {
		c := conversation{
			host: h, src: src, native: native, words: words, options: o,
			candidates: candidates, skipped: skipped,
		}
		pipe, err := c.run(ctx, p)
		var full *fullError
		if !errors.As(err, &full) {
			return pipe, err
		}
		// The bytes are spent: start again with the next step.
		skipped = append(c.skipped, full.reason)
		at := slices.Index(candidates, full.candidate)
		if at < 0 {
			return nil, stageError(h, fmt.Errorf("script says that candidate %.60q is full", full.candidate), true, "")
		}
		if candidates = candidates[at+1:]; len(candidates) == 0 {
			return nil, noDir(h, skipped)
		}
	}
}

// fullError says that a candidate could not take the executable.
type fullError struct{ candidate, reason string }

func (e *fullError) Error() string { return e.reason }

func stageError(h bootstrap.Host, err error, permanent bool, hint string) *bootstrap.Error {
	return &bootstrap.Error{Host: h.Name, Phase: bootstrap.Stage, Err: err, Permanent: permanent, Hint: hint}
}

// noCommand returns the error of a host whose shell does not find a command that the
// script needs.
func noCommand(h bootstrap.Host, command, path string) *bootstrap.Error {
	return stageError(h, fmt.Errorf("the shell there finds no %s in its PATH (%s)", command, path), true,
		"do the shell's start-up files, or ~/.ssh/environment, set PATH there without /usr/bin and /bin?")
}

// noDir returns the error when all candidates are used up.
func noDir(h bootstrap.Host, skipped []string) *bootstrap.Error {
	for i, s := range skipped {
		switch dir, reason, _ := strings.Cut(s, ": "); { // the speaker does not matter
		case strings.Contains(reason, "No space left on device"):
			skipped[i] = dir + ": no space left on device"
		case strings.Contains(reason, "./") && strings.Contains(reason, "ermission denied"): // of the file that script has tried to run
			skipped[i] = dir + ": " + errNoExec.Error()
		case strings.HasPrefix(reason, "mkdir: ") && strings.Contains(reason, "Permission denied"):
			skipped[i] = dir + ": " + errNoWrite.Error()
		}
	}
	hint := "make room in one of them, or mount one without noexec, a container with --tmpfs /tmp:exec; or install golaunch there, in the same place as here"
	if mayWriteNone(skipped) {
		hint = hintNoWrite + "; or install golaunch there, in the same place as here"
	}
	return stageError(h, fmt.Errorf("no directory takes the agent: %s", strings.Join(skipped, "; ")), true, hint)
}
