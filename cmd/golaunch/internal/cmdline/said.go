// Package cmdline turns the command line of run into options, in steps that are functions of
// their input: Parse reads statements, each with its place; Said.Hold chooses the statements
// that hold; Held.Settle finds the job's hosts and places on a machine; Settled.Options
// translates the result.
package cmdline

import "github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"

// source is the kind of place of a statement. Statements of earlier sources set aside those
// of later ones.
type source int

const (
	onLine source = iota
	inFile
	inVariable
)

var sources = []source{onLine, inFile, inVariable}

// statement gives a flag a value, at a place.
type statement struct {
	flag  string // its long name
	value string
	from  source
	pos   string // of a file, "lab.conf:3: "
	name  string // in messages: -n/--np, GOLAUNCH_NP
}

// Said has the statements of a command line, of the file of --config and of variables.
type Said struct {
	// Singleton says that golaunch is the process manager of one rank, which has started it.
	Singleton bool

	line dialects.Line
	// job are statements of flags for the whole job, among them those of its first app.
	job  []statement
	apps []saidApp
}

// saidApp has the statements of one app.
type saidApp struct {
	own  []statement // of its flags; of the first app they are among the job's
	argv []string
	// dashed says that -- stands before the program.
	dashed bool
}
