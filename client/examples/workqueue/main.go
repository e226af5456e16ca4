// Command workqueue has rank 0 give tasks to ranks that ask, and collect the results:
// "golaunch -n 8 workqueue". Ranks may end at any time: others do their tasks. With
// "golaunch --keep-going" they may also fail.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"

	"github.com/golaunch/golaunch/client"
)

// Tags of messages: a task, or none, goes to a rank; it sends a result, its first to ask.
const (
	taskTag = iota
	resultTag
)

// none is no task: nothing is left to do. As a result, it asks only.
const none = -1

// result is that of a task, made by a rank.
type result struct {
	task, value int
}

func work(task int) int { return task * task }

func main() {
	tasks := flag.Int("tasks", 100, "how many `tasks` there are")
	leave := flag.Int("leave", 0, "ranks but 0 leave in the midst of their task of this `number`; 0: they stay")
	flag.Parse()
	if err := run(context.Background(), *tasks, *leave); err != nil {
		fmt.Fprintln(os.Stderr, "workqueue:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, tasks, leave int) error {
	job, err := client.Open(ctx)
	if err != nil {
		return err
	}
	defer job.Close()
	world := job.World()
	if world.Size() < 2 {
		return errors.New("rank 0 gives work to others: start two ranks or more")
	}
	if world.Rank() > 0 {
		return serve(ctx, world, leave)
	}
	sum, err := give(ctx, world, tasks)
	if err != nil {
		return err
	}
	fmt.Printf("%d tasks, results add up to %d\n", tasks, sum)
	return nil
}

// serve does tasks until none is left.
func serve(ctx context.Context, world *client.Comm, leave int) error {
	answer, task := result{task: none}, make([]int, 1)
	for number := 1; ; number++ {
		err := client.Send(ctx, world, 0, resultTag, []int{answer.task, answer.value})
		if err == nil {
			_, err = client.Recv(ctx, world, 0, taskTag, task)
		}
		var gone *client.LeftError
		switch {
		case number == 1 && errors.As(err, &gone):
			return nil // the others have done all tasks while this rank began
		case err != nil:
			return err
		}
		if task[0] == none || number == leave {
			return nil
		}
		answer = result{task[0], work(task[0])}
	}
}

// queue is rank 0's list of tasks and of the ranks that do them.
type queue struct {
	world   *client.Comm
	waiting []int       // tasks that nobody has
	has     map[int]int // task of each rank
	idle    []int       // ranks that have asked in vain
	sum     int
}

// give gives tasks out until all are done, and returns the sum of the results.
func give(ctx context.Context, world *client.Comm, tasks int) (int, error) {
	q := queue{world: world, has: make(map[int]int)}
	for task := range tasks {
		q.waiting = append(q.waiting, task)
	}
	got := make([]int, 2)
	results, left := client.StartRecv(world, client.Any, resultTag, got), world.StartLeft()
	for len(q.waiting)+len(q.has) > 0 {
		which, err := client.WaitAny(ctx, results, left)
		var gone *client.LeftError
		switch {
		case which == 1 && errors.As(err, &gone):
			q.leave(gone.Ranks)
			left = world.StartLeft()
		case err != nil: // or all others have left
			return 0, fmt.Errorf("%d tasks are not done: %w", len(q.waiting)+len(q.has), err)
		default:
			m, err := results.Message(ctx)
			if err != nil {
				return 0, err
			}
			q.take(m.Source, result{got[0], got[1]})
			results = client.StartRecv(world, client.Any, resultTag, got)
		}
		if err := q.spread(ctx); err != nil {
			return 0, err
		}
	}
	return q.sum, q.end(ctx)
}

// take notes a rank's result: it has no task then.
func (q *queue) take(rank int, r result) {
	if r.task != none {
		q.sum += r.value
		delete(q.has, rank)
	}
	q.idle = append(q.idle, rank)
}

// leave notes that ranks do nothing more: their tasks wait again.
func (q *queue) leave(ranks []int) {
	for _, rank := range ranks {
		if task, ok := q.has[rank]; ok {
			q.waiting = append(q.waiting, task)
			delete(q.has, rank)
		}
		q.idle = slices.DeleteFunc(q.idle, func(r int) bool { return r == rank })
	}
}

// spread gives waiting tasks to idle ranks.
func (q *queue) spread(ctx context.Context) error {
	for len(q.waiting) > 0 && len(q.idle) > 0 {
		rank, task := q.idle[0], q.waiting[0]
		q.idle, q.waiting = q.idle[1:], q.waiting[1:]
		q.has[rank] = task
		if err := q.tell(ctx, rank, task); err != nil {
			return err
		}
	}
	return nil
}

// tell sends a task. That its rank has left is told by StartLeft, too.
func (q *queue) tell(ctx context.Context, rank, task int) error {
	err := client.Send(ctx, q.world, rank, taskTag, []int{task})
	if left := (*client.LeftError)(nil); errors.As(err, &left) {
		return nil
	}
	return err
}

// end tells those that are idle that nothing is left.
func (q *queue) end(ctx context.Context) error {
	for _, rank := range q.idle {
		if err := q.tell(ctx, rank, none); err != nil {
			return err
		}
	}
	return nil
}
