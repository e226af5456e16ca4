package bootstrap

import (
	"context"
	"fmt"
)

// StepBegins is told of a step of a start that begins; its result is called when the
// step is over, well or not. Several goroutines may call it.
type StepBegins func(p Phase) (end func())

type stepKey struct{}

// WithSteps returns a context whose starts tell begins of their steps.
func WithSteps(ctx context.Context, begins StepBegins) context.Context {
	return context.WithValue(ctx, stepKey{}, begins)
}

// BeginStep says that a step of the start that ctx is for begins; its result is called
// when the step is over. Without a StepBegins it does nothing.
func BeginStep(ctx context.Context, p Phase) (end func()) {
	begins, ok := ctx.Value(stepKey{}).(StepBegins)
	if !ok {
		return func() {}
	}
	return begins(p)
}

type detailKey struct{}

// WithDetails returns a context whose starts tell events on the way: addresses, keys.
// Several goroutines may call tell.
func WithDetails(ctx context.Context, tell func(text string)) context.Context {
	return context.WithValue(ctx, detailKey{}, tell)
}

// Detail reports a detail of the start that ctx is for. Without a receiver it does
// nothing.
func Detail(ctx context.Context, format string, args ...any) {
	if tell, ok := ctx.Value(detailKey{}).(func(string)); ok {
		tell(fmt.Sprintf(format, args...))
	}
}

type awaitedKey struct{}

// WithAwaited returns a context whose starts tell of what they wait for without an error,
// as Error.Awaited says it. Several goroutines may call tell, until the start's pipe has
// spoken or is closed.
func WithAwaited(ctx context.Context, tell func(text string)) context.Context {
	return context.WithValue(ctx, awaitedKey{}, tell)
}

// Await reports the thing that the start that ctx is for waits for. Without a receiver
// it does nothing.
func Await(ctx context.Context, text string) {
	if tell, ok := ctx.Value(awaitedKey{}).(func(string)); ok {
		tell(text)
	}
}
