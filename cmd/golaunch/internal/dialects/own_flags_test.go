package dialects_test

import (
	"github.com/golaunch/golaunch/cmd/golaunch/internal/cmdline"
	"github.com/golaunch/golaunch/cmd/golaunch/internal/dialects"
)

func init() { dialects.Own = cmdline.Flags }
