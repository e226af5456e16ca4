package scale

import (
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/launcher"
)

type jobSize struct{ nodes, ranks int }

var known = struct {
	sync.Mutex
	sizes   map[jobSize]*sizes
	degrees map[int]int
}{sizes: map[jobSize]*sizes{}, degrees: map[int]int{}}

// sizesOf is newSizes, which takes long for a large job, once.
func sizesOf(nodes, ranks int) (*sizes, error) {
	known.Lock()
	defer known.Unlock()
	key := jobSize{nodes, ranks}
	if z := known.sizes[key]; z != nil {
		return z, nil
	}
	z, err := newSizes(nodes, ranks)
	if err == nil {
		known.sizes[key] = z
	}
	return z, err
}

// degreeOf returns the degree that golaunch chooses for so many nodes.
func degreeOf(nodes int) (int, error) {
	known.Lock()
	defer known.Unlock()
	if k := known.degrees[nodes]; k > 0 {
		return k, nil
	}
	o := launcher.DefaultOptions()
	o.Programs.Dir, o.Programs.Apps = "/", []job.App{{Argv: []string{"true"}, N: nodes}}
	for i := range nodes {
		o.Hosts.List = append(o.Hosts.List, job.Host{Name: nameOf(i)})
	}
	p, err := launcher.NewPlan(&o, "login")
	if err != nil {
		return 0, err
	}
	known.degrees[nodes] = p.Degree
	return p.Degree, nil
}

// batch is runs of the model that are made at once, on all processors.
type batch struct{ group errgroup.Group }

func newBatch() *batch {
	b := new(batch)
	b.group.SetLimit(runtime.NumCPU())
	return b
}

// add makes one more run; its outcome is there after wait.
func (b *batch) add(s setup, c costs) *outcome {
	o := new(outcome)
	b.group.Go(func() (err error) {
		*o, err = simulate(s, c)
		return err
	})
	return o
}

// wait waits for all runs.
func (b *batch) wait() error { return b.group.Wait() }
