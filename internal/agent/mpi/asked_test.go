package mpi

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A look that hangs is answered for at the limit, and told to end.
func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		got := make(chan string, 1)
		begin := time.Now()
		within(time.Minute, func(context.Context) string { return "found" }, "late", func(s string) { got <- s })
		require.Equal(t, "found", <-got)
		require.Zero(t, time.Since(begin))
		within(time.Minute, func(ctx context.Context) string {
			<-ctx.Done()
			time.Sleep(time.Minute) //nolint:forbidigo // in fake time: it does not listen
			return "found"
		}, "late", func(s string) { got <- s })
		require.Equal(t, "late", <-got)
		require.Equal(t, time.Minute, time.Since(begin))
		time.Sleep(2 * time.Minute) //nolint:forbidigo // in fake time
	})
}
