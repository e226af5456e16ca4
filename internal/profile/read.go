package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Limits of a file, so that a few bytes of input can't ask for all memory.
const (
	MaxRanks = 1 << 22
	MaxFile  = 1 << 32 // bytes
)

// Is says whether the beginning of a file, of 256 bytes or more, is that of a
// profile.
func Is(beginning []byte) bool {
	beginning = bytes.TrimSpace(beginning)
	return len(beginning) > 0 && beginning[0] == '{' && bytes.Contains(beginning[:min(256, len(beginning))], []byte(`"`+Format+`"`))
}

// Read reads a file that Write wrote, or another that docs/profile-v1.schema.json
// describes. Errors call it name.
func Read(r io.Reader, name string) (*Profile, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxFile+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > MaxFile {
		return nil, fmt.Errorf("%s: a profile of more than %d bytes", name, int64(MaxFile))
	}
	p := &Profile{}
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("%s: no profile of golaunch: %w", name, err)
	}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

func (p *Profile) check() error {
	switch {
	case p.Format != Format:
		return fmt.Errorf("no profile of golaunch: its format is %.40q, not %q", p.Format, Format)
	case p.Version != Version:
		return fmt.Errorf("a profile of version %d: this golaunch reads version %d", p.Version, Version)
	case len(p.Worlds) == 0:
		return errors.New("a profile without a world")
	}
	for i := range p.Worlds {
		if err := p.Worlds[i].check(); err != nil {
			return fmt.Errorf("world %d: %w", p.Worlds[i].World, err)
		}
	}
	return nil
}

func (v *World) check() error {
	if v.Size < 1 || v.Size > MaxRanks {
		return fmt.Errorf("%d ranks: a world has 1 to %d", v.Size, MaxRanks)
	}
	none := func(rank int32) error {
		if rank < 0 || int(rank) >= v.Size {
			return fmt.Errorf("rank %d: there are ranks 0 to %d", rank, v.Size-1)
		}
		return nil
	}
	for _, s := range v.Sent {
		if err := errors.Join(none(s.Source), none(s.Destination), s.check()); err != nil {
			return fmt.Errorf("sent by %d to %d: %w", s.Source, s.Destination, err)
		}
	}
	for _, s := range v.Outside {
		if err := errors.Join(none(s.Source), s.check()); err != nil {
			return fmt.Errorf("sent by %d outside: %w", s.Source, err)
		}
	}
	for _, rank := range slices.Concat(v.Missing, v.Unfinished) {
		if rank < 0 || rank >= v.Size {
			return fmt.Errorf("missing or unfinished: rank %d: there are ranks 0 to %d", rank, v.Size-1)
		}
	}
	if v.Dropped < 0 {
		return fmt.Errorf("%d calls dropped: expected 0 or more", v.Dropped)
	}
	next := 0
	for _, o := range v.NodeOf {
		if o.Node < 0 || o.Node >= len(v.Nodes) || o.First != next || o.Count < 1 || o.Count > v.Size-next {
			return fmt.Errorf("ranks %d+%d on node %d: expected rank %d next, of %d, on one of %d nodes", o.First, o.Count, o.Node, next, v.Size, len(v.Nodes))
		}
		next += o.Count
	}
	if next != v.Size {
		return fmt.Errorf("it is said on which node %d of %d ranks ran", next, v.Size)
	}
	for i := range v.Communicators {
		if err := v.Communicators[i].check(v.Size); err != nil {
			return err
		}
	}
	for _, c := range v.Collectives {
		if c.Communicator < 0 || c.Communicator >= len(v.Communicators) {
			return fmt.Errorf("%s on communicator %d of %d", c.Call, c.Communicator, len(v.Communicators))
		}
		if size := v.Communicators[c.Communicator].Size; c.Root < -1 || c.Root >= size {
			return fmt.Errorf("%s has root %d of %d", c.Call, c.Root, size)
		}
		if err := (Counts{c.Calls, c.Bytes, c.Nanoseconds}).check(); err != nil {
			return fmt.Errorf("%s: %w", c.Call, err)
		}
	}
	return nil
}

// most bounds a number of a file, and a sum of such.
const most = 1 << 61

func (c Counts) check() error {
	for _, n := range []int64{c.Messages, c.Bytes, c.Nanoseconds} {
		if n < 0 || n > most {
			return fmt.Errorf("%d: expected 0 to 2^61", n)
		}
	}
	return nil
}

// UnmarshalJSON reads [first, count, step].
func (r *Run) UnmarshalJSON(text []byte) error {
	var n [3]int64
	if err := numbers(text, n[:], 3); err != nil {
		return err
	}
	*r = Run{int(n[0]), int(n[1]), int(n[2])}
	return nil
}

// UnmarshalJSON reads [node, first, count].
func (o *OnNode) UnmarshalJSON(text []byte) error {
	var n [3]int64
	if err := numbers(text, n[:], 3); err != nil {
		return err
	}
	*o = OnNode{int(n[0]), int(n[1]), int(n[2])}
	return nil
}

// UnmarshalJSON reads [source, destination, messages, bytes] and maybe nanoseconds.
func (s *Sent) UnmarshalJSON(text []byte) error {
	var n [5]int64
	if err := numbers(text, n[:], 4); err != nil {
		return err
	}
	if max(n[0], n[1]) >= MaxRanks || min(n[0], n[1]) < 0 {
		return fmt.Errorf("%.60s: expected ranks below %d", text, MaxRanks)
	}
	*s = Sent{int32(n[0]), int32(n[1]), Counts{n[2], n[3], n[4]}}
	return nil
}

// UnmarshalJSON reads [source, messages, bytes] and maybe nanoseconds.
func (o *Outside) UnmarshalJSON(text []byte) error {
	var n [4]int64
	if err := numbers(text, n[:], 3); err != nil {
		return err
	}
	if n[0] < 0 || n[0] >= MaxRanks {
		return fmt.Errorf("%.60s: expected a rank below %d", text, MaxRanks)
	}
	*o = Outside{int32(n[0]), Counts{n[1], n[2], n[3]}}
	return nil
}

// numbers reads a list of at least so many whole numbers, and at most as n holds. Its
// input is well-formed by package json's word.
func numbers(text []byte, n []int64, least int) error {
	wrong := func() error {
		return fmt.Errorf("%.60s: expected a list of %d to %d whole numbers up to 2^61", text, least, len(n))
	}
	i, at := 0, 0
	skip := func() {
		for at < len(text) && (text[at] == ' ' || text[at] == '\n' || text[at] == '\t' || text[at] == '\r') {
			at++
		}
	}
	if skip(); at == len(text) || text[at] != '[' {
		return wrong()
	}
	for at++; ; at++ { // at what is behind [ or a comma
		skip()
		begin := at
		value := int64(0)
		for ; at < len(text) && text[at] >= '0' && text[at] <= '9'; at++ {
			if value = 10*value + int64(text[at]-'0'); value > most {
				return wrong()
			}
		}
		if at == begin || i == len(n) {
			return wrong()
		}
		n[i] = value
		i++
		if skip(); at < len(text) && text[at] == ']' {
			break
		}
		if at == len(text) || text[at] != ',' {
			return wrong()
		}
	}
	if i < least {
		return wrong()
	}
	return nil
}
