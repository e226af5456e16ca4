package pmixhelper

import (
	"time"
)

// patience is how long a cluster waits for what has to come.
const patience = 2 * time.Minute
