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
		s.refuseUntimely(c, line, cmd, out)
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
	case k == "execname":
		sp.block.cmd.Exec = value
		return nil
	}
	return sp.block.field(&spawnNames1, key, value)
}

// spawn2 reads a PMI-2 spawn request, whose pairs come in the order in which clients
// write them: those of the whole spawn, then each command from its subcmd on (protocols
// 2.2).
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
			err = a.block.field(&spawnNames2, key, value)
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

// spawnNames holds one protocol's names of the parts of a command and of the preputs.
type spawnNames struct {
	procs, args, infos, preputs string // numbers

	// Beginnings of names that end with a number.
	arg, infoKey, infoValue, preputKey, preputValue string

	firstArg int // number of the first argument
}

var (
	spawnNames1 = spawnNames{
		procs: "nprocs", args: "argcnt", infos: "info_num", preputs: "preput_num",
		arg: "arg", infoKey: "info_key_", infoValue: "info_val_", preputKey: "preput_key_", preputValue: "preput_val_",
		firstArg: 1,
	}
	spawnNames2 = spawnNames{
		procs: "maxprocs", args: "argc", infos: "infokeycount", preputs: "preputcount",
		arg: "argv", infoKey: "infokey", infoValue: "infoval", preputKey: "ppkey", preputValue: "ppval",
	}
)

// field takes a part of a command or a preput. Unknown ones are ignored.
func (b *block) field(n *spawnNames, key []byte, value string) error {
	switch string(key) {
	case n.procs:
		return b.setProcs(value)
	case n.args:
		return b.args.set(value)
	case n.infos:
		return b.infos.set(value)
	case n.preputs:
		return b.preputs.set(value)
	}
	if i, ok := index(key, n.arg); ok {
		return b.arg(i, n.firstArg, value)
	}
	if i, ok := index(key, n.infoKey); ok {
		return b.key(&b.cmd.Info, i, value)
	}
	if i, ok := index(key, n.infoValue); ok {
		return b.value(b.cmd.Info, i, value)
	}
	if i, ok := index(key, n.preputKey); ok {
		return b.key(&b.preput, i, value)
	}
	if i, ok := index(key, n.preputValue); ok {
		return b.value(b.preput, i, value)
	}
	return nil
}
