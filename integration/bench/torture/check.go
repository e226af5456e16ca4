package torture

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// rankSum sums up the output of one rank's "rankprobe lines".
type rankSum struct {
	lines, bytes uint64
	sum          uint64 // 64-bit FNV-1a
	told         bool   // its own account has come, and was right
}

const fnvBasis, fnvPrime = 14695981039346656037, 1099511628211

// checkLines reads the output of a job of rankprobes to its end. It returns the number
// of bytes, and an error for a line that is cut, doubled, out of order, or missing:
// each rank's last line has the number of lines that it wrote, and their checksum.
func checkLines(r io.Reader, ranks int) (total uint64, err error) {
	sums := make([]rankSum, ranks)
	for i := range sums {
		sums[i].sum = fnvBasis
	}
	in := bufio.NewReaderSize(r, 1<<20)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			break
		}
		if err != nil {
			return total, fmt.Errorf("after %d bytes: %.80q: %w", total, line, err)
		}
		total += uint64(len(line))
		if err := checkLine(sums, line); err != nil {
			return total, fmt.Errorf("after %d bytes: %w", total, err)
		}
	}
	for i, s := range sums {
		if !s.told {
			return total, fmt.Errorf("rank %d: its last line is missing after %d lines", i, s.lines)
		}
	}
	return total, nil
}

// checkLine takes one line: "rank R line N text" or "rank R wrote N lines B
// bytes sum S".
func checkLine(sums []rankSum, line []byte) error {
	bad := fmt.Errorf("unexpected line %.80q", line)
	text, ok := bytes.CutPrefix(line, []byte("rank "))
	if !ok {
		return bad
	}
	word, text, _ := bytes.Cut(text, []byte(" "))
	rank, err := strconv.Atoi(string(word))
	if err != nil || rank < 0 || rank >= len(sums) {
		return bad
	}
	s := &sums[rank]
	if s.told {
		return fmt.Errorf("rank %d: a line after its last: %.80q", rank, line)
	}
	if text, ok = bytes.CutPrefix(text, []byte("line ")); ok {
		word, _, _ := bytes.Cut(text, []byte(" "))
		if n, err := strconv.ParseUint(string(word), 10, 64); err != nil || n != s.lines {
			return fmt.Errorf("rank %d: expected line %d, got %.80q", rank, s.lines, line)
		}
		s.lines++
		s.bytes += uint64(len(line))
		h := s.sum
		for _, c := range line {
			h = (h ^ uint64(c)) * fnvPrime
		}
		s.sum = h
		return nil
	}
	want := fmt.Sprintf("rank %d wrote %d lines %d bytes sum %016x\n", rank, s.lines, s.bytes, s.sum)
	if string(line) != want {
		return fmt.Errorf("rank %d: it wrote %.120q, %.120q came", rank, line, want)
	}
	s.told = true
	return nil
}
