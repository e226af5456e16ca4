package overlay

import "github.com/golaunch/golaunch/tree"

// KindRecords is records of collective operations (package tree/record): data,
// to a neighbor. Its number is stable.
const KindRecords tree.Kind = 96
