package dialects

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/lines"
)

// Files of apps: Hydra's -configfile, Open MPI's --app and mpirun_rsh's -config have an
// app on each line, as it stands between the colons of a command line.

// mostApps bounds the apps that a file makes.
const mostApps = 1 << 16

// appFile keeps the name of such a file.
func appFile(p *pasted, v []string) ([]string, string) {
	p.appFile = v[0]
	return nil, ""
}

// readApps reads a file of apps.
func readApps(r io.Reader, name string) ([][]string, error) {
	var apps [][]string
	err := logicalLines(r, name, func(number int, text string) error {
		words, err := splitWords(text)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
		if len(words) > 2 && words[2] == ":" { // mpirun_rsh's -n 2 : ./app
			words = slices.Delete(words, 2, 3)
		}
		if apps = append(apps, words); len(apps) > mostApps {
			return fmt.Errorf("%s:%d: more than %d apps", name, number, mostApps)
		}
		return nil
	})
	if err == nil && len(apps) == 0 {
		err = fmt.Errorf("%s: it has no apps", name)
	}
	return apps, err
}

// logicalLines calls do with each line that is neither blank nor a comment; one that
// ends in a backslash goes on in the next.
func logicalLines(r io.Reader, name string, do func(number int, text string) error) error {
	in := lines.New(r, name)
	var text strings.Builder
	number := 0
	flush := func() error {
		trimmed, at := strings.TrimSpace(text.String()), number
		text.Reset()
		number = 0
		if trimmed == "" || trimmed[0] == '#' {
			return nil
		}
		return do(at, trimmed)
	}
	for in.Next() {
		if number == 0 {
			number = in.Line()
		}
		part, more := strings.CutSuffix(in.Text(), `\`)
		if text.WriteString(part); text.Len() > lines.MaxLine {
			return fmt.Errorf("%s:%d: line of more than %d bytes", name, number, lines.MaxLine)
		}
		if more {
			text.WriteByte(' ')
			continue
		}
		if err := flush(); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return err
	}
	return flush()
}

// splitWords cuts a line at blanks; quotes and backslashes keep blanks in a word.
func splitWords(text string) ([]string, error) {
	var words []string
	var b strings.Builder
	quote, in := byte(0), false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && quote != '\'' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
			in = true
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteByte(c)
		case c == '"' || c == '\'':
			quote, in = c, true
		case c == ' ' || c == '\t':
			if in {
				words = append(words, b.String())
				b.Reset()
			}
			in = false
		default:
			b.WriteByte(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	if in {
		words = append(words, b.String())
	}
	return words, nil
}

// openFile reads a file that the command line names.
func openFile[T any](m machine.Machine, name string, read func(io.Reader, string) (T, error)) (found T, err error) {
	err = m.Read(name, func(r io.Reader) (err error) {
		found, err = read(r, name)
		return err
	})
	return found, err
}

// errTwice is for a program beside a file of apps.
var errTwice = errors.New("the file names the programs; leave the one of the command line out")
