package overlay

import (
	"github.com/golaunch/golaunch/bootstrap"
	execboot "github.com/golaunch/golaunch/bootstrap/exec"
)

// ExecPiper makes the exec bootstrap of a job.
func ExecPiper(c Common) (bootstrap.Piper, error) {
	t, err := execboot.Parse(c.Exec)
	if err != nil {
		return nil, err
	}
	return execboot.New(execboot.Config{Template: t, FromNodes: !c.Relayed, Silence: c.ConnectTimeout}), nil
}
