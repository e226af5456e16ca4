package startup

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
)

// memoryRow has the memory of golaunch's processes while all ranks of a job run.
type memoryRow struct {
	nodes, ppn int
	launcher   footprint
	agent      footprint // the largest of all nodes'
	warden     footprint
	node       int64 // resident bytes of agent and wardens together, the largest sum of all nodes'
	nodeOnce   int64 // the same with the pages of files, of the executable that is, of one of them only
	nodePeak   int64 // the same of their peaks
}

// footprint is of one process.
type footprint struct {
	peak        int64 // the most bytes it ever had resident
	resident    int64
	anonymous   int64 // of these, its own: not the pages of files
	pss         int64 // its own bytes, and its share of shared ones
	descriptors int
}

// memoryJobs starts ranks that wait, and looks at the processes meanwhile.
func (b *bench) memoryJobs(ctx context.Context, f *field) error {
	nodes := b.most(full)
	shapes := []task{{nodes: b.nodes[0], ppn: 1}, {nodes: nodes, ppn: 1}, {nodes: nodes, ppn: b.ranks[len(b.ranks)-1]}}
	if largest := b.nodes[len(b.nodes)-1]; largest > nodes {
		shapes = append(shapes, task{nodes: largest, ppn: 1})
	}
	for _, t := range shapes {
		t.program = []string{"/bin/sh", "-c", "echo up; exec sleep 1000"}
		row, err := f.look(ctx, t)
		if err != nil {
			return fmt.Errorf("memory of %d × %d: %w", t.nodes, t.ppn, err)
		}
		b.book.memory = append(b.book.memory, row)
	}
	return b.save()
}

// look starts one job, waits until all its ranks have spoken, looks, and ends it.
func (f *field) look(ctx context.Context, t task) (row memoryRow, err error) {
	ctx, cancel := context.WithTimeout(ctx, f.limit)
	defer cancel()
	cmd := f.CommandContext(ctx, cluster.Head, f.golaunch(t)...)
	cmd.WaitDelay = time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return row, err
	}
	if err := cmd.Start(); err != nil {
		return row, err
	}
	lines := bufio.NewScanner(out)
	up := 0
	for up < t.nodes*t.ppn && lines.Scan() {
		up++
	}
	if up == t.nodes*t.ppn {
		row, err = f.footprints(cmd.Process.Pid, t)
	} else {
		err = fmt.Errorf("%d ranks of %d came up", up, t.nodes*t.ppn)
	}
	if end := cmd.Signal(syscall.SIGTERM); end != nil && err == nil {
		err = end
	}
	_ = cmd.Wait() // it was told to end
	return row, err
}

func (f *field) footprints(launcher int, t task) (row memoryRow, err error) {
	row.nodes, row.ppn = t.nodes, t.ppn
	if row.launcher, err = footprintOf(launcher); err != nil {
		return row, err
	}
	for _, n := range f.Nodes()[:t.nodes] {
		procs, err := f.Processes(n.Name)
		if err != nil {
			return row, err
		}
		var node, peak, own, files int64
		ours := slices.DeleteFunc(procs, func(p cluster.Proc) bool {
			exe, err := p.Exe()
			return err != nil || exe != filepath.Join(f.bin, "golaunch")
		})
		if len(ours) < 2 {
			return row, fmt.Errorf("%s has %d processes of golaunch, not an agent and a warden", n.Name, len(ours))
		}
		for _, p := range ours {
			one, err := footprintOf(p.PID)
			if err != nil {
				return row, err
			}
			into := &row.agent
			if slices.ContainsFunc(ours, func(q cluster.Proc) bool { return q.PID == p.PPID }) {
				into = &row.warden
			}
			node, peak = node+one.resident, peak+one.peak
			own, files = own+one.anonymous, max(files, one.resident-one.anonymous)
			into.pss, into.descriptors = max(into.pss, one.pss), max(into.descriptors, one.descriptors)
		}
		row.node, row.nodeOnce, row.nodePeak = max(row.node, node), max(row.nodeOnce, own+files), max(row.nodePeak, peak)
	}
	return row, nil
}

func footprintOf(pid int) (p footprint, err error) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	status, err := os.ReadFile(dir + "/status")
	if err != nil {
		return p, err
	}
	rollup, err := os.ReadFile(dir + "/smaps_rollup")
	if err != nil {
		return p, err
	}
	files, err := os.ReadDir(dir + "/fd")
	if err != nil {
		return p, err
	}
	p.peak, p.resident = kilobytes(string(status), "VmHWM:"), kilobytes(string(status), "VmRSS:")
	p.anonymous, p.pss = kilobytes(string(rollup), "Anonymous:"), kilobytes(string(rollup), "Pss:")
	p.descriptors = len(files)
	return p, nil
}

// kilobytes reads a line of files in /proc such as "VmHWM:   1234 kB", in bytes;
// 0 where there is none.
func kilobytes(text, name string) int64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			if words := strings.Fields(rest); len(words) > 0 {
				n, _ := strconv.ParseInt(words[0], 10, 64) // the kernel writes numbers
				return n << 10
			}
		}
	}
	return 0
}
