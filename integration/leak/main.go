// Command leak runs many jobs in one process and prints, after the first few and
// after the last, how many descriptors and goroutines it has: golaunch is also a
// package, and a caller that does so again and again must get everything back.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/agent"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/launcher"
)

func main() {
	if words := os.Args[1:]; overlay.IsAgent(words) {
		os.Exit(agent.Main(words))
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "leak:", err)
		os.Exit(1)
	}
}

// kinds of jobs, in turn: some end well, some badly.
var kinds = []struct {
	argv   []string
	status int
}{
	{[]string{"sh", "-c", "echo $RANK; cat"}, 0},
	{[]string{"sh", "-c", "exit $((RANK > 0))"}, 1},
	{[]string{"/no/such/program"}, job.ExitNotFound},
	{[]string{"sh", "-c", "kill -9 $$"}, 128 + 9},
}

func run(args []string) error {
	f := flag.NewFlagSet("leak", flag.ContinueOnError)
	jobs := f.Int("jobs", 200, "jobs")
	first := f.Int("first", 8, "jobs before the first count")
	hosts := f.String("hosts", "", "host list; this machine, three times, by default")
	config := f.String("ssh-config", "", "ssh configuration `FILE`")
	if err := f.Parse(args); err != nil {
		return err
	}
	o := launcher.DefaultOptions()
	o.Hosts.Nodes, o.Tree.Degree, o.Boot.Values = 3, 2, bootstrap.Values{"ssh-config": *config}
	if *hosts != "" {
		var err error
		if o.Hosts.List, err = hostlist.Parse(*hosts, "-hosts"); err != nil {
			return err
		}
		o.Hosts.Nodes = 0
	}
	var err error
	if o.Programs.Dir, err = os.Getwd(); err != nil {
		return err
	}
	o.Programs.Env = os.Environ()
	var before counts
	for i := range *jobs {
		if i == *first {
			if before, err = count("first", counts{}); err != nil {
				return err
			}
		}
		kind := kinds[i%len(kinds)]
		o.Programs.Apps = []job.App{{Argv: kind.argv, N: 6}}
		var output strings.Builder
		if status := launcher.Run(context.Background(), o, launcher.IO{Stdout: io.Discard, Stderr: &output}); status != kind.status {
			return fmt.Errorf("job %d, %q: status %d, not %d: %s", i, kind.argv, status, kind.status, &output)
		}
	}
	_, err = count("last", before)
	return err
}

// counts are numbers of things that a process may leak.
type counts struct{ files, goroutines int }

// settle is the time for which the counts are looked at: connections say goodbye in the
// background. settleLast is the most that this may take, on a busy machine, until there
// are no more than there were at first.
const (
	settle     = 2 * time.Second
	settleLast = time.Minute
)

// count prints the lowest numbers of descriptors and goroutines that it sees
// while things settle, and waits until they are no higher than before's.
func count(label string, before counts) (lowest counts, err error) {
	lowest = counts{1 << 30, 1 << 30}
	for begin := time.Now(); time.Since(begin) < settle || lowest.above(before) && time.Since(begin) < settleLast; time.Sleep(settle / 100) { //nolint:forbidigo // it samples
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			return lowest, err
		}
		lowest = counts{min(lowest.files, len(list)-1), min(lowest.goroutines, runtime.NumGoroutine())}
	}
	_, err = fmt.Printf("%s: %d descriptors, %d goroutines\n", label, lowest.files, lowest.goroutines)
	return lowest, err
}

// above reports whether something is more than it was; of nothing, it is not.
func (c counts) above(before counts) bool {
	return before != counts{} && (c.files > before.files || c.goroutines > before.goroutines)
}
