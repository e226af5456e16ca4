package client_test

import (
	"fmt"
	"testing"

	"github.com/golaunch/golaunch/client"
)

// 100,000 small messages are begun before any is waited for, of each rank to the next
// but one, on the other node. They keep their order.
func TestManyMessagesUnderWay(t *testing.T) {
	const messages = 100_000 / ranks
	ctx := t.Context()
	each(t, newCore(t).job(), func(c *client.Client) error {
		w := c.World()
		to, from := (c.Rank()+perNode)%ranks, (c.Rank()+ranks-perNode)%ranks
		var under []*client.Request
		got := make([]int64, messages)
		for i := range got {
			under = append(under, client.StartSend(w, to, 7, []int64{int64(i)}), client.StartRecv(w, from, 7, got[i:i+1]))
		}
		for i, r := range under {
			if err := r.Wait(ctx); err != nil {
				return fmt.Errorf("request %d: %w", i, err)
			}
		}
		for i, x := range got {
			if x != int64(i) {
				return fmt.Errorf("message %d is number %d", i, x)
			}
		}
		return nil
	})
}
