package collective

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/commsplit"
	"github.com/golaunch/golaunch/tree/record"
)

// comm is a communicator as one node knows it.
type comm struct {
	id      uint64
	first   int   // of the endpoints, where members is nil
	members []int // endpoints
	nodes   spans // of all members, once it was split itself
	size    int

	// Where it was made by a Split, instead of these (directory.go):
	ways      *directions     // where members are, by number
	homes     *directions     // directions of processes
	process   int             // this node's; -1 if it has no members
	processes int             // of all
	dir       *directory      // the table of numbers; nil if they are the ranks
	cache     commsplit.Cache // of what was asked about members

	seats   map[int]*seat // local members, by number
	order   []*seat       // in the order of ranks
	towards []Direction   // links that lead to others
	tally   []int         // to how many members, each
	below   int           // number of children among towards
	above   bool          // some members are beyond the parent
	inside  int           // number of others
	through int64         // pairs of members whose way uses a link here, counted once for each link
	ops     map[uint64]*op
	past    []past // operations that are over here
	doubted past   // the last one whose members' agents were asked whether they agree
	broken  reason // why no operation from number from on can succeed; none if all can
	from    uint64
	hard    bool // operations built of messages cannot succeed either

	lost    string         // why some member is lost; "" if none is, or a Split made it
	left    map[int]string // members that are known to have left, and why
	watched map[int]bool   // members, or record.Any, whose agents will tell if they leave

	freed bool
}

// seat is a local endpoint as a member of a communicator.
type seat struct {
	comm *comm
	ep   *endpointState
	rank int // as the endpoint knows it
	at   int // position in comm.order

	number int    // as agents know it; the rank, but where comm.dir is not nil
	next   uint64 // number of the next operation that it enters
	last   uint64 // number of the last barrier that it has passed, plus one

	watchers []int        // members to be told when it leaves
	told     map[int]bool // members of whose leaving it was told
	withheld bool         // of some it is not told before it has taken their messages
	refused  []tags       // of messages that it does not take
}

// endpointState is a local rank, or the agent itself.
type endpointState struct {
	id      int
	in      input
	out     []byte // for it
	backlog int    // bytes for it that it has not taken
	gone    bool
	left    string           // why it takes part in nothing any more
	seats   map[uint64]*seat // by communicator
	active  []*opPart        // operations that it has entered and not finished

	// Point to point.
	posted     sequence[waitingRecv]
	leavers    []waitingRecv // those that wait for members to leave; max: more than so many
	unexpected sequence[message]
	stored     int                       // cost of unexpected's messages
	untaken    map[senderID]int          // number of these, by sender
	untold     []*item[message]          // of these, those whose sender does not know, in order, and some that wait no more
	short      []*item[message]          // those whose body is to come, likewise
	coming     map[source]*item[message] // those whose body was asked for
	heads      int                       // senders that know that their message waits
	sends      map[uint64]sent
	fresh      int  // number of these that no sender was told of
	old        bool // the endpoint does not know of Kept
	flows      map[source]*flow
	trials     int64            // bytes of first pieces that these have asked for, which are not in due
	due        int64            // bytes that these have asked for
	later      []*flow          // those that do not ask yet, in order
	asks       map[uint64]asked // look-ups under way, by request

	// Communicators.
	created  int      // number of communicators that it was first member of
	creating []create // its own part, in order
	made     []made   // others' part that came before, in order
}

// endpoint of a member, of a communicator that no Split made.
func (c *comm) endpoint(member int) int {
	if c.members == nil {
		return c.first + member
	}
	return c.members[member]
}

// toward returns the direction of the member of a number.
func (n *Node) toward(c *comm, member int) Direction {
	if c.ways != nil {
		return c.ways.find(member)
	}
	return n.directionTo(c.endpoint(member))
}

