package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/golaunch/golaunch/tree/member"
)

// Board is the world's bulletin board as of a fence, all of it, mapped into this
// process: looking a key up asks nobody. The ranks of a node share its memory.
type Board struct {
	mapped []byte
	table  []byte // 8 bytes per slot
	text   []byte
	epoch  int64
}

const (
	boardMagic   = "golaunch"
	boardVersion = 1
	boardHead    = 32
)

var errBoard = errors.New("the bulletin board's file is not as this library expects")

// Board maps the state as of the last fence that this rank has passed. It must
// not be called while a Fence is under way. Where the job's cache policy leaves
// keys on other nodes (--cache), there is none, and an error; Get is for
// everywhere.
func (c *Client) Board(ctx context.Context) (*Board, error) {
	r, err := c.call(ctx, "the bulletin board", func() *member.Request { return c.session.Map() })
	if err != nil {
		return nil, err
	}
	path, size, epoch := r.Mapped()
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open the bulletin board: %w", err)
	}
	defer f.Close()
	if size < boardHead {
		return nil, errBoard
	}
	b := &Board{epoch: epoch}
	if b.mapped, err = syscall.Mmap(int(f.Fd()), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED); err != nil {
		return nil, fmt.Errorf("map the bulletin board: %w", err)
	}
	le := binary.LittleEndian
	slots := uint64(le.Uint32(b.mapped[12:]))
	if string(b.mapped[:8]) != boardMagic || le.Uint32(b.mapped[8:]) != boardVersion || int64(le.Uint64(b.mapped[16:])) != epoch ||
		slots == 0 || slots&(slots-1) != 0 || boardHead+8*slots+le.Uint64(b.mapped[24:]) != uint64(size) {
		b.Close()
		return nil, errBoard
	}
	b.table, b.text = b.mapped[boardHead:boardHead+8*slots], b.mapped[boardHead+8*slots:]
	return b, nil
}

// Epoch counts the completed fences of the world.
func (b *Board) Epoch() int64 { return b.epoch }

// Get looks a key up. The value is valid until Close and must not be changed. After
// Close nothing is found.
func (b *Board) Get(key string) (value []byte, found bool) {
	h := uint64(14695981039346656037) // FNV-1a
	for i := range len(key) {
		h = (h ^ uint64(key[i])) * 1099511628211
	}
	hash := uint32(h ^ h>>32)
	le := binary.LittleEndian
	slots := uint32(len(b.table) / 8)
	if slots == 0 { // it is closed
		return nil, false
	}
	for i, seen := hash%slots, uint32(0); seen < slots; i, seen = (i+1)%slots, seen+1 {
		place := le.Uint32(b.table[8*i+4:])
		if place == 0 {
			return nil, false
		}
		if le.Uint32(b.table[8*i:]) != hash {
			continue
		}
		name, next, ok := b.field(int(place - 1))
		if ok && string(name) == key {
			value, _, found = b.field(next)
			return value, found
		}
	}
	return nil, false
}

// field reads a length and as many bytes.
func (b *Board) field(at int) (bytes []byte, next int, ok bool) {
	if at > len(b.text) {
		return nil, at, false
	}
	n, used := binary.Uvarint(b.text[at:])
	if used <= 0 || n > uint64(len(b.text)-at-used) {
		return nil, at, false
	}
	at += used
	next = at + int(n)
	return b.text[at:next:next], next, true
}

// Close unmaps the board.
func (b *Board) Close() error {
	b.table, b.text = nil, nil
	m := b.mapped
	if b.mapped = nil; m == nil {
		return nil
	}
	return syscall.Munmap(m)
}
