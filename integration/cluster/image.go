package cluster

import (
	"context"
	_ "embed" // of the image's sources
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// The images of the docker provider.
const (
	baseImage = "golaunch-base:bookworm"
	nodeImage = "golaunch-node:bookworm"
	imageSSHD = "/usr/sbin/sshd" // in the node image
)

//go:embed image/Dockerfile
var dockerfile string

//go:embed image/base.sh
var baseScript string

// BuildImage makes the image that docker nodes run, and before it the base
// image from Debian's packages if the engine has none, which needs root,
// debootstrap and a mirror. What the tools say goes to out.
func BuildImage(ctx context.Context, out io.Writer) error {
	if err := engineAvailable(); err != nil {
		return fmt.Errorf("provider %s: %w", Docker, err)
	}
	if !hasImage(baseImage) {
		if _, err := findTool("debootstrap"); err != nil {
			return fmt.Errorf("image %s: %w", baseImage, err)
		}
		cmd := exec.CommandContext(ctx, "sh", "-s", baseImage)
		cmd.Stdin = strings.NewReader(baseScript)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("image %s: make it from Debian's packages: %w", baseImage, err)
		}
	}
	dir, err := os.MkdirTemp("", "golaunch-image-")
	if err != nil {
		return fmt.Errorf("image %s: %w", nodeImage, err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(dockerfile), 0o644); err != nil {
		return fmt.Errorf("image %s: %w", nodeImage, err)
	}
	cmd := exec.CommandContext(ctx, "docker", "build", "-t", nodeImage, dir)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("image %s: docker build: %w", nodeImage, err)
	}
	return nil
}

func hasImage(tag string) bool {
	_, err := docker(context.Background(), "image", "inspect", "--format", "{{.Id}}", tag)
	return err == nil
}

// engineAvailable says why no container can be started here, or nil.
func engineAvailable() error {
	if _, err := findTool("docker"); err != nil {
		return err
	}
	if _, err := docker(context.Background(), "info", "--format", "{{.ServerVersion}}"); err != nil {
		return fmt.Errorf("no engine answers: %w", err)
	}
	return nil
}

// dockerAvailable says why there can be no docker cluster here, or nil.
func dockerAvailable() error {
	if err := engineAvailable(); err != nil {
		return err
	}
	if !hasImage(nodeImage) {
		return fmt.Errorf("the engine has no image %s; make it with: cluster image", nodeImage)
	}
	_, err := composeCommand()
	return err
}
