package pmi

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
)

// says answers with a line that text makes.
func says(text func(*Server, *client) string) lineCommand {
	return func(s *Server, c *client, _ []byte, out *Effects) { out.say(c.rank, text(s, c)+"\n") }
}

// service passes a request about a service on to the root.
func service(op Op) lineCommand {
	return func(s *Server, c *client, line []byte, out *Effects) {
		var port []byte
		if op == Publish {
			line, port, _ = bytes.Cut(line, []byte(" port="))
		}
		s.name(c, op, due{}, rest(line, " service="), port, out)
	}
}

// init answers every request for a version 1.x with the one version that the
// world grants, and every 2.x with 2.0: a PMI-2 client begins with this line
// too. Others are told so with rc=-1: they fall back or give up, and the user
// reads why.
func (s *Server) init(c *client, line []byte, out *Effects) {
	version, ok := number(line, " pmi_version=")
	sub, subOK := number(line, " pmi_subversion=")
	granted := "pmi_version=1 pmi_subversion=1"
	switch {
	case !ok || !subOK:
		s.violate(c, line, errors.New("init without a readable pmi_version and pmi_subversion"), out)
		return
	case version == 2:
		granted = "pmi_version=2 pmi_subversion=0"
	case version != 1:
		out.say(c.rank, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1 msg=only_PMI_1.x_and_2.0_are_served\n")
		out.Notes = append(out.Notes, Note{Rank: c.rank, Text: fmt.Sprintf("asked for PMI %d.%d, but only PMI 1.x and 2.0 are served", version, sub)})
		return
	case s.world.Version == VersionGroups:
		granted = "pmi_version=1 pmi_subversion=2"
	}
	if !c.ready() {
		c.phase = InInit
	}
	out.say(c.rank, "cmd=response_to_init "+granted+" rc=0\n")
}

// finalize ends the client's part. A repeated one is acknowledged again rather than
// left waiting.
func (s *Server) finalize(c *client, _ []byte, out *Effects) {
	c.phase = AfterFinalize
	out.say(c.rank, "cmd=finalize_ack\n")
}

// abort ends the client's part. Its message runs to the end of the line or to
// the exit code, whichever client wrote it.
func (s *Server) abort(c *client, line []byte, out *Effects) {
	a := Abort{Rank: c.rank, Code: 1}
	for _, name := range []string{" exitcode=", " exit_code="} {
		if code, ok := number(line, name); ok {
			a.Code = code
			break
		}
	}
	for _, name := range []string{" message=", " error_msg=", " msg="} {
		if _, text, found := bytes.Cut(line, []byte(name)); found {
			text, _, _ = bytes.Cut(text, []byte(" exitcode="))
			text, _, _ = bytes.Cut(text, []byte(" exit_code="))
			a.Text = clip(text)
			break
		}
	}
	out.Aborts = append(out.Aborts, a)
	c.silence()
}

// put passes a pair on to the bulletin board. Its kvsname is ignored, as other
// servers do: a rank has one space.
func (s *Server) put(c *client, line []byte, out *Effects) {
	head, value, found := bytes.Cut(line, []byte(" value="))
	key, keyFound := token(head, " key=")
	switch {
	case keyFound && found && len(key)+len(value) == 0:
		// A singleton of MPICH's puts values that it has kept so far: nothing.
		out.say(c.rank, "cmd=put_result rc=0\n")
	case !keyFound || len(key) == 0:
		out.say(c.rank, "cmd=put_result rc=-1 msg=no_key\n")
	case !found:
		out.say(c.rank, "cmd=put_result rc=-1 msg=no_value\n")
	case len(key) >= MaxKey:
		out.say(c.rank, "cmd=put_result rc=-1 msg=key_longer_than_"+strconv.Itoa(MaxKey-1)+"_bytes\n")
	case len(value) >= MaxValue:
		out.say(c.rank, "cmd=put_result rc=-1 msg=value_longer_than_"+strconv.Itoa(MaxValue-1)+"_bytes\n")
	case bytes.HasPrefix(key, []byte(reservedPrefix)):
		out.say(c.rank, "cmd=put_result rc=1 msg=keys_that_begin_with_PMI__are_reserved\n")
	default:
		out.ask(c, Put, due{}, key, value)
	}
}

// keyNotFound answers a get of a key that nobody has put. 4 is PMI_ERR_INVALID_KEY,
// which Flux's libpmi2 takes for "not yet" where it waits for a node's attribute; to
// other clients every number but 0 is the same.
const keyNotFound = "cmd=get_result rc=4 msg=key_not_found\n"

// get answers reserved keys here and asks the bulletin board for the others.
func (s *Server) get(c *client, line []byte, out *Effects) {
	key, found := token(line, " key=")
	switch {
	case !found || len(key) == 0:
		out.say(c.rank, "cmd=get_result rc=-1 msg=no_key\n")
	case len(key) >= MaxKey:
		out.say(c.rank, keyNotFound) // no such key can have been put
	case bytes.HasPrefix(key, []byte(reservedPrefix)):
		if value, found := s.attrs[string(key)]; found {
			sayValue(c.rank, value, out)
		} else {
			out.say(c.rank, keyNotFound)
		}
	default:
		s.ask(c, due{}, key, out)
	}
}

// sayValue sends a value, which is always the last token of its line.
func sayValue(r job.Rank, value string, out *Effects) {
	if strings.IndexByte(value, '\n') >= 0 { // from a PMI-2 client or a spawner
		out.say(r, "cmd=get_result rc=-1 msg="+errLineFeed.Error()+"\n")
		return
	}
	p := out.reply(r)
	p.Data = append(p.Data, "cmd=get_result rc=0 value="...)
	p.Data = append(p.Data, value...)
	p.Data = append(p.Data, '\n')
}

// barrier lets the client enter the world's fence, or the barrier of a group
// (PMI 1.2).
func (s *Server) barrier(c *client, line []byte, out *Effects) {
	spec, grouped := token(line, " group=")
	switch {
	case !grouped:
		s.enter(c, due{}, line, out)
	case s.world.Version != VersionGroups:
		out.say(c.rank, "cmd=barrier_out rc=-1 msg=group_barriers_need_PMI_1.2\n")
	default:
		s.groupBarrier(c, line, string(spec), out)
	}
}

// sayBarrier releases a rank from a PMI-1 barrier.
func sayBarrier(r job.Rank, d due, out *Effects) {
	if d.tagged {
		out.say(r, "cmd=barrier_out tag="+strconv.Itoa(d.tag)+"\n")
	} else {
		out.say(r, "cmd=barrier_out\n")
	}
}

// sayBarrierFailed tells a rank that a PMI-1 barrier will not be complete.
func sayBarrierFailed(r job.Rank, d due, why string, out *Effects) {
	tag := ""
	if d.tagged {
		tag = " tag=" + strconv.Itoa(d.tag)
	}
	out.say(r, "cmd=barrier_out"+tag+" rc=-1 msg="+word(why)+"\n")
}
