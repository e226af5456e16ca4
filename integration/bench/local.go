package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// localTable compares golaunch on this machine alone with the floor (the same
// processes and pipes, started by a C program as fast as it can) and Hydra.
func localTable(ctx context.Context, page *strings.Builder, s settings) error {
	fmt.Fprint(page, `
## One machine, /bin/true

| ranks | floor | golaunch | × floor | Hydra | Hydra / golaunch | golaunch's memory (MB) |
|---|---|---|---|---|---|---|
`)
	golaunch := filepath.Join(s.bin, "golaunch")
	for _, n := range s.local {
		ranks := strconv.Itoa(n)
		start := func(argv ...string) func() command {
			return func() command { return exec.CommandContext(ctx, argv[0], argv[1:]...) }
		}
		c, err := hold(s.runs,
			start(filepath.Join(s.bin, "native", "floor"), ranks, "/bin/true"),
			start(golaunch, "-n", ranks, "/bin/true"),
			start("mpiexec.hydra", "-n", ranks, "/bin/true"))
		if err != nil {
			return err
		}
		peak, err := peakMemory(ctx, golaunch, "-n", ranks, "/bin/true")
		if err != nil {
			return err
		}
		fmt.Fprintf(page, "| %d | %.0f | %.0f | %.2f | %.0f | %.1f | %.0f |\n",
			n, c.wall(0), c.wall(1), c.ratio(1, 0), c.wall(2), c.ratio(2, 1), float64(peak)/1e6)
	}
	fmt.Fprint(page, `
Memory: the highest sum over golaunch's processes (launcher, agent, warden) of
what each adds (PSS), looked at every 20 ms of a run of its own.
`)
	return nil
}

// peakMemory runs golaunch once more and looks again and again at how much
// memory all processes that run its executable take together, in bytes.
func peakMemory(ctx context.Context, golaunch string, args ...string) (peak int64, err error) {
	cmd := exec.CommandContext(ctx, golaunch, args...)
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			return peak, err
		case <-tick.C:
			peak = max(peak, memoryOf(golaunch))
		}
	}
}

// memoryOf is the PSS of all processes that run the executable. Those that end
// meanwhile count as nothing.
func memoryOf(executable string) (bytes int64) {
	dirs, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well formed
	for _, dir := range dirs {
		if exe, err := os.Readlink(dir + "/exe"); err != nil || exe != executable {
			continue
		}
		rollup, err := os.ReadFile(dir + "/smaps_rollup")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(rollup)) {
			if value, ok := strings.CutPrefix(line, "Pss:"); ok {
				kB, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
				bytes += kB << 10
			}
		}
	}
	return bytes
}
