package sshboot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// pathError says "path: reason", which os errors bury behind the call.
func pathError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// readAtMost reads all of f, which is the file at path.
func readAtMost(f *os.File, path string, limit int64) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, pathError(path, err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s: longer than %d bytes", path, limit)
	}
	return text, nil
}

// splitWords cuts a configuration value at blanks; double quotes hold words
// together.
func splitWords(value string) ([]string, error) {
	var words []string
	for value = strings.Trim(value, " \t"); value != ""; value = strings.TrimLeft(value, " \t") {
		if value[0] != '"' {
			end := strings.IndexAny(value, " \t")
			if end < 0 {
				end = len(value)
			}
			words = append(words, value[:end])
			value = value[end:]
			continue
		}
		word, rest, ok := strings.Cut(value[1:], `"`)
		if !ok {
			return nil, fmt.Errorf("quote is not closed: %s", value)
		}
		words = append(words, word)
		value = rest
	}
	return words, nil
}
