package job

import (
	"errors"
	"fmt"
	"strconv"
)

// Exit codes that golaunch itself returns (docs/errors.md). Exit makes errors that
// end golaunch with one of them.
const (
	ExitUsage         = 2
	ExitTimeout       = 124
	ExitLauncher      = 125 // a lost node or our own failure
	ExitNotExecutable = 126
	ExitNotFound      = 127
	ExitHUP           = 129
	ExitINT           = 130
	ExitPIPE          = 141 // nobody reads golaunch's own output any more
	ExitTERM          = 143
)

// ExitStatus is an exit status with its meaning.
type ExitStatus struct {
	Code string // a number, or how it is made: N, 128+N
	Text string
}

// ExitStatuses is the table of exit statuses, as help and the manual have it.
func ExitStatuses() []ExitStatus {
	own := func(code int, text string) ExitStatus { return ExitStatus{strconv.Itoa(code), text} }
	return []ExitStatus{
		own(0, "every rank ended with 0"),
		{"N", "exit or abort code of the rank that failed first; 1 where its low 8 bits are 0"},
		own(1, "a rank ended without finalizing PMI"),
		{"128+N", "signal N ended the rank that failed first"},
		own(ExitUsage, "the command line or a host file is wrong"),
		own(ExitTimeout, "--timeout was reached"),
		own(ExitLauncher, "a host could not be reached, a node was lost, or golaunch failed"),
		own(ExitNotExecutable, "the program is not executable, or --wdir may not be entered"),
		own(ExitNotFound, "the program, or the directory of --wdir, was not found"),
		own(ExitHUP, "golaunch got SIGHUP"),
		own(ExitINT, "golaunch got SIGINT (Ctrl-C)"),
		own(ExitPIPE, "nobody reads golaunch's output any more, as after head -1"),
		own(ExitTERM, "golaunch got SIGTERM"),
	}
}

// exitError is an error that ends golaunch with a code of its own.
type exitError struct {
	error
	code int
}

func (e *exitError) Unwrap() error { return e.error }

// Exit is an error, formatted as by fmt.Errorf, that ends golaunch with code.
func Exit(code int, format string, args ...any) error {
	return &exitError{fmt.Errorf(format, args...), code}
}

// ExitOf is the code that err ends golaunch with: 0 for nil, the one given to Exit, or
// otherwise.
func ExitOf(err error, otherwise int) int {
	if err == nil {
		return 0
	}
	if e, ok := errors.AsType[*exitError](err); ok {
		return e.code
	}
	return otherwise
}
