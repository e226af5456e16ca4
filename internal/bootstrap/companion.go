package bootstrap

import "context"

// Companion is a Pipe whose host can be given another command over the same
// connection, also after the pipe's own has ended and until Close.
type Companion interface {
	// Also runs argv beside the pipe's command, without input, and returns
	// when it has ended or ctx is done.
	Also(ctx context.Context, argv []string) error
}
