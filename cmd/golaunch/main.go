// Command golaunch starts the ranks of a parallel program on this machine or
// on many. It is also the agent and the warden that it starts on each node.
//
// The package holds the command line only: the table of commands, their flags and
// environment variables, help and completion, the `:`-separated apps, the words of
// other launchers, the environment that ranks inherit, and the sources of host names.
// Package launcher acts on them.
package main

import (
	"context"
	"os"

	"github.com/golaunch/golaunch/internal/agent"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/launcher"
	"github.com/golaunch/golaunch/launcher/doctor"
	"github.com/golaunch/golaunch/launcher/pingpong"
	"github.com/golaunch/golaunch/launcher/singleton"
)

func main() {
	words := os.Args[1:]
	if overlay.IsAgent(words) {
		os.Exit(agent.Main(words))
	}
	if len(words) > 0 && words[0] == singleton.Word {
		os.Exit(singleton.Main(words[1:]))
	}
	if len(words) > 0 && words[0] == pingpong.Word {
		os.Exit(pingpong.Main(words[1:]))
	}
	if len(words) > 0 && words[0] == doctor.Word {
		os.Exit(doctor.Main(words[1:]))
	}
	stdio := launcher.IO{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	os.Exit(run(context.Background(), words, stdio, launcher.Run))
}
