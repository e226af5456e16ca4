package agent

import (
	"context"
	"time"
)

// findWithin has look run beside the event loop, and hands its result to post, from a
// goroutine that ends with the limit: late where look takes longer, as a file system may hang.
func findWithin[T any](limit time.Duration, look func(context.Context) T, late T, post func(T)) {
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
