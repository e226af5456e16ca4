package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
)

// peaks watches how much memory golaunch's processes take: the kernel keeps the
// highest resident size of each, which is read again and again until it ends.
type peaks struct {
	stop chan struct{}
	done sync.WaitGroup

	mu    sync.Mutex
	procs map[int]*peak
}

type peak struct {
	what string // golaunch, agent or warden
	kib  int
}

// watchEvery is how often the peaks are read; one that comes in the last moment
// of a process is missed.
const watchEvery = 50 * time.Millisecond

// watch begins to watch the golaunch processes that run on c's machines.
func watch(c *cluster.Cluster) (*peaks, error) {
	p := &peaks{stop: make(chan struct{}), procs: make(map[int]*peak)}
	names := []string{cluster.Head}
	for _, n := range c.Nodes() {
		names = append(names, n.Name)
	}
	for _, name := range names {
		procs, err := c.Processes(name)
		if err != nil {
			return nil, err
		}
		for _, proc := range procs {
			if what := part(proc.Cmdline); what != "" {
				p.procs[proc.PID] = &peak{what: what}
			}
		}
	}
	p.done.Go(func() { // ends with end
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			p.look()
			select {
			case <-tick.C:
			case <-p.stop:
				return
			}
		}
	})
	return p, nil
}

// part says which of golaunch's processes a command line is.
func part(words []string) string {
	for _, w := range words {
		switch w {
		case "nla-agent":
			return "agent"
		case "nla-warden":
			return "warden"
		}
	}
	if len(words) > 0 && strings.HasSuffix(words[0], "/golaunch") {
		return "golaunch"
	}
	return ""
}

func (p *peaks) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for pid, k := range p.procs {
		if kib, err := highWater(pid); err == nil { // else it has ended
			k.kib = max(k.kib, kib)
		}
	}
}

// highWater is the highest resident size that a process has had, in KiB.
func highWater(pid int) (int, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, ok := bytes.Cut(b, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if !ok || len(fields) == 0 {
		return 0, fmt.Errorf("process %d: no VmHWM: it is a zombie", pid)
	}
	return strconv.Atoi(string(fields[0]))
}

// end stops watching and returns the highest peak of each kind of process, in
// MiB.
func (p *peaks) end() map[string]float64 {
	close(p.stop)
	p.done.Wait()
	highest := make(map[string]float64)
	for _, k := range p.procs {
		highest[k.what] = max(highest[k.what], float64(k.kib)/1024)
	}
	return highest
}
