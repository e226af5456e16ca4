package launcher

import (
	"os"
	"path/filepath"
)

// maxPMILibrary bounds libpmi.so, in bytes: it travels to every node.
const maxPMILibrary = 1 << 20

// pmiLibrary is the contents of libpmi.so, which Open MPI's ranks load, from
// lib/golaunch beside golaunch's directory or in it; nil where it was not built.
func pmiLibrary() []byte {
	path, err := os.Executable()
	if err != nil {
		return nil
	}
	dir := filepath.Dir(path)
	for _, dir := range []string{filepath.Dir(dir), dir} {
		file := filepath.Join(dir, "lib", "golaunch", "libpmi.so")
		if info, err := os.Stat(file); err != nil || info.Size() > maxPMILibrary {
			continue
		}
		if contents, err := os.ReadFile(file); err == nil {
			return contents
		}
	}
	return nil
}
