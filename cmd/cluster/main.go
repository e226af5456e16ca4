// Command cluster makes and controls a test cluster on this machine: nodes of
// namespaces or containers, each with its own sshd, for running golaunch as if
// on many machines. The work is package integration/cluster's; here are its
// command line and its exit status.
package main

import (
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}
