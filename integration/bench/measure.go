package main

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// command is what both exec.Cmd and cluster.Cmd are for a measurement.
type command interface{ CombinedOutput() ([]byte, error) }

// reading is one run.
type reading struct {
	wall time.Duration
	cpu  time.Duration // of the whole machine
}

// measure runs c, which must succeed.
func measure(c command) (reading, error) {
	before, err := machineCPU()
	if err != nil {
		return reading{}, err
	}
	begin := time.Now()
	out, err := c.CombinedOutput()
	wall := time.Since(begin)
	if err != nil {
		return reading{}, fmt.Errorf("%v: %w: %s", c, err, bytes.TrimSpace(out))
	}
	after, err := machineCPU()
	return reading{wall, after - before}, err
}

// machineCPU is the time that all cores have been busy since boot.
func machineCPU() (time.Duration, error) {
	b, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat: unexpected first line %q", line)
	}
	var ticks int64
	for i, word := range fields[1:9] {
		n, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		if i != 3 && i != 4 { // idle, iowait
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// contest is the same job run by several launchers in turn.
type contest struct {
	readings [][]reading // by contender, then by run
}

// hold runs every contender runs times, in turn.
func hold(runs int, contenders ...func() command) (contest, error) {
	c := contest{make([][]reading, len(contenders))}
	for range runs {
		for i, contender := range contenders {
			r, err := measure(contender())
			if err != nil {
				return c, err
			}
			c.readings[i] = append(c.readings[i], r)
		}
	}
	return c, nil
}

// wall is the median wall time of contender i in milliseconds.
func (c contest) wall(i int) float64 {
	return median(c.readings[i], func(r reading) float64 { return r.wall.Seconds() * 1000 })
}

// cpu is the median CPU time of the machine while contender i ran, in seconds.
func (c contest) cpu(i int) float64 {
	return median(c.readings[i], func(r reading) float64 { return r.cpu.Seconds() })
}

// ratio is the median over the runs of contender i's wall time by j's.
func (c contest) ratio(i, j int) float64 {
	ratios := make([]float64, len(c.readings[i]))
	for k := range ratios {
		ratios[k] = float64(c.readings[i][k].wall) / float64(c.readings[j][k].wall)
	}
	return middle(ratios)
}

func median(readings []reading, value func(reading) float64) float64 {
	values := make([]float64, len(readings))
	for i, r := range readings {
		values[i] = value(r)
	}
	return middle(values)
}

// middle is the median of values, which it sorts; the mean of the middle two
// where their number is even.
func middle(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
