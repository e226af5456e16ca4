package commsplit

// Membership is a rank's place in its new communicator: MPI_Comm_rank and MPI_Comm_size
// of it, and the position of its ranks in the table.
type Membership struct {
	Rank uint32 // in the old communicator
	New  uint32 // in the new one
	Size uint32 // of the new one; 0: the rank's colour is Undefined, it is in none
	Base uint32 // position of new rank 0 in the table
	Home int32  // the process that holds all of the communicator's table, or Spread, or InRange
}

// Values of Membership.Home for tables that are not at one process.
const (
	// Spread tables are cut into parts by position.
	Spread = -1
	// InRange communicators need no table: their ranks are Base, Base+1, ....
	InRange = -2
)

const membershipWords = 2

func (p Membership) append(w []uint64) []uint64 {
	return append(w, uint64(p.Rank)<<32|uint64(p.New), uint64(p.Size)<<32|uint64(p.Base))
}

// parseMembership reads the membership of a rank in a spread table.
func parseMembership(w []uint64) Membership {
	return Membership{Rank: uint32(w[0] >> 32), New: uint32(w[0]), Size: uint32(w[1] >> 32), Base: uint32(w[1]), Home: Spread}
}

// inOrder lists the memberships of the rows, in their order, among them those of no
// communicator.
func inOrder(rows []Row, memberships map[uint32]Membership) []Membership {
	list := make([]Membership, len(rows))
	for i, r := range rows {
		list[i] = Membership{Rank: r.Rank, Home: Spread}
		if r.Color != Undefined {
			list[i] = memberships[r.Rank]
		}
	}
	return list
}

// Result is the outcome of a split at one process.
type Result struct {
	Memberships []Membership // of the process's ranks, in the order in which their rows were given
	Table       *Table
}

// bound describes a share to other sorters, which find the beginnings and ends of the
// classes at its edges by it.
type bound struct {
	rows        int
	first, last uint32 // colours of the first and the last row
	firstEnd    int    // rows of the first colour
	lastStart   int    // rows that are not of the last colour
}

func boundOf(share []Row) bound {
	b := bound{rows: len(share)}
	if len(share) > 0 {
		b.first, b.last = share[0].Color, share[len(share)-1].Color
		_, b.firstEnd = class(share, b.first)
		b.lastStart, _ = class(share, b.last)
	}
	return b
}

func (b bound) message() Message {
	return Message{Words: []uint64{uint64(b.rows), uint64(b.first)<<32 | uint64(b.last), uint64(b.firstEnd), uint64(b.lastStart)}}
}

func parseBound(m Message) bound {
	return bound{
		rows: int(m.Words[0]), first: uint32(m.Words[1] >> 32), last: uint32(m.Words[1]),
		firstEnd: int(m.Words[2]), lastStart: int(m.Words[3]),
	}
}

// class returns the range of a colour's rows in a sorted table.
func class(table []Row, color uint32) (start, end int) {
	first := Row{Color: color}
	next := Row{Color: color + 1} // no overflow: rows of colour Undefined are in no table
	start = lowerBound(table, &first)
	return start, start + lowerBound(table[start:], &next)
}

// membershipOf finds a row of a sorter's share and where its class begins and ends,
// which may be in other sorters' shares.
func membershipOf(x *Row, share []Row, block int, shares split, bounds []bound) Membership {
	at := shares.start(block)
	row := at + lowerBound(share, x)
	s, e := class(share, x.Color)
	start, end := at+s, at+e
	if s == 0 {
		for b := block - 1; b >= 0; b-- {
			if bounds[b].rows == 0 {
				continue
			}
			if bounds[b].last != x.Color {
				break
			}
			start = shares.start(b) + bounds[b].lastStart
			if bounds[b].lastStart > 0 {
				break
			}
		}
	}
	if e == len(share) {
		for b := block + 1; b < len(bounds); b++ {
			if bounds[b].rows == 0 {
				continue
			}
			if bounds[b].first != x.Color {
				break
			}
			end = shares.start(b) + bounds[b].firstEnd
			if bounds[b].firstEnd < bounds[b].rows {
				break
			}
		}
	}
	return Membership{Rank: x.Rank, New: uint32(row - start), Size: uint32(end - start), Base: uint32(start), Home: Spread}
}
