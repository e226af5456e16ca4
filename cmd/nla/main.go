// Command nla is the node launch agent alone: what golaunch stages on nodes of
// another architecture than its own. On nodes of its own architecture golaunch
// stages itself.
package main

import (
	"os"

	"github.com/golaunch/golaunch/agent"
)

func main() { os.Exit(agent.Main(os.Args[1:])) }
