// Package rivals gives the launchers that golaunch is measured beside what they need on a
// test cluster.
package rivals

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
)

// GiveKeys lets every node reach every other, with the head's key, as the trees of rivals
// need. The error names a file.
func GiveKeys(c *cluster.Cluster) error {
	head := filepath.Join(c.Home(cluster.Head), ".ssh")
	key, err := os.ReadFile(filepath.Join(head, "id_ed25519"))
	if err != nil {
		return err
	}
	config, err := os.ReadFile(filepath.Join(head, "config"))
	if err != nil {
		return err
	}
	for _, n := range c.Nodes() {
		own := filepath.Join(c.Home(n.Name), ".ssh")
		if err := os.WriteFile(filepath.Join(own, "id_ed25519"), key, 0o600); err != nil {
			return err
		}
		text := strings.ReplaceAll(string(config), head, own)
		if err := os.WriteFile(filepath.Join(own, "config"), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
