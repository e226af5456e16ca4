package bootstraptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// maxSecret bounds the secret that a Bulk hands to its commands, in bytes.
const maxSecret = 4 << 10

// HostVariable is the environment variable in which Bulk tells each command the
// name of its host.
const HostVariable = "GOLAUNCH_TEST_HOST_NAME"

// IndexVariable is the environment variable in which Bulk tells each command
// the index of its host.
const IndexVariable = "GOLAUNCH_TEST_HOST_INDEX"

// Bulk is a bootstrap.Bulk that plays resource manager on this machine: one
// process per host, the secret on its standard input.
type Bulk struct {
	// Env adds NAME=value settings to the command of a host; may be nil.
	Env func(bootstrap.Host) []string
	// Stdout receives the output of all commands; nil discards it.
	Stdout io.Writer
}

var _ bootstrap.Bulk = (*Bulk)(nil)

// Kind returns b's entry for a registry, by the name "bulk".
func (b *Bulk) Kind() bootstrap.Kind {
	return bootstrap.Kind{
		Name: "bulk",
		Bulk: true,
		Open: func(context.Context, bootstrap.Job) (*bootstrap.Opened, error) {
			return &bootstrap.Opened{Bulk: b, HostVariable: HostVariable, Listen: "127.0.0.1"}, nil
		},
	}
}

// Start runs argv once per host. A command that cannot be started, or that
// ends with another status than 0, yields an error with the end of its
// standard error. Cancelling ctx kills the commands. The channel takes one
// error per host without a reader, so a caller may ignore it.
func (b *Bulk) Start(ctx context.Context, hosts []bootstrap.Host, argv []string, secret io.Reader) (<-chan *bootstrap.Error, error) {
	if len(argv) == 0 {
		return nil, errors.New("bulk start: no command given")
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("bulk start: %w", err)
	}
	words, err := io.ReadAll(io.LimitReader(secret, maxSecret+1))
	if err != nil {
		return nil, fmt.Errorf("bulk start: secret: %w", err)
	}
	if len(words) > maxSecret {
		return nil, fmt.Errorf("bulk start: secret: longer than %d bytes", maxSecret)
	}
	out := b.Stdout
	if out != nil {
		out = &lockedWriter{w: out}
	}
	failures := make(chan *bootstrap.Error, len(hosts))
	var wg sync.WaitGroup
	for _, h := range hosts {
		wg.Go(func() { // ends with its command, which ctx can kill
			if err := b.run(ctx, h, argv, words, out); err != nil {
				failures <- &bootstrap.Error{Host: h.Name, Phase: bootstrap.Command, Err: err}
			}
		})
	}
	go func() { // ends when all commands have
		wg.Wait()
		close(failures)
	}()
	return failures, nil
}

func (b *Bulk) run(ctx context.Context, h bootstrap.Host, argv []string, secret []byte, out io.Writer) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = bytes.NewReader(secret)
	cmd.Stdout = out
	var tail bootstrap.Tail
	cmd.Stderr = &tail
	cmd.Env = append(os.Environ(), IndexVariable+"="+strconv.Itoa(h.Index), HostVariable+"="+h.Name)
	if b.Env != nil {
		cmd.Env = append(cmd.Env, b.Env(h)...)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.WaitDelay = time.Second // a descendant may hold the output open
	if err := cmd.Run(); err != nil {
		if said := strings.TrimSpace(tail.String()); said != "" {
			return fmt.Errorf("%w: %s", err, said)
		}
		return err
	}
	return nil
}

// lockedWriter lets the commands share one writer.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
