package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// notYet is an error that poll tries again after.
type notYet struct{ error }

func (n notYet) Unwrap() error { return n.error }

func retry(err error) error { return notYet{err} }

// Eventually reports whether something comes true within a limit. It serves tests, for
// events that nothing announces.
func Eventually(limit time.Duration, done func() bool) bool {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	return poll(ctx, func() error {
		if done() {
			return nil
		}
		return retry(errors.New("not yet"))
	}) == nil
}

// poll calls f until it returns something else than a retry error, or ctx
// ends. It serves the few events the kernel announces to nobody: that another
// program's file has appeared, that somebody else's process has ended.
func poll(ctx context.Context, f func() error) error {
	const shortest, longest = time.Millisecond, 50 * time.Millisecond
	timer := time.NewTimer(0)
	defer timer.Stop()
	for wait := shortest; ; wait = min(wait*3/2, longest) {
		<-timer.C
		err := f()
		var again notYet
		if !errors.As(err, &again) {
			return err
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", again.error, ctx.Err())
		default:
		}
	}
}
