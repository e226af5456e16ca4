package torture

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/integration/internal/trial"
)

// place has the cluster of the jobs.
type place struct {
	cluster  *cluster.Cluster
	golaunch string
	native   string // directory of the programs of native/
	dir      string // one that nodes see too
	ranks    int
}

// outcome is the result of one job.
type outcome struct {
	bytes uint64
	took  time.Duration
	peaks map[string]float64 // MiB by kind of process
}

// start starts a job whose output nobody reads yet, and begins to watch it once
// first has come of its output.
func (p place) start(ctx context.Context, stdout *os.File, first func() error, program ...string) (*cluster.Cmd, *bytes.Buffer, *trial.Peaks, error) {
	argv := []string{p.golaunch, "-f", p.cluster.HostFile(), "--ssh-config", p.cluster.SSHConfig(), "-n", strconv.Itoa(p.ranks), "--degree", "4"}
	cmd := p.cluster.CommandContext(ctx, cluster.Head, append(argv, program...)...)
	stderr := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Start()
	stdout.Close()
	if err != nil {
		return nil, nil, nil, err
	}
	if err := first(); err != nil {
		return nil, nil, nil, fmt.Errorf("%w: %s", err, stderr)
	}
	watched, err := trial.Watch(p.cluster)
	return cmd, stderr, watched, err
}

// job runs a program whose whole output read takes.
func (p place) job(ctx context.Context, read func(io.Reader) (uint64, error), program ...string) (outcome, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return outcome{}, err
	}
	defer r.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in := bufio.NewReaderSize(r, 1<<20)
	begin := time.Now()
	cmd, stderr, watched, err := p.start(ctx, w, func() error { _, err := in.Peek(1); return err }, program...)
	if err != nil {
		return outcome{}, err
	}
	n, err := read(in)
	if err != nil {
		cancel() // it would wait for its reader
	}
	wait := cmd.Wait()
	o := outcome{n, time.Since(begin), watched.End()}
	if err == nil && wait != nil {
		err = fmt.Errorf("golaunch: %w: %s", wait, stderr)
	}
	return o, err
}

// flood has every rank print lines of random lengths in writes of random sizes,
// about bytes of them.
func (p place) flood(ctx context.Context, bytes int) (outcome, error) {
	const longest, mean = 40000, 1306 // a mean line of rankprobe's
	return p.job(ctx, func(r io.Reader) (uint64, error) { return checkLines(r, p.ranks) },
		filepath.Join(p.native, "rankprobe"), "lines", strconv.Itoa(bytes/mean), "1", strconv.Itoa(longest))
}

// longLine has the first rank print one line of so many bytes.
func (p place) longLine(ctx context.Context, length int) (outcome, error) {
	p.ranks = 1
	return p.job(ctx, func(r io.Reader) (uint64, error) {
		n, newlines := uint64(0), 0
		b := make([]byte, 1<<20)
		for {
			k, err := r.Read(b)
			n += uint64(k)
			newlines += bytes.Count(b[:k], []byte{'\n'})
			if err == io.EOF {
				break
			}
			if err != nil {
				return n, err
			}
		}
		if n != uint64(length) || newlines != 1 {
			return n, fmt.Errorf("%d bytes in %d lines came, not %d in one", n, newlines, length)
		}
		return n, nil
	}, filepath.Join(p.native, "rankprobe"), "long", strconv.Itoa(length))
}

// stall floods a reader that has stopped. While it has, every rank goes through
// rounds of puts, fences and gets; afterwards all of the output comes.
func (p place) stall(ctx context.Context, bytes int, pause time.Duration) (outcome, error) {
	const longest, mean = 40000, 1306
	marks, err := os.MkdirTemp(p.dir, "marks-")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(marks)
	if err := os.Chmod(marks, 0o777); err != nil {
		return outcome{}, err
	}
	script := fmt.Sprintf("%s/rankprobe lines %d 1 %d & %s/pmiclient -q -n 20 && : > %s/$RANK; wait", p.native, bytes/mean, longest, p.native, marks)
	return p.job(ctx, func(r io.Reader) (uint64, error) {
		begin := time.Now()
		if err := p.allThrough(ctx, marks); err != nil {
			return 0, err
		}
		select {
		case <-time.After(pause - time.Since(begin)):
		case <-ctx.Done():
			return 0, ctx.Err()
		}
		return checkLines(r, p.ranks)
	}, "sh", "-c", script)
}

// throughLimit is the time after which PMI beside a stopped reader counts as stuck.
const throughLimit = 2 * time.Minute

// allThrough waits until every rank has left its mark.
func (p place) allThrough(ctx context.Context, marks string) error {
	for deadline := time.Now().Add(throughLimit); ; {
		found, err := os.ReadDir(marks)
		if err != nil || len(found) == p.ranks {
			return err
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return fmt.Errorf("PMI of only %d of %d ranks went through within %v while nobody read", len(found), p.ranks, throughLimit)
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // marks are files: nothing tells of them
	}
}

// killStalled ends a flooding job whose reader has stopped.
func (p place) killStalled(ctx context.Context) (outcome, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return outcome{}, err
	}
	defer r.Close()
	in := bufio.NewReader(r)
	cmd, stderr, watched, err := p.start(ctx, w, func() error { _, err := in.Peek(1); return err }, filepath.Join(p.native, "rankprobe"), "flood", "0")
	if err != nil {
		return outcome{}, err
	}
	begin := time.Now()
	if err := cmd.Signal(syscall.SIGTERM); err != nil {
		return outcome{}, err
	}
	_ = cmd.Wait() // its status follows
	o := outcome{took: time.Since(begin), peaks: watched.End()}
	if code := cmd.ProcessState.ExitCode(); code != 143 {
		return o, fmt.Errorf("exit status %d, not 143: %s", code, stderr)
	}
	return o, nil
}
