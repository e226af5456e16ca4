package stage

import (
	"fmt"
	"strings"
)

// machines translates the machine of uname(1) into GOARCH, for Linux.
var machines = map[string]string{
	"x86_64":      "amd64",
	"aarch64":     "arm64",
	"ppc64le":     "ppc64le",
	"riscv64":     "riscv64",
	"s390x":       "s390x",
	"loongarch64": "loong64",
	"i686":        "386",
	"i386":        "386",
	"armv7l":      "arm",
	"armv6l":      "arm",
}

// platform reads the answer of `uname -sm`.
func platform(uname string) (goos, arch string, err error) {
	system, machine, ok := strings.Cut(uname, " ")
	switch {
	case !ok:
		return "", "", fmt.Errorf("uname -sm says %.60q", uname)
	case system != "Linux":
		return "", "", fmt.Errorf("its system is %.40s; agents run on Linux only", system)
	case machines[machine] == "":
		return "", "", fmt.Errorf("its machine type %.40s is unknown", machine)
	}
	return "linux", machines[machine], nil
}

// unameOf returns the output of `uname -sm` on a platform; "" if it is not known, which
// matches no answer.
func unameOf(goos, arch string) string {
	for _, machine := range []string{"x86_64", "aarch64", "ppc64le", "riscv64", "s390x", "loongarch64", "i686", "armv7l"} {
		if goos == "linux" && machines[machine] == arch {
			return "Linux " + machine
		}
	}
	return ""
}
