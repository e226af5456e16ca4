package overlay

import (
	"errors"
	"fmt"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/pmi"
	"github.com/golaunch/golaunch/tree"
)

// Group says that a node is in the barrier of a group, to the first of its
// nodes; or, from that one, that all are.
type Group struct {
	Key     []byte             `cbor:"1,keyasint"` // as in pmi.Request
	Need    int                `cbor:"2,keyasint"` // nodes of the group; 0: all are in
	Entries []cache.GroupEntry `cbor:"3,keyasint"` // puts of the group that the sender knows
}

// betweenNodes: both hold ranks of the world. The receiver drops messages of one that
// is over. size is the number of its ranks, 0 where nothing else is to be judged.
func (c *claims) betweenNodes(h tree.Header) (nodes tree.Hosts, size int, err error) {
	if err := c.aboutWorld(h, nil); err != nil {
		return nil, 0, err
	}
	nodes, size = c.places.nodesOf(int(h.World))
	switch {
	case size == 0: // it is over
		return nil, 0, nil
	case !nodes.Has(h.From):
		return nil, 0, fmt.Errorf("it is from %s, which has no ranks of world %d", c.child.called(h.From), h.World)
	case !nodes.Has(h.To):
		return nil, 0, fmt.Errorf("it is for %s, which has no ranks of world %d", c.child.called(h.To), h.World)
	}
	return nodes, size, nil
}

// group: of a world whose groups have barriers, one that it can have.
func (c *claims) group(h tree.Header, g Group) error {
	nodes, size, err := c.betweenNodes(h)
	if size == 0 || err != nil {
		return err
	}
	if !c.places.haveGroups() {
		return errors.New("this job has no barriers of groups (--pmi 1.2)")
	}
	if _, err := pmi.GroupMembers(string(g.Key), size); err != nil {
		return fmt.Errorf("%.60q is no group of %d ranks", g.Key, size)
	}
	if g.Need < 0 || g.Need > nodes.Len() {
		return fmt.Errorf("a group on %d nodes of %d", g.Need, nodes.Len())
	}
	for _, e := range g.Entries {
		if e.Node < 0 || int(e.Node) >= nodes.Len() {
			return fmt.Errorf("a put of node %d of %d", e.Node, nodes.Len())
		}
	}
	return nil
}

// home: a message of the policy that the job has.
func (c *claims) home(h tree.Header, body []byte) error {
	_, size, err := c.betweenNodes(h)
	if size == 0 || err != nil {
		return err
	}
	return c.places.boards().CheckHome(body, size)
}
