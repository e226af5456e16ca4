package bootstrap

import (
	"context"
	"time"
)

// StepDone is told of a step of a start that is over, well or not. Several
// goroutines may call it.
type StepDone func(p Phase, begin, end time.Time)

type stepKey struct{}

// WithSteps returns a context whose starts tell done of their steps.
func WithSteps(ctx context.Context, done StepDone) context.Context {
	return context.WithValue(ctx, stepKey{}, done)
}

// BeginStep says that a step of the start that ctx is for begins; what it
// returns is called when the step is over. Where nobody wants to know it does
// nothing.
func BeginStep(ctx context.Context, p Phase) (end func()) {
	done, ok := ctx.Value(stepKey{}).(StepDone)
	if !ok {
		return func() {}
	}
	begin := time.Now()
	return func() { done(p, begin, time.Now()) }
}