// runTo returns the direction of the member of a number, and the first number after it
// whose member may lie elsewhere.
func (n *Node) runTo(c *comm, number int) (toward Direction, end int) {
	switch {
	case c.ways != nil:
		return c.ways.run(number, c.size)
	case c.members != nil || len(n.lost) > 0:
		return n.toward(c, number), number + 1
	}
	toward, end = n.towards.run(c.first+number, c.first+c.size)
	return toward, min(end-c.first, c.size)
}

// slot returns the position of a link in c.towards, or the one after the last.
func (c *comm) slot(toward Direction) int {
	if i := slices.Index(c.towards, toward); i >= 0 {
		return i
	}
	return len(c.towards)
}

// membersAt counts the members that a link leads to.
func (c *comm) membersAt(toward Direction) int {
	if i := c.slot(toward); i < len(c.tally) {
		return c.tally[i]
	}
	return 0
}

// MaxCommunicators bounds the communicators that exist at a time; of those made by a
// Split, the ones at the node where another is formed.
const MaxCommunicators = 1 << 12

// define makes c known here.
func (n *Node) define(c *comm) {
	c.seats, c.ops = map[int]*seat{}, map[uint64]*op{}
	counts := make([]int, len(n.links))
	for i := 0; i < c.size; {
		toward, end := n.runTo(c, i)
		if toward != Up {
			c.inside += end - i
		}
		first := i
		i = end
		switch toward {
		case Local:
			for at := first; at < end; at++ {
				s := &seat{comm: c, ep: n.ends[c.endpoint(at)], rank: at, number: at, at: len(c.order)}
				c.seats[at] = s
				c.order = append(c.order, s)
				s.ep.seats[c.id] = s
			}
		case Nowhere:
			if why := n.lost[c.endpoint(first)]; why != "" {
				c.broken, c.hard, c.lost = reason{why, record.CauseLeft, first}, true, why
			}
		default:
			counts[toward+1] += end - first
			if !n.mark[toward+1] {
				n.mark[toward+1] = true
				c.towards = append(c.towards, toward)
			}
		}
	}
	for _, toward := range c.towards {
		n.mark[toward+1] = false
	}
	c.lead(counts)
	n.know(c)
	n.leaveFormer(c)
}

// know adds a communicator to those that exist.
func (n *Node) know(c *comm) {
	n.comms[c.id] = c
	n.noteNewest(c.id)
}

// noteNewest notes that a communicator was made somewhere.
func (n *Node) noteNewest(id uint64) {
	n.newest[creator(id)] = max(n.newest[creator(id)], id)
}

// existed tells whether a communicator was freed, or nobody may use it. More may come of it.
func (n *Node) existed(id uint64) bool {
	return n.comms[id] == nil && id <= n.newest[creator(id)]
}

// lead takes how many members are in the direction of each link, by toward+1.
func (c *comm) lead(counts []int) {
	for _, toward := range c.towards {
		if toward == Up {
			c.above = true
		} else {
			c.below++
		}
		count := counts[toward+1]
		c.tally = append(c.tally, count)
		c.through += int64(count) * int64(c.size-count)
	}
}

// dead tells whether an operation cannot succeed.
func (c *comm) dead(seq uint64) bool { return c.broken.text != "" && seq >= c.from }

// create is a local endpoint's wish for a communicator.
type create struct {
	request uint64
	made    occasion
	members []int
}

// occasion identifies the purpose of a communicator: a call of the library's, or none
// that is known. Only communicators of one occasion come together.
type occasion struct{ off, size int64 }

// made is a communicator that an endpoint is a member of and did not ask for
// yet, or so many in a row that its first member was refused.
type made struct {
	creator int
	made    occasion
	comm    *comm
	refused int
}

// defineRefused is Fn of a Define that says so.
const defineRefused = 1

// creator returns the first member, who has the say.
func creator(id uint64) int { return int(id>>32) - 1 }

