package overlay

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree"
)

// waiting: ranks of the world that are below the child. The launcher drops messages
// about a world that is over.
func (c *claims) waiting(h tree.Header, m Waiting) error {
	if err := long(maxCause, m.Library); err != nil {
		return err
	}
	if _, over, err := c.places.find(int(h.World)); err != nil || over {
		return err
	}
	w, err := c.share(int(h.World))
	if err != nil {
		return err
	}
	left := w.ranks
	for _, r := range m.Ranks {
		if err := c.take(&left, int(h.World), r.First, r.Count); err != nil {
			return fmt.Errorf("a wait of %w", err)
		}
	}
	return nil
}

// waits: no more than a question allows, of ranks that are below the child.
func (c *claims) waits(_ tree.Header, m Waits) error {
	if len(m.Waits) > MostWaits || len(m.Examples) > MostExamples || len(m.Unanswered) > MostExamples {
		return fmt.Errorf("%d waits with %d examples, and %d of connections", len(m.Waits), len(m.Examples), len(m.Unanswered))
	}
	if m.Attempts < len(m.Unanswered) || m.Attempts > c.ranks*MostAttempts {
		return fmt.Errorf("%d connections that nobody answers", m.Attempts)
	}
	if err := line(maxCause, slices.Concat(m.Examples, m.Unanswered)...); err != nil {
		return err
	}
	if m.Living < 0 || m.Messages < 0 || m.Messages > m.Living {
		return fmt.Errorf("%d of %d ranks wait for messages", m.Messages, m.Living)
	}
	if m.Living > c.ranks {
		return fmt.Errorf("%d ranks of %d live", m.Living, c.ranks)
	}
	if err := c.states(&m); err != nil {
		return err
	}
	told := map[WaitID]bool{}
	for _, x := range m.Waits {
		if told[x.ID] {
			return fmt.Errorf("wait %d of %d of world %d is told of twice", x.ID.Seq, x.ID.Comm, x.ID.World)
		}
		told[x.ID] = true
		if err := line(maxCause, x.Text); err != nil {
			return err
		}
		left := c.ranksIn(x.ID.World)
		for _, r := range slices.Concat(x.Missing, x.Begun, x.Ended, x.Left) {
			if err := c.take(&left, x.ID.World, job.Rank(r.First), r.Count); err != nil {
				return fmt.Errorf("a wait for %w", err)
			}
		}
	}
	return nil
}

// take takes count ranks of the child, from first on, off those that are left. Of
// worlds that are over nobody knows where ranks were.
func (c *claims) take(left *int, world int, first job.Rank, count int) error {
	blocks, over, err := c.places.find(world)
	if err != nil {
		return err
	}
	if count < 1 || count > *left || !over && !allOn(blocks, first, count, c.child.given.Has) {
		return fmt.Errorf("ranks %d+%d of world %d, which are not below it", first, count, world)
	}
	*left -= count
	return nil
}
