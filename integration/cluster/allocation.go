package cluster

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Allocation is one of the cluster's Slurm, which a process on head holds.
type Allocation struct {
	// Env holds Slurm's variables in the environment of programs in the allocation.
	Env []string

	cmd *Cmd
	end io.Closer
}

// Allocate has Slurm give so many nodes, with so many tasks on each, by salloc with
// further flags. The caller releases them; they are gone when ctx ends, too.
func (c *Cluster) Allocate(ctx context.Context, nodes, tasks int, flags ...string) (*Allocation, error) {
	argv := append([]string{"salloc", "--quiet", "-N", strconv.Itoa(nodes), "--ntasks-per-node", strconv.Itoa(tasks)}, flags...)
	a := &Allocation{cmd: c.CommandContext(ctx, Head, append(argv, "sh", "-c", `env -0 && printf 'up\0' && read -r end`)...)}
	a.cmd.Stderr = os.Stderr
	var err error
	if a.end, err = a.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, fmt.Errorf("salloc: %w", err)
	}
	for in := bufio.NewReader(out); ; {
		kv, err := in.ReadString(0)
		switch kv = strings.TrimSuffix(kv, "\x00"); {
		case err != nil:
			a.Release()
			return nil, fmt.Errorf("salloc gave no allocation of %d nodes with %d tasks each", nodes, tasks)
		case kv == "up":
			return a, nil
		case strings.HasPrefix(kv, "SLURM_"):
			a.Env = append(a.Env, kv)
		}
	}
}

// Release gives the nodes back.
func (a *Allocation) Release() {
	_ = a.end.Close() // ends the shell, and so the allocation
	_ = a.cmd.Wait()  // the shell's read has found no line
}
