package ibnet

import (
	"bufio"
	"fmt"
	"io"
)

// WriteTables writes forwarding tables in the form of OpenSM's opensm.fdbs, which
// ParseTables and ibdmchk read. The form has the number of hops to each LID, which
// tables do not tell: it is 0.
func WriteTables(w io.Writer, t *Tables) error {
	out := bufio.NewWriter(w)
	for i := range t.Switches {
		s := &t.Switches[i]
		fmt.Fprintf(out, "dump_ucast_routes: Switch 0x%016x\nLID    : Port : Hops : Optimal\n", s.GUID)
		for lid := 1; lid < len(s.Ports); lid++ {
			if port := s.Ports[lid]; port == Unreachable {
				fmt.Fprintf(out, "0x%04X : UNREACHABLE\n", lid)
			} else {
				fmt.Fprintf(out, "0x%04X : %03d  : 00   : yes\n", lid, port)
			}
		}
	}
	return out.Flush()
}
