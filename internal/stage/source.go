package stage

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync"
)

// Image is an executable of the agent for one platform.
type Image struct {
	OS, Arch string // as in GOOS and GOARCH
	Hash     string // SHA-256 of its content, 64 hexadecimal digits
	Size     int64  // bytes
	// Open returns its content from the beginning. The caller closes it.
	Open func() (io.ReadCloser, error)
}

// Source has the agent's executables. An implementation must be safe for
// several goroutines.
type Source interface {
	// Path is a file on this machine to run as the agent.
	Path() string
	// Native is the executable for this machine's platform.
	Native() (Image, error)
	// Image is the executable for a platform.
	Image(os, arch string) (Image, error)
}

// Self returns the Source that consists of the running executable and of the files
// libexec/golaunch/nla-OS-ARCH beside its directory, which are the agent alone: those
// for other platforms, and that for its own if it is of the same revision of the
// sources. That is smaller, and so travels where there is one. The Source works even
// after the file is removed, as agents do with theirs: the kernel keeps running files.
// Content is hashed when first asked for.
func Self() (Source, error) {
	info, err := os.Stat(running)
	if err != nil {
		return nil, fmt.Errorf("own executable: %w", err)
	}
	path := ownPath(info)
	s := &self{path: path, images: make(map[string]Image)}
	if dir := filepath.Dir(path); !isProc(path) {
		s.dirs = []string{filepath.Join(dir, "..", "libexec", "golaunch"), filepath.Join(dir, "libexec", "golaunch")}
	}
	s.native = sync.OnceValues(func() (Image, error) {
		lines := revision()
		for _, path := range s.files(runtime.GOOS, runtime.GOARCH) {
			if builtFrom(path, lines) {
				return s.file(runtime.GOOS, runtime.GOARCH, path)
			}
		}
		return Running()
	})
	return s, nil
}

// Running returns the image of the running executable. It is hashed once: an agent that
// has looked at its own hash does not do so again for those below it.
func Running() (Image, error) { return hashedOnce() }

var hashedOnce = sync.OnceValues(func() (Image, error) {
	open := func() (io.ReadCloser, error) { return os.Open(running) }
	return newImage(runtime.GOOS, runtime.GOARCH, "own executable", open)
})

type self struct {
	path   string
	dirs   []string // directories of executables of the agent alone
	native func() (Image, error)

	mu     sync.Mutex
	images map[string]Image // by path
}

var _ Source = (*self)(nil)

func (s *self) Path() string { return s.path }

func (s *self) Native() (Image, error) { return s.native() }

func (s *self) Image(goos, arch string) (Image, error) {
	if goos == runtime.GOOS && arch == runtime.GOARCH {
		return s.native()
	}
	if len(s.dirs) == 0 {
		return Image{}, fmt.Errorf("no agent for %s/%s: this agent's own file is removed, and it has no others", goos, arch)
	}
	files := s.files(goos, arch)
	for _, path := range files {
		img, err := s.file(goos, arch, path)
		if err == nil || !errors.Is(err, os.ErrNotExist) {
			return img, err
		}
	}
	return Image{}, fmt.Errorf("no agent for %s/%s: build it (GOOS=%s GOARCH=%s go build ./cmd/nla) and put it at %s",
		goos, arch, goos, arch, files[0])
}

// files lists the paths that may hold the agent for a platform.
func (s *self) files(goos, arch string) (paths []string) {
	for _, dir := range s.dirs {
		paths = append(paths, filepath.Join(dir, "nla-"+goos+"-"+arch))
	}
	return paths
}

// file returns the image in a file, hashed once.
func (s *self) file(goos, arch, path string) (Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if img, ok := s.images[path]; ok {
		return img, nil
	}
	img, err := newImage(goos, arch, path, func() (io.ReadCloser, error) { return os.Open(path) })
	if err != nil {
		return Image{}, err
	}
	s.images[path] = img
	return img, nil
}

// newImage reads an executable to learn its size and hash. Errors call it what.
func newImage(goos, arch, what string, open func() (io.ReadCloser, error)) (Image, error) {
	r, err := open()
	if err != nil {
		return Image{}, fmt.Errorf("agent executable: %w", err)
	}
	defer r.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, r)
	if err != nil {
		return Image{}, fmt.Errorf("agent executable: %s: %w", what, err)
	}
	return Image{OS: goos, Arch: arch, Hash: hex.EncodeToString(sum.Sum(nil)), Size: size, Open: open}, nil
}

// running is the kernel's name for the running executable.
const running = "/proc/self/exe"

// ownPath returns the file that the running executable, here, can be run from: its
// own name while that is the same file, else the kernel's.
func ownPath(here os.FileInfo) string {
	proc := fmt.Sprintf("/proc/%d/exe", os.Getpid())
	path, err := os.Executable()
	if err != nil {
		return proc
	}
	there, err := os.Stat(path)
	if err != nil {
		return proc
	}
	if !os.SameFile(there, here) {
		return proc
	}
	return path
}

func isProc(path string) bool { return filepath.Dir(filepath.Dir(path)) == "/proc" }
