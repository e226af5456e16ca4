package cluster

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"
)

// With makes a folder below parent (the default folder for temporary files where
// that is empty), brings the cluster up in it, does work, and takes all of it down
// again, also after the work has failed or its context has ended. The nodes see the
// folder beside what config shares; config.Dir is set by With.
func With(ctx context.Context, parent string, config Config, work func(c *Cluster, dir string) error) (err error) {
	dir, err := os.MkdirTemp(parent, "cluster-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // for nodes of an ordinary user
		return err
	}
	config.Dir = filepath.Join(dir, "c")
	config.Share = append([]string{dir}, config.Share...)
	c, err := Up(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, c.Down(ctx))
	}()
	return work(c, dir)
}
