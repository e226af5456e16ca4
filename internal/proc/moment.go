package proc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Moment describes the activity of a process, and of all that it has started, over a
// while.
type Moment struct {
	Used time.Duration // processor time of all of them
	Took time.Duration // length of that while
	// Of the one that shows most what they are at: the one that used most, or where none
	// used any, the first that does not just wait for one that it has started.
	Own     bool   // it is the process itself
	Name    string // of its command, as the kernel has it
	Before  byte   // state of its main thread at first: R, S, D, T, t as in proc_pid_stat(5)
	State   byte   // and at last
	Channel string // the function of the kernel in which that sleeps; "" if it is not known
}

// Moments watches processes of this host for so long, and tells what they did: of those
// that live. Another user's processes, or a kernel that hides it, may show no Channel.
func Moments(pids []int, pause time.Duration) (map[int]Moment, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	families := familiesOf(all, pids)
	first, begin := usage(families), time.Now()
	<-time.After(pause)
	last, took := usage(families), time.Since(begin)
	moments := make(map[int]Moment, len(pids))
	for _, pid := range pids {
		if m, lives := momentOf(families[pid], first, last, channel); lives {
			m.Took = took
			moments[pid] = m
		}
	}
	return moments, nil
}

// family is a process and all below it, those that were started earlier first.
type family []int

// familiesOf finds the families of processes.
func familiesOf(all []process, pids []int) map[int]family {
	children := map[int][]int{}
	for _, p := range all {
		children[p.parent] = append(children[p.parent], p.pid)
	}
	families := make(map[int]family, len(pids))
	for _, pid := range pids {
		f := family{pid}
		for i := 0; i < len(f) && len(f) <= len(all); i++ { // a number used anew could make a ring
			f = append(f, children[f[i]]...)
		}
		families[pid] = f
	}
	return families
}

// usage reads what the processes of families have used by now, and their states.
func usage(families map[int]family) map[int]process {
	now := map[int]process{}
	buf := make([]byte, 4096)
	for _, f := range families {
		for _, pid := range f {
			n, err := readProc(fmt.Sprintf("/proc/%d/stat", pid), buf)
			if err != nil {
				continue // it has ended
			}
			if p, ok := parseStat(buf[:n]); ok {
				now[pid] = p
			}
		}
	}
	return now
}

// momentOf returns a family's activity between two readings, unless none of it lives.
func momentOf(f family, first, last map[int]process, channel func(pid int) string) (m Moment, lives bool) {
	var living []process // their used counts from the first reading
	for _, pid := range f {
		before, was := first[pid]
		p, is := last[pid]
		if !was || !is || p.dead || p.used < before.used {
			continue
		}
		p.used -= before.used
		m.Used += p.used
		living = append(living, p)
	}
	if len(living) == 0 {
		return m, false
	}
	p := slices.MaxFunc(living, func(a, b process) int { return cmp.Compare(a.used, b.used) })
	if m.Used == 0 {
		p = firstAtWork(living, channel)
	}
	m.Own, m.Name, m.Before, m.State = p.pid == f[0], p.name, first[p.pid].state, p.state
	if m.State != 'R' {
		m.Channel = channel(p.pid)
	}
	return m, true
}

// firstAtWork is the first of some processes that does not wait for another to end, or
// the last, as far as that can be seen.
func firstAtWork(living []process, channel func(pid int) string) process {
	for _, p := range living {
		if in := channel(p.pid); p.state != 'S' || in != "" && in != "do_wait" && in != "sigsuspend" {
			return p
		}
	}
	return living[len(living)-1]
}

// channel is the function of the kernel in which a process sleeps, without what the
// compiler has added to its name.
func channel(pid int) string {
	buf := make([]byte, 128)
	n, err := readProc(fmt.Sprintf("/proc/%d/wchan", pid), buf)
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(strings.TrimSpace(string(buf[:n])), ".")
	if name == "0" {
		return ""
	}
	return name
}
