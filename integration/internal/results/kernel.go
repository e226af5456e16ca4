package results

import (
	"os"
	"strings"
)

// Kernel is the version of the running Linux, for a page's sentence about the machine.
func Kernel() string {
	b, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "of unknown version"
	}
	return strings.TrimSpace(string(b))
}
