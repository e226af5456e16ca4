package pmi

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// spawnLines follows a multi-line PMI-1 spawn request to its end: one block of
// key=value lines for each of total commands, each from "mcmd=spawn" to
// "endcmd" (protocols 1.6).
type spawnLines struct {
	assembly
	between bool // after an endcmd that is not the last
	total   int  // totspawns
	sofar   int  // spawnssofar of this block, from 1
	size    int  // bytes read so far
}

// spawnBegin deals with the first line of a multi-line command.
func (s *Server) spawnBegin(c *client, line, cmd []byte, out *Effects) {
	switch {
	case string(cmd) != "spawn":
		s.violate(c, line, fmt.Errorf("unknown command %q", clip(cmd)), out)
	case !c.ready():
		s.untimely(c, line, cmd, out)
	default:
		c.spawn = &spawnLines{}
	}
}

// spawnLine deals with one further line of a spawn request.
func (s *Server) spawnLine(c *client, line []byte, out *Effects) {
	sp := c.spawn
	key, value, _ := bytes.Cut(line, []byte{'='})
	sp.size += len(line)
	var err error
	switch {
	case sp.size > maxSpawn:
		err = fmt.Errorf("more than %d bytes", maxSpawn)
	case len(line) > 0 && line[0] == 0:
		err = errors.New("this is the binary form that MVAPICH2 writes for its own mpirun_rsh; unset MPIRUN_RSH_LAUNCH")
	default:
		err = sp.line(key, string(value))
	}
	switch {
	case err != nil:
		s.violate(c, line, fmt.Errorf("malformed spawn request: %w", err), out)
	case string(key) == "endcmd" && !sp.between:
		c.spawn = nil
		s.finish(c, &sp.assembly, due{}, out)
	}
}

// line takes one line.
func (sp *spawnLines) line(key []byte, value string) error {
	switch k := string(key); {
	case k == "mcmd":
		if !sp.between || value != "spawn" {
			return errors.New("a command inside another")
		}
		sp.between = false
		return nil
	case k == "cmd":
		return errors.New("a command inside another")
	case sp.between:
		return errors.New("mcmd=spawn is due")
	case k == "totspawns" || k == "spawnssofar":
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 {
			return fmt.Errorf("bad count %q", clip([]byte(value)))
		}
		if k == "totspawns" {
			sp.total = n
		} else {
			sp.sofar = n
		}
		return nil
	case k == "endcmd":
		if sp.total == 0 || sp.sofar == 0 || sp.sofar > sp.total {
			return fmt.Errorf("block %d of %d", sp.sofar, sp.total)
		}
		sp.between = sp.sofar < sp.total
		return sp.endBlock()
	}
	return sp.field(key, value)
}

// field takes a line that is part of a command. Unknown ones are ignored.
func (sp *spawnLines) field(key []byte, value string) error {
	b := &sp.block
	switch string(key) {
	case "nprocs":
		return b.setProcs(value)
	case "execname":
		b.cmd.Exec = value
		return nil
	case "argcnt":
		return b.args.set(value)
	case "info_num":
		return b.infos.set(value)
	case "preput_num":
		return b.preputs.set(value)
	}
	if i, ok := index(key, "arg"); ok {
		return b.arg(i, 1, value)
	}
	if i, ok := index(key, "info_key_"); ok {
		return b.key(&b.cmd.Info, i, value)
	}
	if i, ok := index(key, "info_val_"); ok {
		return b.value(b.cmd.Info, i, value)
	}
	if i, ok := index(key, "preput_key_"); ok {
		return b.key(&b.preput, i, value)
	}
	if i, ok := index(key, "preput_val_"); ok {
		return b.value(b.preput, i, value)
	}
	return nil
}

// spawn2 reads a PMI-2 spawn request, whose pairs come in the order in which
// clients write them: what concerns the whole, then each command from its
// subcmd on (protocols 2.2).
func (s *Server) spawn2(c *client, m message, d due, out *Effects) {
	var a assembly
	if err := a.message(m); err != nil {
		s.violate(c, m, fmt.Errorf("malformed spawn request: %w", err), out)
		return
	}
	s.finish(c, &a, d, out)
}

// message takes a whole PMI-2 request apart.
func (a *assembly) message(m message) error {
	var commands count
	begun := false
	for len(m) > 0 {
		key, doubled, after, err := m.next()
		if err != nil {
			return err
		}
		m = after
		value := string(single(doubled))
		switch string(key) {
		case "ncmds":
			err = commands.set(value)
		case "subcmd":
			if begun {
				err = a.endBlock()
			} else {
				err = a.endPreput()
			}
			begun = true
			a.block.cmd.Exec = value
		default:
			err = a.block.pair(key, value)
		}
		if err != nil {
			return err
		}
	}
	if !begun {
		return errors.New("no subcmd")
	}
	if err := a.endBlock(); err != nil {
		return err
	}
	return commands.check("commands", len(a.spawn.Commands))
}

// pair takes a pair that is part of a command or of the preputs. Unknown ones
// are ignored.
func (b *block) pair(key []byte, value string) error {
	switch string(key) {
	case "maxprocs":
		return b.setProcs(value)
	case "argc":
		return b.args.set(value)
	case "infokeycount":
		return b.infos.set(value)
	case "preputcount":
		return b.preputs.set(value)
	}
	if i, ok := index(key, "argv"); ok {
		return b.arg(i, 0, value)
	}
	if i, ok := index(key, "infokey"); ok {
		return b.key(&b.cmd.Info, i, value)
	}
	if i, ok := index(key, "infoval"); ok {
		return b.value(b.cmd.Info, i, value)
	}
	if i, ok := index(key, "ppkey"); ok {
		return b.key(&b.preput, i, value)
	}
	if i, ok := index(key, "ppval"); ok {
		return b.value(b.preput, i, value)
	}
	return nil
}
