package jobloop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPage(t *testing.T) {
	s := settings{nodes: 6, ppn: 2, jobs: 2, crowd: 3, atATime: 3, program: []string{"/bin/true"}}
	page := s.page([]*series{
		{name: "golaunch", took: []time.Duration{time.Second, 2 * time.Second}, statuses: map[string]int{"0": 2}},
		{name: "mpiexec", took: []time.Duration{3 * time.Second, 8 * time.Second}, statuses: map[string]int{"0": 1, "exit status 1: no": 1}, left: []string{"n001: 7 (8) sleep"}},
		{name: "golaunch", crowd: true, all: 2 * time.Second, took: []time.Duration{time.Second}, statuses: map[string]int{"0": 1}},
		{name: "mpiexec", crowd: true, all: 5 * time.Second, took: []time.Duration{time.Second}, statuses: map[string]int{"0": 1}},
	})
	for _, line := range []string{
		"| one after another | golaunch | 1.50 s | 2.00 s | – | 1 | 2 of 2 | nothing |",
		"| one after another | mpiexec | 5.50 s | 8.00 s | – | 3.5 | 1 of 2 | 1 |",
		"| 3 at a time | golaunch | 1.00 s | 1.00 s | 2.00 s | 1 | 1 of 1 | nothing |",
		"| 3 at a time | mpiexec | 1.00 s | 1.00 s | 5.00 s | 2.5 | 1 of 1 | nothing |",
		"- mpiexec, one after another, 1 times: exit status 1: no",
		"- mpiexec, one after another, left: n001: 7 (8) sleep",
	} {
		require.Contains(t, page, line+"\n")
	}
}
