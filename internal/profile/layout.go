package profile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/golaunch/golaunch/internal/job"
)

// The file that a node's ranks of one world share with their agent, which makes it with
// zeros behind its header: words of 8 bytes in the order of the machine.
// native/libprofile/layout.h has the same numbers. A rank writes its own part; a page
// that no rank has written takes no memory.
const (
	layoutMagic = 0x676c70726f663031 // glprof01

	headerWords = 16
	headWords   = 16 // of each rank
	recordWords = 8

	// The header's words.
	headerMagic    = 0
	headerRanks    = 1
	headerSize     = 2
	headerColumns  = 3
	headerHeads    = 4 // the offset, in bytes, as of the following three
	headerSent     = 5
	headerGot      = 6
	headerPool     = 7
	headerCapacity = 8 // records of the pool
	headerNext     = 9 // records of it that are given away

	// The words of a rank's head.
	headState   = 0
	headOn      = 1
	headRank    = 2 // plus 1
	headOutside = 3 // messages, bytes, nanoseconds
	headDropped = 6
	headMPI     = 8 // text to the end

	// recordsPerRank is the number of records that the pool has for each rank; ranks
	// that need few leave theirs to others.
	recordsPerRank = 1024
)

// State is the progress of a rank.
type State uint8

// The states. Their numbers travel.
const (
	Absent   State = iota // it has not come to MPI_Init
	claimed               // it is on its way through it
	Counting              // it has, and not to the end of MPI_Finalize
	Finished              // it has ended its part in MPI
)

// Layout places the counters of a node's ranks of one world.
type Layout struct {
	Ranks int  // on the node
	Size  int  // of the world
	Time  bool // there are nanoseconds, too
}

// Columns returns the number of counters of a pair.
func (l Layout) Columns() int {
	if l.Time {
		return 3
	}
	return 2
}

// maxLayout bounds the file, in bytes: it takes that much address space.
const maxLayout = 1 << 42

// Header returns the beginning of the file, and the file's length in bytes. The error
// is that of a world which is too large.
func (l Layout) Header() (header []byte, bytes int64, err error) {
	if l.Ranks < 1 || l.Size < l.Ranks {
		return nil, 0, fmt.Errorf("counters of %d ranks of %d: expected 1 or more, and no more than there are", l.Ranks, l.Size)
	}
	pairs := float64(l.Ranks) * float64(l.Size) * float64(8*l.Columns())
	if 2*pairs > maxLayout {
		return nil, 0, fmt.Errorf("counters of %d ranks on one node in a world of %d: there is room for 2 TiB", l.Ranks, l.Size)
	}
	words := make([]uint64, headerWords)
	words[headerMagic] = layoutMagic
	words[headerRanks], words[headerSize], words[headerColumns] = uint64(l.Ranks), uint64(l.Size), uint64(l.Columns())
	words[headerHeads] = 8 * headerWords
	words[headerSent] = uint64(l.heads() + int64(l.Ranks)*8*headWords)
	words[headerGot] = words[headerSent] + uint64(pairs)
	words[headerPool] = words[headerGot] + uint64(pairs)
	words[headerCapacity] = uint64(l.capacity())
	for _, w := range words {
		header = binary.NativeEndian.AppendUint64(header, w)
	}
	return header, int64(words[headerPool]) + int64(l.capacity())*8*recordWords, nil
}

func (l Layout) heads() int64 { return 8 * headerWords }

func (l Layout) head(slot int) int64 { return l.heads() + int64(slot)*8*headWords }

func (l Layout) row() int64 { return int64(l.Size) * int64(8*l.Columns()) }

func (l Layout) sent(slot int) int64 { return l.head(l.Ranks) + int64(slot)*l.row() }

func (l Layout) got(slot int) int64 { return l.sent(l.Ranks) + int64(slot)*l.row() }

func (l Layout) pool() int64 { return l.got(l.Ranks) }

func (l Layout) capacity() int { return l.Ranks * recordsPerRank }

// Switch returns the offset of the word that switches a rank's counting on or off, and
// the bytes to write there.
func (l Layout) Switch(slot int, on bool) (offset int64, word []byte) {
	value := uint64(0)
	if on {
		value = 1
	}
	return l.head(slot) + 8*headOn, binary.NativeEndian.AppendUint64(nil, value)
}

// readerAt is the part of io.ReaderAt that this package needs.
type readerAt interface {
	ReadAt(p []byte, offset int64) (int, error)
}

