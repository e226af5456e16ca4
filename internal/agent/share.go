package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/golaunch/golaunch/internal/agent/ledger"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/network/placement/binding"
	"github.com/golaunch/golaunch/network/placement/gpu"
)

// share is this job's part of the node, where other golaunch of the same allocation may
// have theirs.
type share struct {
	has     int           // slots that the allocation has here; 0 where no other golaunch counts
	entry   *ledger.Entry // nil where what others use was never known
	unknown string        // why it is not, since the beginning or later
	others  ledger.Use    // while something is given to ranks
}

// openShare begins to take part in the allocation, and claims what the job wants of this
// node; nil where nothing is shared. The warden must not be there yet: it is to hold the
// entry, too.
func (a *Agent) openShare() *overlay.Shared {
	s := a.self.Share
	if s == nil || a.common.Allocation == "" || a.harness.shared() {
		return nil
	}
	a.share.has = s.Has
	var err error
	if a.share.entry, err = ledger.Open(a.common.Allocation, a.self.Name); err != nil {
		a.share.unknown = overlay.CutWhy(err.Error())
	}
	got := a.claim(*s, os.DirFS("/"), os.Environ())
	return &got
}

// file returns the file of the entry; nil where there is none.
func (s *share) file() *os.File {
	if s.entry == nil {
		return nil
	}
	return s.entry.File()
}

// known reports whether what others use is.
func (s *share) known() bool { return s.entry != nil && s.unknown == "" }

// close gives everything back.
func (s *share) close() {
	if s.entry != nil {
		s.entry.Close()
	}
}

// claim tries to have a share, instead of what the job has of this node. A lack that the
// node has without any other golaunch, too, hinders none: the launch tells of it.
func (a *Agent) claim(s overlay.Share, root fs.FS, environ []string) (got overlay.Shared) {
	all := overlay.Shared{Slots: s.Slots, Free: a.share.has, Unknown: a.share.unknown}
	if !a.share.known() {
		return all
	}
	err := a.share.entry.Change(func(others ledger.Use) (own ledger.Use, err error) {
		got.Free = max(0, a.share.has-others.Slots)
		if s.Slots == 0 && others.Slots == 0 { // else a job that wants more than there is would wait for nobody
			return ledger.Use{}, nil
		}
		least := max(1, s.Slots)
		var give []func() error
		if choice, cerr := binding.Parse(a.common.BindTo); s.CPUs && cerr == nil && choice.Binds() {
			host, err := a.host(choice.Local())
			if err == nil {
				if room, _, err := host.Room(choice); err == nil && room >= least {
					free, _ := host.Free(choice, others.CPUs)
					got.Free = min(got.Free, free)
					give = append(give, func() (err error) {
						own.CPUs, err = host.Assign(binding.Wish{Choice: choice, Ranks: s.Slots, Taken: others.CPUs})
						return err
					})
				}
			}
		}
		if s.GPUs > 0 {
			if host := gpu.Read(root, environ); len(host.Devices)/s.GPUs >= least {
				got.Free = min(got.Free, host.Free(others.GPUs)/s.GPUs)
				give = append(give, func() error {
					sets, err := host.Assign(s.GPUs, s.Slots, others.GPUs)
					own.GPUs = slices.Concat(sets...)
					return err
				})
			}
		}
		if s.Slots == 0 || s.Slots > got.Free {
			return ledger.Use{}, nil
		}
		for _, g := range give {
			if err := g(); err != nil {
				return ledger.Use{}, err
			}
		}
		own.Slots, got.Slots = s.Slots, s.Slots
		return own, nil
	})
	if err != nil {
		a.share.unknown = overlay.CutWhy(err.Error())
		all.Unknown = a.share.unknown
		return all
	}
	return got
}

// claimAgain answers a claim of the launcher.
func (a *Agent) claimAgain(c overlay.Claim) error {
	if a.launch != nil {
		return errors.New("a claim after the launch")
	}
	if a.share.has == 0 {
		return nil
	}
	want := overlay.Share{}
	if i, found := slices.BinarySearchFunc(c.Of, a.self.Index, func(h overlay.HostShare, self job.HostIndex) int {
		return int(h.Host - self)
	}); found {
		want = c.Of[i].Share
	} else if a.self.Share != nil { // what a rank would have to have
		want.CPUs, want.GPUs = a.self.Share.CPUs, a.self.Share.GPUs
	}
	got := a.claim(want, os.DirFS("/"), os.Environ())
	a.up(link.Service, overlay.KindClaimed, overlay.Encode(overlay.Claimed{Round: c.Round, Host: a.self.Index, Shared: got}))
	return nil
}

// giveParts gives the local ranks of a world CPUs and GPUs of their own, which other jobs
// in the allocation do not have, as far as that is known.
func (a *Agent) giveParts(w *world, root fs.FS, environ []string) error {
	give := func() error {
		if err := a.giveGPUs(w, root, environ); err != nil {
			return err
		}
		if err := a.findNear(w, root, environ); err != nil {
			return err
		}
		return a.bind(w)
	}
	if !a.share.known() {
		return give()
	}
	var refused error
	given := false
	err := a.share.entry.Change(func(others ledger.Use) (ledger.Use, error) {
		own := a.used()
		if free := a.share.has - others.Slots; w.id > 0 && own.Slots > free && !a.launch.ShareCPUs {
			refused = &placeError{w.ranks[0].Number, fmt.Errorf("not enough free slots: other golaunch of the allocation use %d of %d on this host; --overlap shares them",
				others.Slots, a.share.has)}
			return own, refused
		}
		a.share.others = others
		defer func() { a.share.others = ledger.Use{} }()
		given = true
		if refused = give(); refused != nil {
			return own, refused
		}
		return a.used(), nil
	})
	if refused != nil || err == nil {
		return refused
	}
	a.share.unknown = overlay.CutWhy(err.Error())
	a.note(0, "the slots that other golaunch of the allocation use here are unknown, ranks may share them: %v", err)
	if given {
		return nil
	}
	return give()
}

// used sums up the use of the local ranks: those of the first world as long as the job lives,
// others until they end.
func (a *Agent) used() (use ledger.Use) {
	for _, w := range a.worlds {
		use.Slots += w.living
		if w.id == 0 {
			use.Slots += len(w.ranks) - w.living
		}
		for _, r := range w.ranks {
			switch {
			case r.Exited:
				continue
			case r.cpus != nil:
				use.CPUs = append(use.CPUs, r.cpus)
			}
			use.GPUs = append(use.GPUs, r.gpus...)
		}
	}
	use.Slots = min(use.Slots, a.share.has)
	return use
}

// giveBack has others use what a spawned world does not any more.
func (a *Agent) giveBack(w *world) {
	if a.share.known() && w.id > 0 {
		_ = a.share.entry.Change(func(ledger.Use) (ledger.Use, error) { return a.used(), nil }) // else with the job
	}
}
