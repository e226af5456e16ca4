package pmi

import (
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
)

// SpawnResult is the outcome of a SpawnWorld request.
type SpawnResult struct {
	// Err explains the absence of a new world; nil if there is one.
	Err error
	// JobID is the KVSName of the new world (PMI-2 only).
	JobID string
	// Codes has one entry for each process asked for, in the order of the
	// commands: 0 or why it does not run. nil means all 0.
	Codes []int
}

// maxReply is the longest line that MPICH's clients up to 4.0 read, its end
// included. They take the rest of a longer one for their next reply.
const maxReply = 1023

// notRun is the error code of a process that does not run for want of others.
const notRun = 1

// SpawnDone answers the SpawnWorld request of rank r.
func (s *Server) SpawnDone(r job.Rank, result SpawnResult, out *Effects) {
	c := s.endWait(r, SpawnWorld)
	if c == nil {
		return
	}
	switch {
	case result.Err != nil:
		sayRefused(r, c.due, result.Err, result.Codes, out)
	case c.due.cmd != "":
		f := out.respond(r, c.due, 0)
		f.text("jobid", result.JobID)
		f.codes(result.Codes)
		f.end()
	default:
		sayCodes(r, "cmd=spawn_result rc=0", result.Codes, out)
	}
	s.goOn(c, out)
}

// parentPort is the key under which a new world finds its parents' address.
const parentPort = "PARENT_ROOT_PORT_NAME"

// CodesTell reports whether the ranks of a world of that size, one of which asks
// for s, learn of a refusal by error codes alone. In MPICH's ch3 a request that
// fails has the rank that made it leave MPI_Comm_spawn, where the others then wait
// for ever; error codes reach all. It is known by the address that it has the new
// world call. Other libraries take such a reply for a success, or tell all ranks
// of a failure, and a world of one rank has nobody else to tell.
func (s *Spawn) CodesTell(size int) bool {
	return size > 1 && slices.ContainsFunc(s.Preput, func(p Pair) bool {
		return p.Key == parentPort && strings.HasPrefix(p.Value, "tag#") && strings.Contains(p.Value, "$description#")
	})
}

// sayRefused answers a spawn that came to nothing; codes may be nil.
func sayRefused(r job.Rank, d due, err error, codes []int, out *Effects) {
	if d.cmd != "" {
		// PMI-2's clients ignore rc and errcodes here, but not a reply of
		// another name.
		f := out.begin(r, d, "-refused", 1)
		f.text("errmsg", word(err.Error()))
		f.codes(codes)
		f.end()
		return
	}
	if d.coded {
		if text := allFailed(d.procs, codes); text != "" {
			out.say(r, codesLine+text+"\n")
			return
		}
	}
	sayCodes(r, "cmd=spawn_result rc=1 msg="+word(err.Error()), codes, out)
}

const codesLine = "cmd=spawn_result rc=0 errcodes="

// allFailed renders a code for each process of a spawn that came to nothing, or
// nothing where no line holds as many.
func allFailed(procs int, codes []int) string {
	room := maxReply - len(codesLine) - 1
	if procs == 0 || 2*procs-1 > room {
		return ""
	}
	all := slices.Repeat([]int{notRun}, procs)
	if len(codes) == procs {
		for i, code := range codes {
			if code != 0 {
				all[i] = code
			}
		}
	}
	if text := errcodes(all, room); text != "" {
		return text
	}
	return errcodes(slices.Repeat([]int{notRun}, procs), room)
}

// sayCodes ends a PMI-1 reply with the codes, where they say something and fit.
func sayCodes(r job.Rank, line string, codes []int, out *Effects) {
	const key = " errcodes="
	if text := errcodes(codes, maxReply-len(line)-len(key)-1); text != "" {
		line += key + text
	}
	out.say(r, line+"\n")
}

// codes is sayCodes for PMI-2.
func (f response) codes(codes []int) {
	const key = "errcodes"
	if text := errcodes(codes, maxReply-(len(f.p.Data)-f.start)-len(key)-len("=;")); text != "" {
		f.text(key, text)
	}
}

// errcodes renders codes, or nothing where all are 0, as clients assume then, or
// where there is no room for them.
func errcodes(codes []int, room int) string {
	var text []byte
	failed := false
	for i, code := range codes {
		if i > 0 {
			text = append(text, ',')
		}
		text = strconv.AppendInt(text, int64(code), 10)
		if len(text) > room {
			return ""
		}
		failed = failed || code != 0
	}
	if !failed {
		return ""
	}
	return string(text)
}
