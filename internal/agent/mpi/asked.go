package mpi

import (
	"context"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/loader"
)

// askLimit bounds how long the start of programs may wait for what their loaders say, and
// ranks that begin MPI for what is found out about their process.
const askLimit = 5 * time.Second

// asked keeps what the loaders of programs have said: each is asked once, beside the event
// loop, within askLimit.
type asked[T any] struct {
	agent Agent
	of    map[string]*inquiry[T]
}

// inquiry is one question to a loader.
type inquiry[T any] struct {
	answer  *T // nil while there is none
	waiting []func(*T)
}

// ask has then called with what look finds, or with late where it takes too long: at once if
// it is known by the program's key, else by an event, of which the agent is told.
func (q *asked[T]) ask(key string, look func(context.Context) T, late T, then func(*T)) {
	if x := q.of[key]; x != nil {
		if x.answer != nil {
			then(x.answer)
		} else {
			x.waiting = append(x.waiting, then)
		}
		return
	}
	if q.of == nil {
		q.of = map[string]*inquiry[T]{}
	}
	q.of[key] = &inquiry[T]{waiting: []func(*T){then}}
	within(askLimit, look, late, func(result T) {
		q.agent.Post(func() { q.known(key, result) })
	})
}

// known takes an answer.
func (q *asked[T]) known(key string, result T) {
	x := q.of[key]
	x.answer = &result
	for _, then := range x.waiting {
		then(x.answer)
	}
	x.waiting = nil
	q.agent.Learned()
}

// programKey tells programs apart whose loader may take other libraries.
func programKey(p loader.Program) string {
	key := []string{p.File, p.Dir}
	for _, v := range p.Env {
		if strings.HasPrefix(v, "LD_") {
			key = append(key, v)
		}
	}
	return strings.Join(key, "\x00")
}

// within runs look beside the event loop, and hands its result to post, from a
// goroutine that ends with the limit: late where look takes longer, as a file system may hang.
func within[T any](limit time.Duration, look func(context.Context) T, late T, post func(T)) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		found := make(chan T, 1)
		go func() { found <- look(ctx) }()
		select {
		case result := <-found:
			post(result)
		case <-ctx.Done():
			post(late)
		}
	}()
}
