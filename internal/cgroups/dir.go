// Package cgroups finds the control groups of this process (cgroups(7)), of both
// versions, and their limits.
package cgroups

import (
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Dir finds, in the texts of /proc/self/mountinfo and /proc/self/cgroup
// (proc(5), cgroups(7)), the directory of the cgroup v2, or of the cgroup v1 with a
// controller, and where its hierarchy is mounted.
func Dir(mountinfo, member, controller string) (point, dir string, err error) {
	var self string
	for line := range strings.Lines(member) {
		if f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3); len(f) == 3 && slices.Contains(strings.Split(f[1], ","), controller) {
			self = f[2]
		}
	}
	version := "v2"
	if controller != "" {
		version = "v1 with " + controller
	}
	if !path.IsAbs(self) {
		return "", "", fmt.Errorf("this process is in no cgroup %s", version)
	}
	for line := range strings.Lines(mountinfo) {
		m, ok := parseMount(line)
		if !ok || !m.shows(controller) {
			continue
		}
		// Text, not path, arithmetic: "/../x" is a cgroup outside of this namespace.
		rel, ok := strings.CutPrefix(self+"/", strings.TrimSuffix(m.root, "/")+"/")
		if !ok || strings.HasPrefix(rel, "../") {
			continue // our cgroup is outside of what is mounted there
		}
		return m.point, filepath.Join(m.point, rel), nil
	}
	return "", "", fmt.Errorf("no cgroup %s file system is mounted that shows this process's cgroup", version)
}

// mount is a line of mountinfo.
type mount struct {
	root, point, fstype string
	options             []string // of the file system
}

// shows reports whether a mount is one of the cgroup v2, or of the cgroup v1 with a
// controller.
func (m *mount) shows(controller string) bool {
	if controller == "" {
		return m.fstype == "cgroup2"
	}
	return m.fstype == "cgroup" && slices.Contains(m.options, controller)
}

// parseMount takes a line of mountinfo apart:
// "36 35 98:0 /root /mount/point rw,noatime shared:1 - cgroup2 source options".
func parseMount(line string) (m mount, ok bool) {
	left, right, ok := strings.Cut(line, " - ")
	l, r := strings.Fields(left), strings.Fields(right)
	if !ok || len(l) < 6 || len(r) < 1 {
		return mount{}, false
	}
	m = mount{root: unescapeMount(l[3]), point: unescapeMount(l[4]), fstype: r[0]}
	if len(r) > 2 {
		m.options = strings.Split(r[2], ",")
	}
	return m, true
}

// unescapeMount undoes the octal escapes of blanks and backslashes.
var unescapeMount = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace

// Within reports whether a directory is point or below it.
func Within(dir, point string) bool {
	return dir == point || strings.HasPrefix(dir, strings.TrimSuffix(point, "/")+"/")
}
