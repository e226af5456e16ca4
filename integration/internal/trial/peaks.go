package trial

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
)

// Peaks watches the memory of golaunch's processes: the kernel keeps the highest
// resident size of each, which is read again and again until it ends.
type Peaks struct {
	stop chan struct{}
	done sync.WaitGroup

	procs map[int]*peak // of the watching goroutine, until it is done
}

type peak struct {
	role string // golaunch, agent or warden
	kib  int
}

// watchEvery is the time between readings of the peaks; growth in the last moment of a
// process is missed. seekEvery is the number of them between searches for new
// processes.
const (
	watchEvery = 50 * time.Millisecond
	seekEvery  = 5 // of those
)

// Watch begins to watch the golaunch processes that run, or come to run, on c's
// machines.
func Watch(c *cluster.Cluster) (*Peaks, error) {
	p := &Peaks{stop: make(chan struct{}), procs: make(map[int]*peak)}
	if err := p.seek(c); err != nil {
		return nil, err
	}
	p.done.Go(func() { // ends with End
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for turn := 1; ; turn++ {
			p.look()
			if turn%seekEvery == 0 {
				_ = p.seek(c) // a node that was killed has none
			}
			select {
			case <-tick.C:
			case <-p.stop:
				return
			}
		}
	})
	return p, nil
}

// seek adds the processes that are new. Machines that have none to tell keep it
// from no other.
func (p *Peaks) seek(c *cluster.Cluster) error {
	var errs []error
	for _, name := range Everywhere(c) {
		procs, err := c.Processes(name)
		errs = append(errs, err)
		for _, proc := range procs {
			if role := part(proc.Cmdline); role != "" && p.procs[proc.PID] == nil {
				p.procs[proc.PID] = &peak{role: role}
			}
		}
	}
	return errors.Join(errs...)
}

// part names golaunch's process of a command line.
func part(words []string) string {
	for _, w := range words {
		switch w {
		case Agent:
			return "agent"
		case Warden:
			return "warden"
		}
	}
	if len(words) > 0 && strings.HasSuffix(words[0], "/golaunch") {
		return "golaunch"
	}
	return ""
}

func (p *Peaks) look() {
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

// End stops watching and returns the highest peak of each kind of process, in
// MiB.
func (p *Peaks) End() map[string]float64 {
	close(p.stop)
	p.done.Wait()
	highest := make(map[string]float64)
	for _, k := range p.procs {
		highest[k.role] = max(highest[k.role], float64(k.kib)/1024)
	}
	return highest
}
