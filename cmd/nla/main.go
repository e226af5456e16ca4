// Command nla is the node launch agent alone: what golaunch stages on nodes, where it
// has it for their platform (libexec/golaunch/nla-OS-ARCH). Without it golaunch stages
// itself on nodes of its own platform.
package main

import (
	"os"

	"github.com/golaunch/golaunch/internal/agent"
)

func main() { os.Exit(agent.Main(os.Args[1:])) }