// create takes a Create of an endpoint.
func (n *Node) create(ep *endpointState, r *record.Record) error {
	members, err := record.ParseRuns(r.Body, n.endpoints)
	if err != nil {
		return err
	}
	refuse := func(format string, args ...any) error {
		n.failed(ep, record.FailCreate, 0, r.Seq, otherReason(format, args...))
		return nil
	}
	seen := make(map[int]bool, len(members))
	for _, m := range members {
		if seen[m] {
			return refuse("a communicator with %s twice", n.endpointName(m))
		}
		seen[m] = true
	}
	switch {
	case !seen[ep.id]:
		return refuse("a communicator of others")
	case len(ep.creating) >= record.MaxRequests:
		return fmt.Errorf("more than %d communicators are being made at a time", record.MaxRequests)
	}
	ep.creating = append(ep.creating, create{r.Seq, occasion{r.Off, r.Size}, members})
	if members[0] == ep.id {
		ep.created++
		id := uint64(ep.id+1)<<32 | uint64(ep.created)
		def := record.Record{Kind: record.Define, Comm: id, Off: r.Off, Size: r.Size, Body: r.Body}
		if len(n.comms) >= MaxCommunicators { // this node's word is everyone's
			def.Fn = defineRefused
		}
		n.send2all(&def)
		n.defined(&def, members)
	}
	n.matchCreates(ep)
	n.forgetCreates()
	return nil
}

// send2all floods a record that this node makes.
func (n *Node) send2all(r *record.Record) {
	raw := record.Append(nil, r)
	for _, l := range n.links {
		if l != nil {
			n.enqueue(l.toward, raw)
		}
	}
}

// flood passes a record for everyone on, and obeys it.
func (n *Node) flood(in *input, r *record.Record, raw []byte) (ok bool, err error) {
	for _, l := range n.links {
		if l != nil && l.toward != in.toward && n.full(l.toward) {
			return false, nil
		}
	}
	var only []Direction
	then := func() {}
	switch r.Kind {
	case record.Define:
		members, err := record.ParseRuns(r.Body, n.endpoints)
		if err != nil {
			return false, err
		}
		if n.comms[r.Comm] != nil || len(members) == 0 || creator(r.Comm) != members[0] {
			return false, fmt.Errorf("communicator %d of %d members cannot be defined", r.Comm, len(members))
		}
		then = func() { n.defined(r, members) } // others have to know it before they hear more of it
	case record.Free:
		c := n.comms[r.Comm]
		if c == nil {
			return true, nil // as it is for those beyond this node
		}
		if c.ways != nil {
			only = c.towards // others do not know it
		}
		n.free(r.Comm)
	case record.Lost:
		if news, err := n.takeLost(r); !news {
			return err == nil, err
		}
		if c := n.comms[r.Comm]; r.Each && c.ways != nil {
			only = c.towards
		}
	case record.Called:
		c := n.comms[r.Comm]
		if news, err := n.called(c, r); !news {
			return err == nil, err
		}
		if c.ways != nil {
			only = c.towards
		}
	case record.InUse:
		if n.used {
			return true, nil
		}
		then = n.use
	case record.NoFence:
		if !n.takeFences(r) {
			return true, nil
		}
	}
	for _, l := range n.links {
		if l != nil && l.toward != in.toward && (only == nil || slices.Contains(only, l.toward)) {
			n.enqueue(l.toward, raw)
		}
	}
	then()
	return true, nil
}

// defined makes a communicator known and tells its local members, or those of
// one that was refused.
func (n *Node) defined(r *record.Record, members []int) {
	c, of := &comm{id: r.Comm, members: members, size: len(members)}, occasion{r.Off, r.Size}
	if r.Fn != defineRefused {
		n.define(c)
		for _, s := range c.order {
			s.ep.made = append(s.ep.made, made{creator: members[0], made: of, comm: c})
			n.matchCreates(s.ep)
		}
		return
	}
	for _, m := range members {
		if ep := n.ends[m]; ep != nil {
			ep.refuseMade(members[0], of)
			n.matchCreates(ep)
		}
	}
}

