package uplink

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
)

// job runs golaunch on the head of the cluster, see measure.
func (b *bench) job(ctx context.Context, times int, args ...string) ([]reading, error) {
	args = append([]string{filepath.Join(b.built, "golaunch"), "--ssh-config", b.cluster.SSHConfig()}, args...)
	cmd := b.cluster.CommandContext(ctx, cluster.Head, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	all, err := measure(cmd, times, b.cluster.UplinkBytes)
	if err != nil {
		err = fmt.Errorf("%w: %s", err, stderr.String())
	}
	return all, err
}

// process is an exec.Cmd, or one of a cluster.
type process interface {
	StdinPipe() (io.WriteCloser, error)
	StdoutPipe() (io.ReadCloser, error)
	Start() error
	Wait() error
}

// measure runs a job that does so many things. Its rank 0 says "ready" when it is about
// to begin one, and "seconds" with their number when all ranks are done with it; after
// each it goes on when it has read a line. The bytes are count's difference meanwhile.
func measure(cmd process, times int, count func() (uint64, error)) (all []reading, err error) {
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	said := bufio.NewScanner(out)
	step := func(form string, args ...any) (bytes uint64, err error) {
		if !said.Scan() {
			return 0, errors.New("the job ended too soon")
		}
		if _, err := fmt.Sscanf(said.Text(), form, args...); err != nil {
			return 0, fmt.Errorf("rank 0 said %q, not %q", said.Text(), form)
		}
		if bytes, err = count(); err == nil {
			_, err = io.WriteString(in, "\n")
		}
		return bytes, err
	}
	for len(all) < times && err == nil {
		var before, after uint64
		var r reading
		if before, err = step("ready"); err == nil {
			after, err = step("seconds %g", &r.seconds)
		}
		r.bytes = float64(after - before)
		all = append(all, r)
	}
	_ = in.Close() // rank 0 ends if it waits still
	for said.Scan() {
		err = errors.Join(err, fmt.Errorf("unexpected line %q", said.Text()))
	}
	return all, errors.Join(err, cmd.Wait())
}
