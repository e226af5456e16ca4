// Package stdio is the pure part of carrying the ranks' input and output:
// lines, labels, output file patterns and credits (docs/architecture.md).
//
//   - Assembler, at the launcher, turns the chunks of many ranks into whole
//     lines for one destination.
//   - Pattern and PatternSet name output files per rank, host and job.
//   - Window and Acks bound the bytes of standard input that are under way to
//     one rank or to all of them.
//
// All of it is plain state: the caller passes in bytes and the time, owns every pipe,
// file, timer and goroutine, and calls each value from one goroutine at a time. Package
// tree knows the form of chunks on a link; the launcher opens files.
package stdio

import "strconv"

// Stream names one of a rank's two output streams, by its descriptor number.
type Stream uint8

// The output streams.
const (
	Stdout Stream = 1
	Stderr Stream = 2
)

// String returns "stdout" or "stderr".
func (s Stream) String() string {
	switch s {
	case Stdout:
		return "stdout"
	case Stderr:
		return "stderr"
	}
	return "stream " + strconv.Itoa(int(s))
}
