package overlay

import "github.com/golaunch/golaunch/cache"

// Group says that a node is in the barrier of a group, to the first of its
// nodes; or, from that one, that all are.
type Group struct {
	Key     []byte             `cbor:"1,keyasint"` // as in pmi.Request
	Need    int                `cbor:"2,keyasint"` // nodes of the group; 0: all are in
	Entries []cache.GroupEntry `cbor:"3,keyasint"` // what the sender knows of the group's puts
}
