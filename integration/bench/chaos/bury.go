package chaos

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/integration/internal/trial"
)

// forced reports a possible end by force of some rank, or a lack of room for its files: such
// a rank may have left segments that nobody can unlink.
func (o *outcome) forced() bool {
	if len(o.struck) == 0 {
		return false
	}
	full := slices.ContainsFunc(o.struck, func(b blow) bool { return b.starves })
	return full || o.killed() || o.code != 0 || o.program.endless || o.has("--restarts")
}

// segments lists and removes the files of MPICH and UCX that ranks make, and unlink, in
// MPI_Init.
const segments = `find /dev/shm -maxdepth 1 "(" -name "ucx_shm_posix_*" -o -name "mpich_shar_tmp*" ")" -print -delete`

// unlink removes the segments that ranks may have left that were ended between making and
// unlinking them, and counts those that were not there before. Of a job all of whose ranks
// ended by themselves it removes none: these are found.
func (j *job) unlink(o *outcome, held trial.Holdings) error {
	if !o.forced() {
		return nil
	}
	for _, name := range j.place.nodes {
		out, err := j.place.cluster.Command(name, "sh", "-c", segments).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: clean up: %w: %s", name, err, out)
		}
		for file := range strings.Lines(string(out)) {
			if !held[name]["file "+strings.TrimSpace(file)] {
				o.segments++
			}
		}
	}
	return nil
}

// bury removes what lies on nodes all of whose processes were killed at once, and takes
// these out of what is looked at: only a restart cleans them.
func (j *job) bury(held trial.Holdings) error {
	for _, b := range j.struck {
		if !b.dead {
			continue
		}
		delete(held, b.node)
		out, err := j.place.cluster.Command(b.node, "sh", "-c", `rm -rf /tmp/golaunch-* /dev/shm/golaunch-*
find /sys/fs/cgroup -depth -type d -path "*/golaunch-*" -exec rmdir {} +`).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: clean up: %w: %s", b.node, err, out)
		}
	}
	return nil
}
