package node

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// maxFile is the longest file of sysfs that makes sense, in bytes.
const maxFile = 1 << 16

// FromSysfs reads the host that sys is of: the folder /sys/devices/system. Units that
// are offline do not count. Properties that a kernel does not tell (a virtual machine
// may have no caches) are None, and a host without NUMA nodes is one.
func FromSysfs(sys fs.FS) (*Node, error) {
	s := sysfs{sys}
	online, err := s.list("cpu/online")
	if err != nil {
		return nil, err
	}
	if len(online) == 0 {
		return nil, errors.New("cpu/online: no processing unit: expected a list such as 0-63")
	}
	numa, err := s.numa()
	if err != nil {
		return nil, err
	}
	units := map[int]bool{}
	for _, pu := range online {
		units[pu] = true
	}
	var cores []Core
	for _, pu := range online {
		if !units[pu] {
			continue // a core's second unit
		}
		dir := "cpu/cpu" + strconv.Itoa(pu) + "/"
		siblings, err := s.either(dir+"topology/core_cpus_list", dir+"topology/thread_siblings_list")
		if errors.Is(err, fs.ErrNotExist) {
			siblings, err = []int{pu}, nil
		}
		if err != nil {
			return nil, err
		}
		c := Core{Package: 0, NUMA: None, L3: None}
		if id, err := s.number(dir + "topology/physical_package_id"); err == nil {
			c.Package = max(0, id) // -1 where nobody knows
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if node, ok := numa[pu]; ok {
			c.NUMA = node
		} else if len(numa) == 0 {
			c.NUMA = 0
		}
		if c.L3, err = s.cache(dir); err != nil {
			return nil, err
		}
		for _, other := range append(siblings, pu) {
			if units[other] {
				c.PUs = append(c.PUs, other)
				delete(units, other)
			}
		}
		slices.Sort(c.PUs)
		cores = append(cores, c)
	}
	return New(cores), nil
}

type sysfs struct{ fs.FS }

// read returns a file's text without blanks around it.
func (s sysfs) read(name string) (string, error) {
	text, err := fs.ReadFile(s, name)
	if err != nil {
		return "", err
	}
	if len(text) > maxFile {
		return "", fmt.Errorf("%s: more than %d bytes", name, maxFile)
	}
	return strings.TrimSpace(string(text)), nil
}

func (s sysfs) number(name string) (int, error) {
	text, err := s.read(name)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < -1 {
		return 0, fmt.Errorf("%s: %q: expected a number", name, text)
	}
	return n, nil
}

// list reads a list of units such as 0-3,8, in ascending order.
func (s sysfs) list(name string) ([]int, error) {
	text, err := s.read(name)
	if err != nil || text == "" {
		return nil, err
	}
	list, err := ParseUnits(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	slices.Sort(list)
	return slices.Compact(list), nil
}

// ParseUnits reads a list of processing units as the kernel writes them, such as
// 0-3,8, in the order given.
func ParseUnits(text string) ([]int, error) {
	var list []int
	for word := range strings.SplitSeq(text, ",") {
		low, high, ok := strings.Cut(word, "-")
		if !ok {
			high = low
		}
		a, err := strconv.Atoi(low)
		b, err2 := strconv.Atoi(high)
		if err != nil || err2 != nil || a < 0 || b < a || b >= MaxPUs || len(list) > MaxPUs {
			return nil, fmt.Errorf("%q: expected a list of numbers below %d, such as 0-3,8", word, MaxPUs)
		}
		for pu := a; pu <= b; pu++ {
			list = append(list, pu)
		}
	}
	return list, nil
}

// either returns the first of two lists that is there.
func (s sysfs) either(first, second string) ([]int, error) {
	list, err := s.list(first)
	if errors.Is(err, fs.ErrNotExist) {
		return s.list(second)
	}
	return list, err
}

// numa returns the NUMA node of each unit, empty where there are none.
func (s sysfs) numa() (map[int]int, error) {
	of := map[int]int{}
	entries, err := fs.ReadDir(s, "node")
	if errors.Is(err, fs.ErrNotExist) {
		return of, nil
	}
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), "node")
		node, err := strconv.Atoi(digits)
		if !ok || err != nil {
			continue
		}
		list, err := s.list("node/" + e.Name() + "/cpulist")
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, pu := range list {
			if other, ok := of[pu]; ok {
				return nil, fmt.Errorf("node/%s/cpulist: unit %d is of node%d, too", e.Name(), pu, other)
			}
			of[pu] = node
		}
	}
	return of, nil
}

// cache returns the lowest unit that shares the level 3 cache, None if there is none.
func (s sysfs) cache(dir string) (int, error) {
	for i := range 16 {
		index := dir + "cache/index" + strconv.Itoa(i) + "/"
		level, err := s.number(index + "level")
		if errors.Is(err, fs.ErrNotExist) {
			return None, nil
		}
		if err != nil {
			return None, err
		}
		if level != 3 {
			continue
		}
		list, err := s.list(index + "shared_cpu_list")
		if err != nil {
			return None, err
		}
		if len(list) == 0 {
			return None, nil
		}
		return list[0], nil
	}
	return None, nil
}
