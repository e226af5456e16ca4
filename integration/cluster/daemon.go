package cluster

import (
	"fmt"
	"os"
	"os/exec"
)

// startDaemon runs the command on a machine that starts a resource manager's daemon,
// and waits for it. The daemon holds its output open: that goes to a file in dir, which
// is read if the start fails.
func (p *netnsProvider) startDaemon(n *Node, name, dir string, cmd *exec.Cmd) error {
	log, err := os.CreateTemp(dir, "said-*")
	if err != nil {
		return err
	}
	defer os.Remove(log.Name())
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := p.startIn(n, cmd); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	if err := cmd.Wait(); err != nil {
		text, _ := os.ReadFile(log.Name()) // without it there is less to say
		return fmt.Errorf("start %s: %w%s", name, err, quote(text))
	}
	return nil
}
