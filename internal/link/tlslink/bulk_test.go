package tlslink_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/link/tlslink"
	"github.com/golaunch/golaunch/internal/link/yamuxlink"
)

// agentCommand makes the test binary an agent: AGENTCOMMAND ADDR.
const agentCommand = "tlslink-test-agent"

// hostVar tells a started agent where it is supposed to be.
const hostVar = "GOLAUNCH_TEST_HOST"

// agent stands in for the agent that a resource manager starts: it reads the secret,
// dials its parent, says its number and echoes frames until the parent ends.
func agent(addr string) int {
	err := func() error {
		secret, err := tlslink.ReadSecret(os.Stdin)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		conn, err := tlslink.Dial(ctx, addr, secret)
		if err != nil {
			return err
		}
		l, err := yamuxlink.New(conn, yamuxlink.Config{})
		if err != nil {
			return err
		}
		defer l.Close()
		if err := l.Send(link.Control, []byte(os.Getenv(hostVar))); err != nil {
			return err
		}
		var wg sync.WaitGroup
		for s := range link.NumStreams {
			wg.Go(func() {
				for {
					f, err := l.Recv(s)
					if err != nil || l.Send(s, f) != nil {
						return
					}
				}
			})
		}
		wg.Wait()
		return l.End(ctx)
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// localBulk is a resource manager whose hosts are all this machine.
type localBulk struct{}

var _ bootstrap.Bulk = localBulk{}

// Start implements bootstrap.Bulk.
func (localBulk) Start(ctx context.Context, hosts []bootstrap.Host, argv []string, secret io.Reader) (<-chan *bootstrap.Error, error) {
	input, err := io.ReadAll(secret)
	if err != nil {
		return nil, err
	}
	errs := make(chan *bootstrap.Error, len(hosts))
	var wg sync.WaitGroup
	for _, h := range hosts {
		wg.Go(func() {
			var stderr bytes.Buffer
			cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
			cmd.Stdin = bytes.NewReader(input)
			cmd.Stderr = &stderr
			cmd.Env = append(os.Environ(), hostVar+"="+h.Name)
			if err := cmd.Run(); err != nil {
				errs <- &bootstrap.Error{Host: h.Name, Phase: bootstrap.Command, Err: fmt.Errorf("%w: %s", err, &stderr)}
			}
		})
	}
	go func() { // ends with the last command
		wg.Wait()
		close(errs)
	}()
	return errs, nil
}

func TestBulk(t *testing.T) {
	var hosts []bootstrap.Host
	for i, name := range []string{"n001", "n002", "n003", "n004"} {
		hosts = append(hosts, bootstrap.Host{Index: i, Name: name})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	secret := tlslink.NewSecret()
	l := listen(t, secret, tlslink.Options{})
	argv := []string{os.Args[0], agentCommand, l.Addr().String()}
	failed, err := localBulk{}.Start(ctx, hosts, argv, secret.Reader())
	require.NoError(t, err)

	var names []string
	for range hosts {
		conn, err := l.Accept(ctx)
		require.NoError(t, err)
		child, err := yamuxlink.New(conn, yamuxlink.Config{Parent: true})
		require.NoError(t, err)
		name, err := child.Recv(link.Control)
		require.NoError(t, err)
		names = append(names, string(name))
		require.NoError(t, child.Send(link.Data, []byte("repeat")))
		f, err := child.Recv(link.Data)
		require.NoError(t, err)
		require.Equal(t, "repeat", string(f))
		require.NoError(t, child.End(ctx))
		for s := range link.NumStreams {
			_, err := child.Recv(s)
			require.Equal(t, io.EOF, err)
		}
		require.NoError(t, child.Close())
	}
	slices.Sort(names)
	require.Equal(t, []string{"n001", "n002", "n003", "n004"}, names)
	for e := range failed {
		require.NoError(t, e)
	}
}

// Agents of another job, or without their secret, do not get in.
func TestBulkWithoutTheSecret(t *testing.T) {
	l := listen(t, tlslink.NewSecret(), tlslink.Options{})
	argv := []string{os.Args[0], agentCommand, l.Addr().String()}
	for want, secret := range map[string]io.Reader{
		"the peer refused (is it of the same job?)": tlslink.NewSecret().Reader(),
		"job secret: read 0 of 65 bytes":            bytes.NewReader(nil),
	} {
		failed, err := localBulk{}.Start(t.Context(), []bootstrap.Host{{Name: "n001"}}, argv, secret)
		require.NoError(t, err)
		e := <-failed
		require.ErrorContains(t, e, "host n001: run command: exit status 1")
		require.ErrorContains(t, e, want)
	}
}
