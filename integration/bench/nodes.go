package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
)

// clusterTable compares golaunch with Hydra over clusters of every size.
func clusterTable(ctx context.Context, page *strings.Builder, s settings, kex string) error {
	exchange := "OpenSSH's default key exchange (sntrup761 between two OpenSSHs; golaunch's client has curve25519)"
	if kex == cluster.KexCurve25519 {
		exchange = "key exchange curve25519 at every sshd"
	}
	fmt.Fprintf(page, `
## Nodes over SSH, %s

| program | nodes × ranks | Hydra | golaunch | Hydra / golaunch | golaunch, copied | Hydra / copied | CPU Hydra | CPU golaunch |
|---|---|---|---|---|---|---|---|---|
`, exchange)
	for _, nodes := range s.nodes {
		if err := clusterRows(ctx, page, s, kex, nodes); err != nil {
			return err
		}
	}
	fmt.Fprint(page, `
golaunch runs where the hosts have it in the same place, as Hydra's proxy must;
"copied" has the agent brought to every host (--copy-agent), as where nothing is
installed.
`)
	return nil
}

func clusterRows(ctx context.Context, page *strings.Builder, s settings, kex string, nodes int) (err error) {
	dir, err := os.MkdirTemp("", "golaunch-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c, err := cluster.Up(ctx, cluster.Config{Dir: filepath.Join(dir, "c"), Nodes: nodes, Kex: kex})
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if down := c.Down(ctx); err == nil {
			err = down
		}
	}()
	for _, ppn := range s.ranks {
		for _, program := range [][]string{{"/bin/true"}, {filepath.Join(s.bin, "native", "pmiclient"), "-q"}} {
			n, per := strconv.Itoa(nodes*ppn), strconv.Itoa(ppn)
			golaunch := func(more ...string) func() command {
				argv := []string{filepath.Join(s.bin, "golaunch"), "-f", c.HostFile(), "--ssh-config", c.SSHConfig(), "-n", n, "-N", per}
				argv = append(append(argv, more...), program...)
				return func() command { return c.CommandContext(ctx, cluster.Head, argv...) }
			}
			hydra := func() command {
				argv := append([]string{"mpiexec.hydra", "-f", c.HostFile(), "-launcher", "ssh", "-n", n, "-ppn", per}, program...)
				cmd := c.CommandContext(ctx, cluster.Head, argv...)
				cmd.Env = append(cmd.Env, "HYDRA_LAUNCHER_EXTRA_ARGS=-F "+c.SSHConfig())
				return cmd
			}
			r, err := hold(s.runs, hydra, golaunch(), golaunch("--copy-agent"))
			if err != nil {
				return err
			}
			fmt.Fprintf(page, "| %s | %d × %d | %.0f | %.0f | %.1f | %.0f | %.1f | %.1f | %.1f |\n",
				filepath.Base(program[0]), nodes, ppn, r.wall(0), r.wall(1), r.ratio(0, 1), r.wall(2), r.ratio(0, 2), r.cpu(0), r.cpu(1))
		}
	}
	return nil
}
