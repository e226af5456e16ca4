package pmi

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Spawn describes a world that a rank wants started. PMI-1 and PMI-2 requests
// come out alike (protocols 1.6 and 2.2).
type Spawn struct {
	Commands []Command // at least one; a Command's index is the appnum of its processes
	Preput   []Pair    // to be in the new world's key-value space from the beginning
}

// Command is one of the programs of a Spawn.
type Command struct {
	Exec  string   // executable, as the client gave it
	Procs int      // processes, at least 1
	Args  []string // without the executable itself
	Info  []Pair   // every hint, in order
	Hints Hints    // those of Info that the MPI standard and other launchers define
	Env   []string // NAME=value, beside that of the job; nothing over PMI
}

// Pair is a key with its value.
type Pair struct{ Key, Value string }

// Hints hold the wishes of a Command's Info about the hosts and the manner in which its
// processes run (MPI standard, "Reserved Keys"); empty without a wish.
type Hints struct {
	Hosts    []string  // host or hosts, separated by commas
	HostFile string    // hostfile
	Dir      string    // wdir
	Path     string    // path: where to look for Exec
	Soft     []Triplet // soft: numbers of processes that would do as well
}

// Triplet stands for First, First+Step, … up to Last, all inclusive.
type Triplet struct{ First, Last, Step int }

// Most returns the largest number up to limit that the soft hint allows; ok is false
// where there is none, as without a hint.
func (h Hints) Most(limit int) (n int, ok bool) {
	for _, t := range h.Soft {
		if m, in := t.largestWithin(limit); in && m >= 0 && (!ok || m > n) {
			n, ok = m, true
		}
	}
	return n, ok
}

// largestWithin returns the largest number of t that is at most limit.
func (t Triplet) largestWithin(limit int) (int, bool) {
	if t.Step < 0 { // from First down
		down := 0
		if t.First > limit {
			down = (t.First - limit - t.Step - 1) / -t.Step
		}
		n := t.First + down*t.Step
		return n, n >= t.Last
	}
	end := min(t.Last, limit)
	if end < t.First {
		return 0, false
	}
	return t.First + (end-t.First)/t.Step*t.Step, true
}

const (
	maxSpawn = 1 << 20 // text of a spawn request, in bytes
	maxProcs = 1 << 24 // processes of a spawn request
)

// hints reads the hints that are understood.
func hints(info []Pair) (h Hints, err error) {
	for _, p := range info {
		switch p.Key {
		case "host", "hosts":
			for host := range strings.SplitSeq(p.Value, ",") {
				if host = strings.TrimSpace(host); host != "" {
					h.Hosts = append(h.Hosts, host)
				}
			}
		case "hostfile":
			h.HostFile = p.Value
		case "wdir":
			h.Dir = p.Value
		case "path":
			h.Path = p.Value
		case "soft":
			if h.Soft, err = parseSoft(p.Value); err != nil {
				return h, err
			}
		}
	}
	return h, nil
}

// parseSoft reads a list of numbers a, ranges a:b and ranges with a step a:b:c.
func parseSoft(text string) (list []Triplet, err error) {
	for part := range strings.SplitSeq(text, ",") {
		var n []int
		for word := range strings.SplitSeq(part, ":") {
			i, err := strconv.Atoi(strings.TrimSpace(word))
			if err != nil || len(n) == 3 {
				return nil, fmt.Errorf("bad soft hint %q", clip([]byte(text)))
			}
			n = append(n, i)
		}
		for i := range n { // bits beyond allow nothing more
			n[i] = max(-maxProcs-1, min(n[i], maxProcs+1))
		}
		t := Triplet{First: n[0], Last: n[0], Step: 1}
		if len(n) > 1 {
			t.Last = n[1]
		}
		if len(n) > 2 {
			t.Step = n[2]
		}
		if t.Step == 0 {
			return nil, fmt.Errorf("bad soft hint %q", clip([]byte(text)))
		}
		list = append(list, t)
	}
	return list, nil
}

// assembly puts a Spawn together from its parts in the order in which they
// come. Its errors say that the request is malformed.
type assembly struct {
	spawn   Spawn
	block   block
	refusal error // why a well-formed request cannot be served
	procs   int   // of all commands
}

// block is one command under construction.
type block struct {
	cmd                  Command
	preput               []Pair
	open                 bool // the last pair lacks its value
	args, infos, preputs count
}

