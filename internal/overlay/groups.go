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
func (o *Origin) betweenNodes(h tree.Header) (nodes tree.Hosts, size int, err error) {
	if err := o.aboutWorld(h, nil); o.parent || err != nil {
		return nil, 0, err
	}
	nodes, size = o.ranksOf.holders(int(h.World))
	switch {
	case size == 0: // it is over
		return nil, 0, nil
	case !nodes.Has(h.From):
		return nil, 0, fmt.Errorf("it is from %s, which has no ranks of world %d", o.called(h.From), h.World)
	case !nodes.Has(h.To):
		return nil, 0, fmt.Errorf("it is for %s, which has no ranks of world %d", o.called(h.To), h.World)
	}
	return nodes, size, nil
}

// group: of a world whose groups have barriers, one that it can have.
func (o *Origin) group(h tree.Header, g Group) error {
	nodes, size, err := o.betweenNodes(h)
	if size == 0 || err != nil {
		return err
	}
	if !o.ranksOf.haveGroups() {
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
func (o *Origin) home(h tree.Header, body []byte) error {
	_, size, err := o.betweenNodes(h)
	if size == 0 || err != nil {
		return err
	}
	return o.ranksOf.boards().CheckHome(body, size)
}
