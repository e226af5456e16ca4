package cluster

import (
	"context"
	"crypto/sha256"
	_ "embed" // of the image's sources
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// NodeImage is the image of the containers of provider docker.
const NodeImage = "golaunch-node:bookworm"

// The images of the docker provider.
const (
	baseImage = "golaunch-base:bookworm"
	imageSSHD = "/usr/sbin/sshd" // in the node image
)

//go:embed image/Dockerfile
var dockerfile string

//go:embed image/base.sh
var baseScript string

// recipeLabel holds the recipe of an image: one of another recipe is made again.
const recipeLabel = "golaunch.recipe"

func baseRecipe() string { return recipe(baseScript) }
func nodeRecipe() string { return recipe(baseScript, dockerfile) }

func recipe(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:8])
}

// BuildImage makes the image that docker nodes run unless the engine has it, and
// before it the base image from Debian's packages, which needs root, debootstrap
// and a mirror. The output of the tools goes to out.
func BuildImage(ctx context.Context, out io.Writer) error {
	if err := EngineUnavailable(); err != nil {
		return fmt.Errorf("provider %s: %w", Docker, err)
	}
	if hasImage(NodeImage, nodeRecipe()) {
		return nil
	}
	if !hasImage(baseImage, baseRecipe()) {
		if _, err := findTool("debootstrap"); err != nil {
			return fmt.Errorf("image %s: %w", baseImage, err)
		}
		cmd := exec.CommandContext(ctx, "sh", "-s", baseImage, recipeLabel+"="+baseRecipe())
		cmd.Stdin = strings.NewReader(baseScript)
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("image %s: make it from Debian's packages: %w", baseImage, err)
		}
	}
	dir, err := os.MkdirTemp("", "golaunch-image-")
	if err != nil {
		return fmt.Errorf("image %s: %w", NodeImage, err)
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "Dockerfile"), []byte(dockerfile), 0o644); err != nil {
		return fmt.Errorf("image %s: %w", NodeImage, err)
	}
	cmd := exec.CommandContext(ctx, "docker", "build", "--label", recipeLabel+"="+nodeRecipe(), "-t", NodeImage, dir)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("image %s: docker build: %w", NodeImage, err)
	}
	return nil
}

// hasImage tells whether the engine has an image of that recipe.
func hasImage(tag, recipe string) bool {
	out, err := docker(context.Background(), "image", "inspect", "--format", `{{index .Config.Labels "`+recipeLabel+`"}}`, tag)
	return err == nil && strings.TrimSpace(out) == recipe
}

// EngineUnavailable returns the reason that no container can be started here, or nil.
func EngineUnavailable() error {
	if _, err := findTool("docker"); err != nil {
		return err
	}
	if _, err := docker(context.Background(), "info", "--format", "{{.ServerVersion}}"); err != nil {
		return fmt.Errorf("no engine answers: %w", err)
	}
	return nil
}

// dockerAvailable returns the reason that there can be no docker cluster here, or nil.
func dockerAvailable() error {
	if err := EngineUnavailable(); err != nil {
		return err
	}
	if !hasImage(NodeImage, nodeRecipe()) {
		return fmt.Errorf("the engine has no image %s; make it with: cluster image", NodeImage)
	}
	_, err := ComposeCommand()
	return err
}
