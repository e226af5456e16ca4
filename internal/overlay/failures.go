package overlay

import (
	"errors"
	"fmt"
	"time"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/tree"
)

// MaxAge is the greatest Age of a failure: older ones count as that old.
const MaxAge = 365 * 24 * time.Hour

// Failures is the set of failures known here, as each is told once on each link. The
// zero value is empty.
type Failures map[failureID]struct{}

// failureID identifies a failure.
type failureID struct {
	rank  job.RankID
	host  job.HostIndex
	class job.CauseClass
}

// First notes a failure, and reports whether it is the first of its rank, or its
// node, and its class.
func (s *Failures) First(f job.Failure) bool {
	id := failureID{job.RankID{World: f.World, Rank: f.Rank}, f.Host, f.Class}
	if f.Rank == -1 {
		id.rank.World = 0
	}
	if _, known := (*s)[id]; known {
		return false
	}
	if *s == nil {
		*s = Failures{}
	}
	(*s)[id] = struct{}{}
	return true
}

// failure: of a rank, or a host, that is the child's, with each cause once.
func (c *claims) failure(_ tree.Header, f job.Failure) error {
	if err := c.child.host(f.Host); err != nil {
		return err
	}
	if err := possible(f); err != nil {
		return err
	}
	if f.Rank != -1 {
		if err := c.rank(f.World, f.Rank, f.Host); err != nil {
			return err
		}
		if c.failed++; c.failed > causesOfRank*c.ranks { // ranks of worlds that are over have any number
			return fmt.Errorf("more failures than %d ranks can have", c.ranks)
		}
	}
	if !c.failures.First(f) {
		return errors.New("it is said twice")
	}
	return c.child.lost(f)
}

// lost: hosts that went with one that is the child's are the child's.
func (o *Origin) lost(f job.Failure) error {
	switch lost := tree.Hosts(f.Lost); {
	case len(lost) == 0:
		return nil
	case f.Rank != -1 || f.Class != job.CauseNodeLost:
		return errors.New("hosts are lost with what is no host")
	case !o.given.Holds(lost):
		return fmt.Errorf("with %s others are lost, which are not below it", o.called(f.Host))
	case !lost.Has(f.Host):
		return fmt.Errorf("others are lost with %s, and it is not", o.called(f.Host))
	}
	return nil
}

// causesOfRank is the number of causes.
const causesOfRank = int(job.CauseProtocol) + 1

// possible judges all of a failure but whose it is.
func possible(f job.Failure) error {
	node := f.Rank == -1 && (f.Class == job.CauseNodeLost || f.Class == job.CauseStart)
	switch {
	case f.Class > job.CauseProtocol:
		return fmt.Errorf("a failure of class %d", f.Class)
	case f.Rank == -1 && !node, f.Rank != -1 && f.Class == job.CauseNodeLost:
		return fmt.Errorf("a failure of class %d and rank %d", f.Class, f.Rank)
	case f.Class == job.CauseSignal && (f.Signal < 1 || f.Signal > job.MaxSignal):
		return fmt.Errorf("signal %d does not exist", f.Signal)
	case (f.Class == job.CauseExit || f.Class == job.CauseStart) && (f.Code < 1 || f.Code > job.MaxCode):
		return fmt.Errorf("exit code %d does not exist", f.Code)
	case f.Finalized && f.Class != job.CauseExit:
		return fmt.Errorf("a failure of class %d after MPI_Finalize", f.Class)
	case f.Age < 0 || f.Age > MaxAge || f.Clock < 0 || f.Said < 0:
		return fmt.Errorf("a failure of %v ago, at %v, told at %v", f.Age, f.Clock, f.Said)
	case f.PID < 0:
		return fmt.Errorf("process %d does not exist", f.PID)
	}
	if err := line(maxWord, f.Phase); err != nil {
		return err
	}
	return long(maxText, f.Text)
}
