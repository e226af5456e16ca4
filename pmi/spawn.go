package pmi

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// spawn follows a multi-line spawn request to its end: one block of key=value
// lines for each of total commands, each from "mcmd=spawn" to "endcmd". The
// lines are read and dropped.
type spawn struct {
	active  bool // inside a request
	between bool // after an endcmd that is not the last
	total   int  // totspawns
	sofar   int  // spawnssofar of this block, from 1
}

// multi deals with the first line of a multi-line command.
func (s *Server) multi(c *client, line, cmd []byte, out *Effects) {
	switch {
	case string(cmd) != "spawn":
		s.violate(c, line, fmt.Errorf("unknown command %q", clip(cmd)), out)
	case !c.ready():
		s.untimely(c, line, cmd, out)
	default:
		c.spawn = spawn{active: true}
	}
}

// spawnLine deals with one line of a spawn request.
func (s *Server) spawnLine(c *client, line []byte, out *Effects) {
	sp := &c.spawn
	key, value, _ := bytes.Cut(line, []byte{'='})
	switch string(key) {
	case "mcmd":
		if !sp.between || string(value) != "spawn" {
			break
		}
		sp.between = false
		return
	case "cmd":
	case "totspawns", "spawnssofar":
		n, err := strconv.Atoi(string(value))
		if err != nil || n < 1 || sp.between {
			break
		}
		if string(key) == "totspawns" {
			sp.total = n
		} else {
			sp.sofar = n
		}
		return
	case "endcmd":
		if sp.between || sp.total == 0 || sp.sofar == 0 || sp.sofar > sp.total {
			break
		}
		if sp.between = sp.sofar < sp.total; sp.between {
			return
		}
		*sp = spawn{}
		out.say(c.rank, "cmd=spawn_result rc=1 msg=spawn_not_supported\n")
		return
	default:
		if !sp.between {
			return
		}
	}
	s.violate(c, line, errors.New("malformed spawn request"), out)
}
