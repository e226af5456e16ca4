package jobs

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
	j       *Job
	has     int           // slots that the allocation has here; 0 where no other golaunch counts
	entry   *ledger.Entry // nil where what others use was never known
	unknown string        // why it is not, since the beginning or later
	others  ledger.Use    // while something is given to ranks
}

// open begins to take part in the allocation, and claims what the job wants of this
// node; nil where nothing is shared. The warden must not be there yet: it is to hold the
// entry, too.
func (sh *share) open() *overlay.Shared {
	s := sh.j.node.Self().Share
	if s == nil || sh.j.node.Common().Allocation == "" {
		return nil
	}
	sh.has = s.Has
	var err error
	if sh.entry, err = ledger.Open(sh.j.node.Common().Allocation, sh.j.node.Self().Name); err != nil {
		sh.unknown = overlay.CutWhy(err.Error())
	}
	got := sh.claim(*s, os.DirFS("/"), os.Environ())
	return &got
}

// file returns the file of the entry; nil where there is none.
func (sh *share) file() *os.File {
	if sh.entry == nil {
		return nil
	}
	return sh.entry.File()
}

// known reports whether what others use is.
func (sh *share) known() bool { return sh.entry != nil && sh.unknown == "" }

// close gives everything back.
func (sh *share) close() {
	if sh.entry != nil {
		sh.entry.Close()
	}
}

// claim tries to have a share, instead of what the job has of this node. A lack that the
// node has without any other golaunch, too, hinders none: the launch tells of it.
func (sh *share) claim(s overlay.Share, root fs.FS, environ []string) (got overlay.Shared) {
	all := overlay.Shared{Slots: s.Slots, Free: sh.has, Unknown: sh.unknown}
	if !sh.known() {
		return all
	}
	err := sh.entry.Change(func(others ledger.Use) (own ledger.Use, err error) {
		got.Free = max(0, sh.has-others.Slots)
		if s.Slots == 0 && others.Slots == 0 { // else a job that wants more than there is would wait for nobody
			return ledger.Use{}, nil
		}
		least := max(1, s.Slots)
		var give []func() error
		if choice, cerr := binding.Parse(sh.j.node.Common().BindTo); s.CPUs && cerr == nil && choice.Binds() {
			host, err := sh.j.node.Processors(choice.Local())
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
		sh.unknown = overlay.CutWhy(err.Error())
		all.Unknown = sh.unknown
		return all
	}
	return got
}

// claimAgain answers a claim of the launcher.
func (sh *share) claimAgain(c overlay.Claim) error {
	if sh.j.launch != nil {
		return errors.New("a claim after the launch")
	}
	if sh.has == 0 {
		return nil
	}
	want := overlay.Share{}
	if i, found := slices.BinarySearchFunc(c.Of, sh.j.node.Self().Index, func(h overlay.HostShare, self job.HostIndex) int {
		return int(h.Host - self)
	}); found {
		want = c.Of[i].Share
	} else if sh.j.node.Self().Share != nil { // what a rank would have to have
		want.CPUs, want.GPUs = sh.j.node.Self().Share.CPUs, sh.j.node.Self().Share.GPUs
	}
	got := sh.claim(want, os.DirFS("/"), os.Environ())
	sh.j.node.Up(link.Service, overlay.KindClaimed, overlay.Encode(overlay.Claimed{Round: c.Round, Host: sh.j.node.Self().Index, Shared: got}))
	return nil
}

// giveParts gives the local ranks of a world CPUs and GPUs of their own, which other jobs
// in the allocation do not have, as far as that is known.
func (pl *placing) giveParts(w *world, root fs.FS, environ []string) error {
	give := func() error {
		if err := pl.giveGPUs(w, root, environ); err != nil {
			return err
		}
		if err := pl.findNear(w, root, environ); err != nil {
			return err
		}
		return pl.bind(w)
	}
	if !pl.j.share.known() {
		return give()
	}
	var refused error
	given := false
	err := pl.j.share.entry.Change(func(others ledger.Use) (ledger.Use, error) {
		own := pl.used()
		if free := pl.j.share.has - others.Slots; w.spawned && own.Slots > free && !pl.j.launch.ShareCPUs {
			refused = &placeError{w.ranks[0].Number, fmt.Errorf("not enough free slots: other golaunch of the allocation use %d of %d on this host; --overlap shares them",
				others.Slots, pl.j.share.has)}
			return own, refused
		}
		pl.j.share.others = others
		defer func() { pl.j.share.others = ledger.Use{} }()
		given = true
		if refused = give(); refused != nil {
			return own, refused
		}
		return pl.used(), nil
	})
	if refused != nil || err == nil {
		return refused
	}
	pl.j.share.unknown = overlay.CutWhy(err.Error())
	pl.j.node.Note(0, "the slots that other golaunch of the allocation use here are unknown, ranks may share them: %v", err)
	if given {
		return nil
	}
	return give()
}

// used sums up the use of the local ranks: those of the launch as long as the job lives,
// others until they end.
func (pl *placing) used() (use ledger.Use) {
	for _, w := range pl.j.worlds {
		use.Slots += w.living
		if !w.spawned {
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
	use.Slots = min(use.Slots, pl.j.share.has)
	return use
}

// giveBack has others use what a spawned world does not any more.
func (pl *placing) giveBack(w *world) {
	if pl.j.share.known() && w.spawned {
		_ = pl.j.share.entry.Change(func(ledger.Use) (ledger.Use, error) { return pl.used(), nil }) // else with the job
	}
}
