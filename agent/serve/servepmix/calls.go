package servepmix

import (
	"github.com/golaunch/golaunch/pmix"
)

// failed is the answer to a request of some kind that came to nothing.
func failed(kind pmix.Kind, status pmix.Status) any {
	switch kind {
	case pmix.KindFence, pmix.KindModex:
		return pmix.Data{Status: status}
	case pmix.KindLookup:
		return pmix.Found{Status: status}
	case pmix.KindSpawn:
		return pmix.Spawned{Status: status}
	case pmix.KindGroup:
		return pmix.Grouped{Status: status}
	}
	return pmix.Done{Status: status}
}
