package sshboot

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

// pathError says "path: reason", which os errors bury behind the call.
func pathError(path string, err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

// openFile opens a file to read. It never waits for a FIFO's other end, and
// takes no device but /dev/null, the usual way to say "no file".
func openFile(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, pathError(path, err)
	}
	info, err := f.Stat()
	if err == nil && info.Mode()&fs.ModeDevice != 0 && path != os.DevNull {
		err = errors.New("is a device")
	}
	if err != nil {
		f.Close()
		return nil, nil, pathError(path, err)
	}
	return f, info, nil
}

// readFile reads a whole file of at most limit bytes. Its errors begin with
// the path.
func readFile(path string, limit int64) ([]byte, error) {
	f, _, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAtMost(f, path, limit)
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

// splitWords cuts a configuration value at blanks, up to a comment. Quotes hold words
// together and a backslash stands before a character that would end one, as in ssh.
func splitWords(value string) ([]string, error) {
	var words []string
	for i := 0; i < len(value); {
		switch value[i] {
		case ' ', '\t':
			i++
			continue
		case '#':
			return words, nil
		}
		var word strings.Builder
		quote := byte(0)
		for ; i < len(value); i++ {
			c := value[i]
			next := byte(0)
			if i+1 < len(value) {
				next = value[i+1]
			}
			switch {
			case c == '\\' && (next == '"' || next == '\'' || next == '\\' || next == ' ' && quote == 0):
				i++
				word.WriteByte(next)
				continue
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
				continue
			case quote != 0 && c == quote:
				quote = 0
				continue
			}
			if quote == 0 && (c == ' ' || c == '\t') {
				break
			}
			word.WriteByte(c)
		}
		if quote != 0 {
			return nil, fmt.Errorf("quote is not closed: %s", value)
		}
		words = append(words, word.String())
	}
	return words, nil
}
