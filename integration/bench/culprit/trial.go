package culprit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/internal/report"
)

// trial has the cluster of the jobs.
type trial struct {
	c        *cluster.Cluster
	golaunch string
	runs     int
}

// outcome is the result of a job.
type outcome struct {
	code int
	errs []time.Duration // by which golaunch takes peers to have ended too late after the culprit
}

// once runs a job in which a rank ends.
func (t *trial) once(ctx context.Context, p program, culprit int, end string) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	const file = "/root/culprit.json"
	argv := append([]string{
		t.golaunch, "-H", fmt.Sprintf("n[001-%03d]", p.nodes), "--ssh-config", t.c.SSHConfig(),
		"-n", strconv.Itoa(p.nodes), "-N", "1", "--report", file,
	}, p.argv...)
	out, err := t.c.CommandContext(ctx, cluster.Head, append(argv, strconv.Itoa(culprit), end)...).Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return o, fmt.Errorf("no rank has failed: %w", err)
	}
	if o.code = exit.ExitCode(); !p.tells {
		return o, nil
	}
	text, err := t.c.CommandContext(ctx, cluster.Head, "cat", file).Output()
	if err != nil {
		return o, err
	}
	var r report.Report
	if err := json.Unmarshal(text, &r); err != nil {
		return o, err
	}
	o.errs, err = errorsOf(r.Failures, string(out), culprit)
	return o, err
}

// errorsOf holds the times of failures against what ranks write, "RANK SECONDS", before they
// end.
func errorsOf(failures []report.Failure, said string, culprit int) (errs []time.Duration, err error) {
	truth := map[int]time.Duration{}
	for line := range strings.Lines(said) {
		var rank int
		var at float64
		if _, err := fmt.Sscanf(line, "%d %f\n", &rank, &at); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		truth[rank] = time.Duration(at * 1e9)
	}
	taken := map[int]time.Time{}
	for _, f := range failures {
		taken[f.Rank] = f.At
	}
	first, told := taken[culprit]
	if !told {
		return nil, nil // nobody heard of it: the job was over
	}
	for rank, at := range taken {
		if t, wrote := truth[rank]; wrote && rank != culprit {
			errs = append(errs, at.Sub(first)-(t-truth[culprit]))
		}
	}
	return errs, nil
}
