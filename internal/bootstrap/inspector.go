package bootstrap

import "context"

// Inspector is a Pipe whose bootstrap can ask about the state of its host, once the
// command's output has ended or the agent fell silent.
type Inspector interface {
	// Inspect says in one line why the host runs the command no more, as "docker says: the
	// container has exited with code 137, OOM-killed"; "" where the host runs on, or
	// nothing is known. It returns soon after the end of ctx.
	Inspect(ctx context.Context) string
}
