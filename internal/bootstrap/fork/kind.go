package fork

import (
	"context"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// Kind returns this bootstrap's entry for the registry.
func Kind() bootstrap.Kind {
	return bootstrap.Kind{
		Name: "fork",
		Here: true,
		Open: func(context.Context, bootstrap.Job) (*bootstrap.Opened, error) {
			return &bootstrap.Opened{Piper: New()}, nil
		},
		Join: func(bootstrap.Node) (bootstrap.Piper, error) { return New(), nil },
	}
}
