package overlay

import (
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/profile"
	"github.com/golaunch/golaunch/tree"
)

// profile: counters of a rank on the host that it says it comes from. Of a world
// that is over nobody knows how many ranks it had.
func (c *claims) profile(h tree.Header, p profile.Part) error {
	if err := c.rank(int(h.World), job.Rank(p.Rank), h.From); err != nil {
		return err
	}
	blocks, over, err := c.places.find(int(h.World))
	if err != nil {
		return err
	}
	size := profile.MaxRanks
	if !over {
		last := blocks[len(blocks)-1]
		size = int(last.First) + last.Count
	}
	return p.Check(size)
}