// count is an announced number of things.
type count struct {
	n     int
	given bool
}

func (c *count) set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return fmt.Errorf("bad count %q", clip([]byte(text)))
	}
	*c = count{n, true}
	return nil
}

func (c count) check(what string, have int) error {
	if c.given && c.n != have {
		return fmt.Errorf("%d %s announced, %d came", c.n, what, have)
	}
	return nil
}

// setProcs takes the number of processes.
func (b *block) setProcs(text string) (err error) {
	if b.cmd.Procs, err = strconv.Atoi(text); err != nil {
		return fmt.Errorf("bad number of processes %q", clip([]byte(text)))
	}
	return nil
}

// arg takes argument number i, counted from first.
func (b *block) arg(i, first int, text string) error {
	if i != len(b.cmd.Args)+first {
		return fmt.Errorf("argument %d out of order", i)
	}
	b.cmd.Args = append(b.cmd.Args, text)
	return nil
}

// key takes the key of pair i, counted from 0.
func (b *block) key(list *[]Pair, i int, text string) error {
	if i != len(*list) || b.open {
		return fmt.Errorf("key %d out of order", i)
	}
	*list, b.open = append(*list, Pair{Key: text}), true
	return nil
}

// value takes the value of pair i.
func (b *block) value(list []Pair, i int, text string) error {
	if i != len(list)-1 || !b.open {
		return fmt.Errorf("value %d out of order", i)
	}
	list[i].Value, b.open = text, false
	return nil
}

// endBlock completes a command.
func (a *assembly) endBlock() error {
	b := &a.block
	if err := b.args.check("arguments", len(b.cmd.Args)); err != nil {
		return err
	}
	if err := b.infos.check("hints", len(b.cmd.Info)); err != nil {
		return err
	}
	var err error
	b.cmd.Hints, err = hints(b.cmd.Info)
	a.procs = min(a.procs+min(max(b.cmd.Procs, 0), maxProcs+1), maxProcs+1)
	switch {
	case a.refusal != nil:
	case err != nil:
		a.refusal = err
	case b.cmd.Procs < 1:
		a.refusal = fmt.Errorf("%d processes", b.cmd.Procs)
	case a.procs > maxProcs:
		a.refusal = fmt.Errorf("more than %d processes", maxProcs)
	}
	a.spawn.Commands = append(a.spawn.Commands, b.cmd)
	return a.endPreput()
}

// endPreput takes over the block's preput: older clients repeat it in every block.
func (a *assembly) endPreput() error {
	b := &a.block
	if b.open {
		return errors.New("a key without its value")
	}
	if err := b.preputs.check("preputs", len(b.preput)); err != nil {
		return err
	}
	if len(a.spawn.Preput) == 0 {
		a.spawn.Preput = b.preput
	}
	a.block = block{}
	return nil
}

// finish asks for the spawn, or answers why it cannot be.
func (s *Server) finish(c *client, a *assembly, d due, out *Effects) {
	d.procs, d.coded = a.procs, a.spawn.CodesTell(s.world.Size)
	if a.refusal == nil {
		a.refusal = checkPreput(a.spawn.Preput)
	}
	if a.refusal != nil {
		sayRefused(c.rank, d, a.refusal, nil, out)
		return
	}
	c.wait, c.due = SpawnWorld, d
	out.Requests = append(out.Requests, Request{Rank: c.rank, Op: SpawnWorld, Spawn: &a.spawn})
}

// checkPreput refuses values that no get could return.
func checkPreput(pairs []Pair) error {
	for _, p := range pairs {
		switch {
		case p.Key == "" || len(p.Key) >= MaxKey:
			return fmt.Errorf("preput: a key of %d bytes, not 1 to %d", len(p.Key), MaxKey-1)
		case len(p.Value) >= MaxValue:
			return fmt.Errorf("preput: value longer than %d bytes", MaxValue-1)
		case strings.HasPrefix(p.Key, reservedPrefix):
			return fmt.Errorf("preput: keys that begin with %s are reserved", reservedPrefix)
		}
	}
	return nil
}

// index cuts prefix off key and reads the number that is left.
func index(key []byte, prefix string) (i int, ok bool) {
	text, found := strings.CutPrefix(string(key), prefix)
	if !found || text == "" || text[0] < '0' || text[0] > '9' {
		return 0, false
	}
	i, err := strconv.Atoi(text)
	return i, err == nil
}
