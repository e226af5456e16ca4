package stage

import (
	"bytes"
	"debug/elf"
	"runtime/debug"
)

// revision returns the build information about the sources of this executable, if they
// are a revision and nothing beside: nil if that is not known.
func revision() [][]byte {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return nil
	}
	var lines [][]byte
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" || s.Key == "vcs.modified" && s.Value == "false" {
			lines = append(lines, []byte("\t"+s.Key+"="+s.Value+"\n"))
		}
	}
	if len(lines) < 2 {
		return nil
	}
	return append(lines, []byte(info.GoVersion))
}

// builtFrom reports whether the build information of an executable has all these
// lines.
func builtFrom(path string, lines [][]byte) bool {
	if len(lines) == 0 {
		return false
	}
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	section := f.Section(".go.buildinfo")
	if section == nil {
		return false
	}
	info, err := section.Data()
	if err != nil {
		return false
	}
	for _, line := range lines {
		if !bytes.Contains(info, line) {
			return false
		}
	}
	return true
}
