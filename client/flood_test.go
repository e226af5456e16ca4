package client_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/client"
	"github.com/golaunch/golaunch/tree/record"
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

// Requests that nothing matches yet hold up no others: a rank waits for messages of all
// others before these are sent, and messages are taken in the opposite order.
func TestRequestsInAnyOrder(t *testing.T) {
	const messages, long = 20_000, 100
	big := func(tag int) []byte { return bytes.Repeat([]byte{byte(tag)}, 70_000+tag) }
	ctx := t.Context()
	each(t, newCore(t).job(), func(c *client.Client) error {
		w := c.World()
		to, from := (c.Rank()+1)%ranks, (c.Rank()+ranks-1)%ranks
		never := make([]*client.Request, 1000) // until the end
		for i := range never {
			never[i] = client.StartRecv(w, from, messages+i, make([]int64, 1))
		}
		if c.Rank() > 1 {
			if err := client.Send(ctx, w, 0, 5, []int64{int64(c.Rank())}); err != nil {
				return err
			}
		}
		if c.Rank() == 0 {
			for src := ranks - 1; src > 1; src-- {
				if _, err := client.Recv(ctx, w, src, 5, make([]int64, 1)); err != nil {
					return err
				}
			}
		}
		var sends []*client.Request
		for tag := range messages {
			if c.Rank() == 0 {
				sends = append(sends, client.StartSend(w, to, tag, []int64{int64(tag)}))
			}
		}
		for tag := range long {
			sends = append(sends, client.StartSend(w, to, 2*messages+tag, big(tag)))
		}
		if c.Rank() == 1 {
			for tag := messages - 1; tag >= 0; tag-- {
				got := []int64{-1}
				if _, err := client.Recv(ctx, w, from, tag, got); err != nil || got[0] != int64(tag) {
					return fmt.Errorf("message %d is %d: %w", tag, got[0], err)
				}
			}
		}
		var recvs []*client.Request
		got := make([][]byte, long)
		for i := range got {
			tag := long - 1 - i
			got[i] = make([]byte, len(big(tag)))
			recvs = append(recvs, client.StartRecv(w, from, 2*messages+tag, got[i]))
		}
		for i := range never {
			sends = append(sends, client.StartSend(w, to, messages+i, []int64{0}))
		}
		for i, r := range slices.Concat(sends, recvs, never) {
			if err := r.Wait(ctx); err != nil {
				return fmt.Errorf("request %d: %w", i, err)
			}
		}
		for i := range got {
			if !bytes.Equal(got[i], big(long-1-i)) {
				return fmt.Errorf("long message %d is another", long-1-i)
			}
		}
		return nil
	})
}

// Beyond as many messages as an agent tells senders of, the others are told of when these
// have been received.
func TestMessagesBeyondTheLimit(t *testing.T) {
	const flood, few = record.MaxWaiting + 4000, 40
	ctx := t.Context()
	flooded := make(chan struct{})
	each(t, newCore(t).job(), func(c *client.Client) error {
		w := c.World()
		var sends []*client.Request
		switch c.Rank() {
		case 0:
			for i := range flood {
				sends = append(sends, client.StartSend(w, 1, 1, []int64{int64(i)}))
			}
			close(flooded)
		case 2:
			<-flooded
			for i := range few {
				sends = append(sends, client.StartSend(w, 1, 100+i, []int64{int64(i)}))
			}
		case 1:
			<-flooded
			got := make([]int64, 1)
			for i := range flood {
				if _, err := client.Recv(ctx, w, 0, 1, got); err != nil || got[0] != int64(i) {
					return fmt.Errorf("message %d is %d: %w", i, got[0], err)
				}
			}
			for i := few - 1; i >= 0; i-- {
				if _, err := client.Recv(ctx, w, 2, 100+i, got); err != nil || got[0] != int64(i) {
					return fmt.Errorf("message %d is %d: %w", i, got[0], err)
				}
			}
		}
		for _, r := range sends {
			if err := r.Wait(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// Senders of long messages that answer nobody hold up no others.
func TestSendersThatDoNotAnswer(t *testing.T) {
	ctx, all := within(t), newCore(t).job()
	const long, many = 100_000, 300
	var recvs []*client.Request
	for i := range many {
		recvs = append(recvs, client.StartRecv(all[0].World(), 1, i, make([]byte, long)))
	}
	for i := range many {
		client.StartSend(all[1].World(), 0, i, make([]byte, long))
	}
	last := client.StartRecv(all[0].World(), 3, many, make([]byte, long))
	require.NoError(t, client.Send(ctx, all[3].World(), 0, many, make([]byte, long)))
	require.NoError(t, last.Wait(ctx))
	for _, r := range recvs {
		require.NoError(t, r.Wait(ctx))
	}
}