// ReadRank reads the counters of the rank in a slot; its number has to be rank. A rank
// that runs still is read as far as it is. The error is the file's, or names an
// impossible value: ranks may write anything there.
func (l Layout) ReadRank(file readerAt, slot int, rank job.Rank) (*Rank, error) {
	head, err := words(file, l.head(slot), headWords)
	if err != nil {
		return nil, err
	}
	r := &Rank{Rank: int32(rank)}
	switch State(head[headState]) {
	case Counting, Finished:
		r.State = State(head[headState])
	default:
		return r, nil
	}
	if head[headRank] != uint64(rank)+1 {
		return nil, fmt.Errorf("the counters of rank %d say that they are of rank %d", rank, int64(head[headRank])-1)
	}
	r.Outside = counts(head[headOutside:])
	r.Dropped = number(head[headDropped])
	r.MPI = text(head[headMPI:])
	if r.Sent, err = l.entries(file, l.sent(slot)); err != nil {
		return nil, err
	}
	if r.Got, err = l.entries(file, l.got(slot)); err != nil {
		return nil, err
	}
	return r, nil
}

// entries reads a rank's counters of all its peers; those without any are left out.
func (l Layout) entries(file readerAt, at int64) ([]Entry, error) {
	const page = 4096 // peers that are read at a time
	var list []Entry
	columns := l.Columns()
	for first := 0; first < l.Size; first += page {
		n := min(page, l.Size-first)
		w, err := words(file, at+int64(first*8*columns), n*columns)
		if err != nil {
			return nil, err
		}
		for i := range n {
			if c := counts(w[i*columns : (i+1)*columns]); c != (Counts{}) {
				list = append(list, Entry{int32(first + i), c})
			}
		}
	}
	return list, nil
}

// ReadPool adds the ranks' records of communicators and collective operations to those
// of their slots; nil stands for a rank whose counters could not be read.
func (l Layout) ReadPool(file readerAt, ranks []*Rank) error {
	header, err := words(file, 0, headerWords)
	if err != nil {
		return err
	}
	if len(ranks) != l.Ranks {
		return errors.New("counters of another number of ranks")
	}
	given := int(min(header[headerNext], uint64(l.capacity())))
	for i := range given {
		w, err := words(file, l.pool()+int64(i)*8*recordWords, recordWords)
		if err != nil {
			return err
		}
		slot, kind := uint32(w[0]), uint32(w[0]>>32)
		if slot == 0 || slot > uint32(l.Ranks) || ranks[slot-1] == nil {
			continue // a rank died before it had filled it in
		}
		r := ranks[slot-1]
		low, high := int32(uint32(w[2])), int32(uint32(w[2]>>32))
		switch c := counts(w[3:6]); {
		case low < 0 || low > MaxRanks || high < 0 || high > MaxRanks:
			r.Dropped++ // the program wrote over it, as over all that cannot be
		case kind == 0 && low < high:
			r.Members = append(r.Members, Member{Communicator: w[1], Rank: low, Size: high, Inter: w[3] != 0 || int(high) > l.Size})
		case kind == 0 || kind >= uint32(len(operations)) || high > maxClass:
			r.Dropped++
		case c.Messages > 0:
			r.Calls = append(r.Calls, Call{Communicator: w[1], Operation: Operation(kind), Root: low, Class: high, Counts: c})
		}
	}
	return nil
}

// words reads n words.
func words(file readerAt, offset int64, n int) ([]uint64, error) {
	buf := make([]byte, 8*n)
	if _, err := file.ReadAt(buf, offset); err != nil {
		return nil, fmt.Errorf("read counters: %w", err)
	}
	list := make([]uint64, n)
	for i := range list {
		list[i] = binary.NativeEndian.Uint64(buf[8*i:])
	}
	return list, nil
}

// number returns a counter, which may be anything.
func number(w uint64) int64 { return int64(min(w, math.MaxInt64/4)) }

func counts(w []uint64) Counts {
	c := Counts{Messages: number(w[0]), Bytes: number(w[1])}
	if len(w) > 2 {
		c.Nanoseconds = number(w[2])
	}
	return c
}

// text returns the text in words up to the first zero byte, without characters that do
// not print.
func text(w []uint64) string {
	var b []byte
	for _, word := range w {
		b = binary.NativeEndian.AppendUint64(b, word)
	}
	for i, c := range b {
		if c == 0 {
			b = b[:i]
			break
		}
		if c < ' ' || c > '~' {
			b[i] = '?'
		}
	}
	return string(b)
}
