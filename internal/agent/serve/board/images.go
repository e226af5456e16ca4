package board

import (
	"errors"
	"fmt"
	"os"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/unix"
	"github.com/golaunch/golaunch/pmi"
)

// images are the files in which local ranks find the state of their world's
// bulletin board: one for the last fence after which a rank asked, and the one
// before it, which a rank that is late may still be about to open.
type images struct {
	file    [2]*os.File
	mapping pmi.Mapping // of file[0]
}

// Image returns the file for the last fence; the first rank that asks after it
// has it made.
func (b *Board) Image() (pmi.Mapping, error) {
	board, ok := b.board.(cache.Imager)
	switch {
	case !ok:
		return pmi.Mapping{}, errors.New("this cache policy leaves most keys on other nodes")
	case b.NoImages != nil:
		return pmi.Mapping{}, b.NoImages
	}
	m := &b.images
	if epoch := b.board.Stats().Epoch; m.file[0] != nil && m.mapping.Epoch == uint64(epoch) {
		return m.mapping, nil
	}
	block, epoch, err := board.Image()
	if err != nil {
		return pmi.Mapping{}, err
	}
	file, err := unix.MemFile(fmt.Sprintf("golaunch-kvs-%d", epoch), block)
	if err != nil {
		return pmi.Mapping{}, err
	}
	if m.file[1] != nil {
		m.file[1].Close()
	}
	m.file = [2]*os.File{file, m.file[0]}
	m.mapping = pmi.Mapping{Path: unix.DescriptorPath(file), Size: len(block), Epoch: uint64(epoch)}
	return m.mapping, nil
}

// close lets go of the files. Ranks that have mapped one keep it.
func (m *images) close() {
	for _, f := range m.file {
		if f != nil {
			f.Close()
		}
	}
	*m = images{}
}