// refuseMade notes that an endpoint was refused another communicator.
func (ep *endpointState) refuseMade(creator int, of occasion) {
	for i := len(ep.made) - 1; i >= 0; i-- {
		if m := &ep.made[i]; m.creator == creator && m.made == of {
			if m.refused > 0 {
				m.refused++
				return
			}
			break
		}
	}
	ep.made = append(ep.made, made{creator: creator, made: of, refused: 1})
}

// matchCreates brings an endpoint's requests together with definitions: by first member
// and occasion, in the order of each.
func (n *Node) matchCreates(ep *endpointState) {
	for i := 0; i < len(ep.creating); i++ {
		want := ep.creating[i]
		j := slices.IndexFunc(ep.made, func(m made) bool { return m.creator == want.members[0] && m.made == want.made })
		if j < 0 {
			continue
		}
		c := ep.made[j].comm
		if ep.made[j].refused--; ep.made[j].refused <= 0 {
			ep.made = slices.Delete(ep.made, j, j+1)
		}
		ep.creating = slices.Delete(ep.creating, i, i+1)
		i--
		if c == nil {
			n.failed(ep, record.FailCreate, 0, want.request, otherReason("%d communicators exist already; free some", MaxCommunicators))
			continue
		}
		if !slices.Equal(c.members, want.members) {
			n.failed(ep, record.FailCreate, 0, want.request,
				otherReason("%s, the first member, named other members", n.endpointName(want.members[0])))
			continue
		}
		n.tell(ep, &record.Record{Kind: record.Made, Comm: c.id, Seq: want.request, Dst: ep.seats[c.id].rank, Size: int64(c.size)})
	}
}

// freeRequest takes a Free of an endpoint, the first member. The last that it
// did there was to pass a barrier, so all have entered that, and know the
// communicator.
func (n *Node) freeRequest(ep *endpointState, r *record.Record) error {
	s := ep.seats[r.Comm]
	if s == nil || s.rank != 0 || r.Comm <= Agents {
		return fmt.Errorf("communicator %d is not %s's to free", r.Comm, n.endpointName(ep.id))
	}
	if s.last == 0 || s.last != s.next {
		return fmt.Errorf("communicator %d is freed without a barrier before", r.Comm)
	}
	free := record.Record{Kind: record.Free, Comm: r.Comm}
	if s.comm.ways == nil {
		n.send2all(&free)
	} else {
		for _, toward := range s.comm.towards {
			n.enqueue(toward, record.Append(nil, &free))
		}
	}
	n.free(r.Comm)
	return nil
}

var wasFreed = reason{"the communicator was freed", record.CauseFreed, -1}

// free forgets a communicator. Operations of local members there fail: members should
// have waited for them before they entered the last barrier.
func (n *Node) free(id uint64) {
	c := n.comms[id]
	if c == nil || id <= Agents {
		return
	}
	c.freed = true
	n.broken(c, wasFreed, 0, true)
	delete(n.comms, id)
	for _, s := range c.order {
		n.forgetMessages(s)
		delete(s.ep.seats, id)
		s.ep.made = slices.DeleteFunc(s.ep.made, func(m made) bool { return m.comm == c })
		n.drop(s.ep, func(m *message) bool { return m.comm == id })
	}
}

// reason explains a failure: for people a text, for programs a cause and the rank of
// the member that has left, -1 if it is not known.
type reason struct {
	text   string
	cause  record.Cause
	member int
}

// otherReason returns a reason of no cause that programs know.
func otherReason(format string, args ...any) reason {
	return reason{fmt.Sprintf(format, args...), record.CauseOther, -1}
}

// failed tells an endpoint that something it asked for cannot be.
func (n *Node) failed(ep *endpointState, what uint8, comm, seq uint64, why reason) {
	n.tell(ep, &record.Record{Kind: record.Fail, Fn: what, Comm: comm, Seq: seq, Src: why.member, Count: int(why.cause), Body: []byte(why.text)})
}
