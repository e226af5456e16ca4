// Package cmdline is the command line of run as a value, in three steps, each a function of
// its input: Parse has what was said, with where each was said; Said.Hold what of it holds;
// Held.Settle what that means on this machine, from which Settled.Options are translated.
package cmdline

import "github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"

// source is where a flag was said. What is said on an earlier one sets aside what later
// ones say.
type source int

const (
	onLine source = iota
	inFile
	inVariable
)

var sources = []source{onLine, inFile, inVariable}

// statement is one thing that was said of a flag.
type statement struct {
	flag  string // its long name
	value string
	from  source
	pos   string // of a file, "lab.conf:3: "
	name  string // how messages call it: -n/--np, GOLAUNCH_NP
}

// Said is what a command line, the file of --config and variables say.
type Said struct {
	// Singleton says that golaunch is the process manager of one rank, which has started it.
	Singleton bool

	line dialects.Line
	// job are statements of flags for the whole job, among them those of its first app.
	job  []statement
	apps []saidApp
}

// saidApp is what was said of one app.
type saidApp struct {
	own  []statement // of its flags; of the first app they are among the job's
	argv []string
	// dashed says that -- stands before the program.
	dashed bool
}
