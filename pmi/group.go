package pmi

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
)

// group is a barrier of PMI 1.2 that some client of this node is in. It ends to exist
// when none is, so memory is bounded by the waits of clients.
type group struct {
	key     string
	tag     int
	members []job.Rank // ascending; nil for the world
	local   []*client
	asked   bool            // the Request is out
	inside  map[*client]int // entries not answered yet
}

var errGroup = errors.New("bad_group")

// groupBarrier lets a client enter the barrier of the group that spec names:
// WORLD:TAG, NODE:TAG or r0,r1,…:TAG (protocols 1.4).
func (s *Server) groupBarrier(c *client, line []byte, spec string, out *Effects) {
	who, text, hasTag := strings.Cut(spec, ":")
	tag := 0
	if hasTag {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			out.say(c.rank, "cmd=barrier_out rc=-1 msg=bad_tag\n")
			return
		}
		tag = n
	}
	if who == "WORLD" && tag == 0 {
		s.enter(c, due{tagged: true, aside: true}, line, out)
		return
	}
	g, err := s.group(c, who, tag)
	if err != nil {
		out.say(c.rank, "cmd=barrier_out tag="+strconv.Itoa(tag)+" rc=-1 msg="+err.Error()+"\n")
		return
	}
	if !s.countAhead(c, line, out) {
		return
	}
	s.groups[g.key] = g
	g.inside[c]++
	s.advance(g, out)
}

// group finds or makes the group of who and tag, which c must belong to.
func (s *Server) group(c *client, who string, tag int) (*group, error) {
	var members []job.Rank
	switch who {
	case "WORLD":
	case "NODE":
		for _, l := range s.order {
			members = append(members, l.rank)
		}
	default:
		for word := range strings.SplitSeq(who, ",") {
			r, err := strconv.Atoi(word)
			if err != nil || r < 0 || r >= s.world.Size {
				return nil, errGroup
			}
			members = append(members, job.Rank(r))
		}
		slices.Sort(members)
		members = slices.Compact(members)
		if _, in := slices.BinarySearch(members, c.rank); !in {
			return nil, errGroup
		}
	}
	key := groupKey(members, who, tag)
	if g := s.groups[key]; g != nil {
		return g, nil
	}
	g := &group{key: key, tag: tag, members: members, inside: map[*client]int{}}
	for _, l := range s.order {
		if _, in := slices.BinarySearch(members, l.rank); in || members == nil {
			g.local = append(g.local, l)
		}
	}
	return g, nil
}

// VersionGroups is the World.Version that has barriers of groups.
const VersionGroups = "1.2"

// GroupMembers returns the members, in ascending order, of the group that a Request of
// a world of so many ranks names by its Key; nil for the whole world. A key that no
// server sends is an error.
func GroupMembers(key string, size int) (members []job.Rank, err error) {
	who, tag, ok := strings.Cut(key, ":")
	number, err := strconv.Atoi(tag)
	if !ok || err != nil || number < 0 || strconv.Itoa(number) != tag {
		return nil, errGroup
	}
	if who == "WORLD" {
		return nil, nil
	}
	for word := range strings.SplitSeq(who, ",") {
		r, err := strconv.Atoi(word)
		if err != nil || r >= size || r < 0 || strconv.Itoa(r) != word || len(members) > 0 && job.Rank(r) <= members[len(members)-1] {
			return nil, errGroup
		}
		members = append(members, job.Rank(r))
	}
	return members, nil
}

// groupKey names a group alike on every node.
func groupKey(members []job.Rank, who string, tag int) string {
	if who == "WORLD" || who == "NODE" {
		return who + ":" + strconv.Itoa(tag)
	}
	var b []byte
	for _, r := range members {
		b = append(strconv.AppendInt(b, int64(r), 10), ',')
	}
	b[len(b)-1] = ':'
	return string(strconv.AppendInt(b, int64(tag), 10))
}

// here reports whether all members of g are on this node.
func (s *Server) here(g *group) bool {
	size := len(g.members)
	if g.members == nil {
		size = s.world.Size
	}
	return len(g.local) == size
}

// advance completes the barriers of g that only need this node, and asks for
// the first that needs others.
func (s *Server) advance(g *group, out *Effects) {
	for !g.asked {
		for _, c := range g.local {
			if g.inside[c] == 0 {
				return
			}
		}
		if !s.here(g) {
			g.asked = true
			out.Requests = append(out.Requests, Request{Rank: g.local[0].rank, Op: Group, Key: []byte(g.key), Members: g.members})
			return
		}
		s.release(g, out)
	}
}

// GroupDone says that the barrier of a Group request is complete on every
// node.
func (s *Server) GroupDone(key string, out *Effects) {
	g := s.groups[key]
	if g == nil || !g.asked {
		return
	}
	g.asked = false
	s.release(g, out)
	s.advance(g, out)
}

// release lets every local member out of one barrier.
func (s *Server) release(g *group, out *Effects) {
	for _, c := range g.local {
		if g.inside[c]--; g.inside[c] == 0 {
			delete(g.inside, c)
		}
		if c.deaf {
			continue
		}
		c.ahead--
		if c.phase == InInit {
			c.phase = Running
		}
		sayBarrier(c.rank, due{tag: g.tag, tagged: true}, out)
	}
	if len(g.inside) == 0 {
		delete(s.groups, g.key)
	}
}
