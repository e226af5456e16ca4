// Package programs makes the programs of tests on clusters: golaunch and those of
// native/, fresh, where the nodes see them.
package programs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/golaunch/golaunch/integration/cluster"
)

// builtVariable is the environment variable that names a folder in which make has just
// built them: for all packages of tests at once.
const builtVariable = "TEST_PROGRAMS"

// Make builds into a new directory, which the caller removes, of the project's
// .cache: nodes have a /tmp of their own, but share the rest. The files of
// TEST_PROGRAMS are copied instead. The error holds the compilers' output; nothing is
// left then.
func Make() (dir string, err error) {
	root, err := root()
	if err != nil {
		return "", err
	}
	cache := filepath.Join(root, ".cache")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	if dir, err = os.MkdirTemp(cache, "built-"); err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			os.RemoveAll(dir)
		}
	}()
	if err := os.Chmod(dir, 0o755); err != nil { // for nodes of an ordinary user
		return dir, err
	}
	if from := os.Getenv(builtVariable); from != "" {
		return dir, os.CopyFS(dir, os.DirFS(from))
	}
	return dir, makeIn(root, dir)
}

// makeIn builds the programs of the module at root into a folder.
func makeIn(root, dir string) (err error) {
	run := func(name string, args ...string) {
		if err != nil {
			return
		}
		cmd := exec.Command(name, args...)
		cmd.Dir = root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "OUT="+dir, "LIB="+filepath.Join(dir, "lib", "golaunch"))
		var out []byte
		if out, err = cmd.CombinedOutput(); err != nil {
			err = fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
		}
	}
	run("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir, "./cmd/golaunch", "./client/examples/...", "./integration/bench/collectives/star")
	run("go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(dir, "libexec", "golaunch", "nla-"+runtime.GOOS+"-"+runtime.GOARCH), "./cmd/nla")
	run("scripts/native.sh")
	return err
}

// Shared lists the folders that the nodes of a cluster have to see: the directory, and
// the Open MPI 5 and MPICH that programs in it are linked with (scripts/openmpi5.sh,
// scripts/mpich.sh), where they are.
func Shared(built string) []string {
	shared := []string{built}
	if dir := OpenMPI5(); dir != "" {
		shared = append(shared, dir)
	}
	if root, err := root(); err == nil {
		mpich, _ := filepath.Glob(filepath.Join(root, ".cache", "mpich-*")) // its pattern is in order
		shared = append(shared, mpich...)
	}
	return shared
}

// OpenMPI5 is the directory of the Open MPI 5 that scripts/openmpi5.sh has unpacked, or
// "" where there is none.
func OpenMPI5() string {
	root, err := root()
	if err != nil {
		return ""
	}
	dir := filepath.Join(root, ".cache", "openmpi5")
	if _, err := os.Stat(filepath.Join(dir, "complete")); err != nil {
		return ""
	}
	return dir
}

// Race builds golaunch with the race detector, which needs cgo, as file.
func Race(file string) error { return goBuild("CGO_ENABLED=1", "-race", "-o", file, "./cmd/golaunch") }

// Examples builds the examples of package client into a folder.
func Examples(dir string) error {
	return goBuild("CGO_ENABLED=0", "-ldflags=-s -w", "-o", dir+"/", "./client/examples/...")
}

// goBuild runs go build in the module, with a variable of the environment.
func goBuild(env string, args ...string) error {
	root, err := root()
	if err != nil {
		return err
	}
	cmd := exec.Command("go", append([]string{"build", "-trimpath"}, args...)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), env)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%v: %w\n%s", cmd.Args, err, out)
	}
	return nil
}

// OnCluster makes them, brings up a cluster of so many nodes that see them, does
// work, and removes all of it again.
func OnCluster(ctx context.Context, nodes int, work func(c *cluster.Cluster, built string) error) error {
	built, err := Make()
	if err != nil {
		return err
	}
	defer os.RemoveAll(built)
	return cluster.With(ctx, built, cluster.Config{Nodes: nodes, Share: Shared(built)}, func(c *cluster.Cluster, _ string) error {
		return work(c, built)
	})
}

// root is the directory of the module that the working directory is in.
func root() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	file := strings.TrimSpace(string(out))
	if filepath.Base(file) != "go.mod" {
		return "", fmt.Errorf("the working directory is in no module")
	}
	return filepath.Dir(file), nil
}
