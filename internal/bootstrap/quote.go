package bootstrap

import (
	"errors"
	"fmt"
	"strings"
)

// maxCommand is the longest command line, in bytes: sshd passes it to the login
// shell as one argument, and Linux takes 128 KiB with the final zero
// (MAX_ARG_STRLEN, execve(2)). A caller may put "exec " in front.
const maxCommand = 128<<10 - 1 - len("exec ")

// CommandLine spells argv so that every login shell in use (Bourne shells,
// csh, fish) runs just these words. It is one line.
func CommandLine(argv []string) (string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return "", errors.New("no command given")
	}
	if argv[0][0] == '-' {
		return "", fmt.Errorf("command %q begins with a dash", argv[0])
	}
	words := make([]string, len(argv))
	plain := true
	for i, w := range argv {
		if strings.IndexByte(w, 0) >= 0 {
			return "", fmt.Errorf("word %d of the command has a zero byte", i)
		}
		plain = plain && !strings.ContainsAny(w, "\n\r")
		words[i] = quoteWord(w)
	}
	line := strings.Join(words, " ")
	if !plain {
		line = encodedLine(argv)
	}
	if len(line) > maxCommand {
		return "", fmt.Errorf("command is %d bytes long; at most %d can be passed", len(line), maxCommand)
	}
	return line, nil
}

// safe are the bytes that mean nothing to any shell.
const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,+-"

// quoteWord quotes one word without line breaks. Inside single quotes csh
// still expands "!" and fish still reads "\\" and "\'", so these three, and
// the quote itself, stand outside, each after a backslash.
func quoteWord(w string) string {
	if w != "" && strings.Trim(w, safe) == "" {
		return w
	}
	var b strings.Builder
	b.WriteByte('\'')
	for i := 0; i < len(w); i++ {
		switch w[i] {
		case '\'', '\\', '!':
			b.WriteString(`'\`)
			b.WriteByte(w[i])
			b.WriteByte('\'')
		default:
			b.WriteByte(w[i])
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// encodedLine spells words that contain line breaks, which no quoting brings
// through csh: as one word of printf's %b escapes, which /bin/sh undoes.
func encodedLine(argv []string) string {
	var posix strings.Builder
	posix.WriteString("exec")
	for _, w := range argv {
		posix.WriteString(" '" + strings.ReplaceAll(w, "'", `'\''`) + "'")
	}
	var b strings.Builder
	b.WriteString(`/bin/sh -c 'eval "$(printf %b "$0")"' `)
	for _, c := range []byte(posix.String()) {
		if strings.IndexByte(safe, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\\0%03o`, c) // the shell turns \\ into one backslash
		}
	}
	return b.String()
}
