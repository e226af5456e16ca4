package cache

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Imager is a Board that can hand out all that its node knows as one block of
// bytes, for processes of the node to map and to look keys up in by themselves
// (ScELA section 5.2). docs/pmi.md describes the block.
type Imager interface {
	// Image returns the state as of the last completed fence, and its epoch. It
	// does not have this node's later puts. The block is the caller's.
	Image() ([]byte, Epoch, error)
}

// The head of an image. All its numbers are little-endian.
const (
	imageMagic   = "golaunch"
	imageVersion = 1
	imageHead    = 32
	imageSlot    = 8 // hash and place, 4 bytes each
)

var _ Imager = (*hcmab)(nil)

// Image implements Imager. With homes a node does not have all there is.
func (b *hcmab) Image() ([]byte, Epoch, error) {
	if b.homes != nil {
		return nil, 0, fmt.Errorf("under %s a node holds a part of the keys only", b.cfg.Policy)
	}
	image, err := b.state.image(b.epoch)
	return image, b.epoch, err
}

// image renders the state.
func (s *state) image(epoch Epoch) ([]byte, error) {
	s.settle()
	if s.live >= maxCompact {
		return nil, errors.New("the puts are too long to be mapped")
	}
	if len(s.texts) > 1 || s.held > s.live {
		s.compact()
	}
	text := ""
	if len(s.texts) > 0 {
		text = s.texts[0]
	}
	slots := max(len(s.slots), 1) // at least one empty, where every search ends
	b := make([]byte, imageHead, imageHead+imageSlot*slots+len(text))
	copy(b, imageMagic)
	binary.LittleEndian.PutUint32(b[8:], imageVersion)
	binary.LittleEndian.PutUint32(b[12:], uint32(slots))
	binary.LittleEndian.PutUint64(b[16:], uint64(epoch))
	binary.LittleEndian.PutUint64(b[24:], uint64(len(text)))
	for _, o := range s.slots {
		place := uint32(0)
		if o.text != 0 {
			place = o.at + 1
		}
		b = binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, o.hash), place)
	}
	if len(s.slots) == 0 {
		b = append(b, make([]byte, imageSlot)...)
	}
	return append(b, text...), nil
}
