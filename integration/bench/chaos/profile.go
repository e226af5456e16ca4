package chaos

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/golaunch/golaunch/internal/profile"
)

// profile returns the path of every job's --profile.
func (p place) profile() string { return filepath.Join(p.dir, "profile.json") }

// oldProfile is the content before a job: a new file takes its place when it is whole.
const oldProfile = "an older file\n"

func (j *job) prepareProfile() error {
	if !j.has("--profile") {
		return nil
	}
	return os.WriteFile(j.place.profile(), []byte(oldProfile), 0o600)
}

// lookAtProfile judges the file of --profile, and its neighbors.
func (j *job) lookAtProfile(o *outcome) error {
	if !j.has("--profile") {
		return nil
	}
	content, err := os.ReadFile(j.place.profile())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	o.judgeProfile(content)
	parts, err := filepath.Glob(filepath.Join(j.place.dir, ".profile.json.*"))
	if err != nil {
		return err
	}
	for _, part := range parts {
		if !o.killed() {
			o.find("leftovers", "%s beside the profile", filepath.Base(part))
		}
		if err := os.Remove(part); err != nil {
			return err
		}
	}
	return nil
}

// judgeProfile finds faults in the content of the file.
func (o *outcome) judgeProfile(content []byte) {
	if string(content) == oldProfile {
		if o.code == 0 {
			o.find("wrong files", "the profile of a job that ended well is missing")
		}
		return
	}
	p, err := profile.Read(bytes.NewReader(content), "profile")
	switch {
	case err != nil && len(content) == 0:
		o.find("wrong files", "the older profile is gone, and there is no other one")
	case err != nil:
		o.find("wrong files", "the profile is not whole: %v", err)
	case p.Status != 0 && o.code != 0 && o.has("--restarts"): // of an attempt before one that had no ranks
	case p.Status != o.code && !o.killed():
		o.find("wrong files", "%s", fmt.Sprintf("the profile has status %d", p.Status))
	}
}
