package execboot

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// A placeholder stands in a template, in braces, for something of the host or
// for the command.
type placeholder string

const (
	phHost    placeholder = "host"
	phAddr    placeholder = "addr"
	phUser    placeholder = "user"
	phPort    placeholder = "port"
	phCommand placeholder = "command"
)

var placeholders = []placeholder{phHost, phCommand, phUser, phPort, phAddr}

// Template is a command line with placeholders, read by Parse.
type Template struct{ words []templateWord }

// templateWord is one word of a template: its pieces follow each other without space.
type templateWord struct {
	pieces []piece
	quoted bool // some of it stood in quotes
}

// becomesWords tells whether w is {command} on its own.
func (w templateWord) becomesWords() bool {
	return len(w.pieces) == 1 && w.pieces[0].ph == phCommand && !w.quoted
}

// piece is text, or a placeholder.
type piece struct {
	text string
	ph   placeholder // "" for text
}

// joiners are programs that join their words and have a shell on the host split them
// again: their arguments must be quoted for it.
var joiners = []string{"ssh", "rsh"}

// Parse splits a template into words as a shell does: at blanks, with single
// quotes, double quotes and backslashes. Nothing is expanded but placeholders,
// which count in quotes too; a backslash in front of its brace makes one text.
//
//	{host}     the host's name as the user gave it
//	{addr}     the address that the name resolves to
//	{user}     the login name given with the host
//	{port}     the port given with the host
//	{command}  what to run there
//
// {command} on its own becomes the words to run. In quotes or within a longer
// word, and wherever the program is ssh or rsh, it becomes one string that any
// login shell splits into these words.
func Parse(text string) (*Template, error) {
	words, err := split(text)
	if err != nil {
		return nil, err
	}
	if len(words) == 0 {
		return nil, errors.New("it is empty; give a command such as 'docker exec -i {host} {command}'")
	}
	t := &Template{words}
	commands := 0
	for _, w := range words {
		for _, p := range w.pieces {
			if p.ph == phCommand {
				commands++
			}
		}
	}
	switch {
	case commands == 0:
		return nil, errors.New("there is no {command} in it, which stands for what to run on the host")
	case commands > 1:
		return nil, errors.New("{command} can be in it once only")
	case len(words[0].pieces) == 0:
		return nil, errors.New("its first word, the program, is empty")
	}
	if err := t.checkAttached(); err != nil {
		return nil, err
	}
	if first := words[0].pieces; len(first) == 1 && slices.Contains(joiners, path.Base(first[0].text)) {
		for i := range words {
			words[i].quoted = true
		}
	}
	return t, nil
}

// Uses tells whether {name} is in the template.
func (t *Template) Uses(name string) bool {
	return slices.ContainsFunc(t.words, func(w templateWord) bool {
		return slices.ContainsFunc(w.pieces, func(p piece) bool { return p.ph == placeholder(name) })
	})
}

// Check reports a placeholder for which a host, as the user named it, gives no value,
// or a value that no placeholder takes. Missing addresses show only when names are
// resolved.
func (t *Template) Check(user string, port int) error {
	switch {
	case user == "" && t.Uses("user"):
		return errors.New("{user} is in it, but the host is given without a user")
	case port == 0 && t.Uses("port"):
		return errors.New("{port} is in it, but the host is given without a port")
	case user != "" && !t.Uses("user"):
		return fmt.Errorf("{user} is not in it, but the host is given with user %s", user)
	case port != 0 && !t.Uses("port"):
		return fmt.Errorf("{port} is not in it, but the host is given with port %d", port)
	}
	return nil
}

// Expand returns the command line that runs argv on h.
func (t *Template) Expand(h bootstrap.Host, argv []string) ([]string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return nil, errors.New("no command given")
	}
	values := map[placeholder]string{phHost: h.Name, phAddr: h.Addr, phUser: h.User}
	if h.Port != 0 {
		values[phPort] = strconv.Itoa(h.Port)
	}
	var out []string
	for _, w := range t.words {
		if w.becomesWords() {
			out = append(out, argv...)
			continue
		}
		var b strings.Builder
		for _, p := range w.pieces {
			text := p.text
			switch p.ph {
			case "":
			case phCommand:
				line, err := bootstrap.CommandLine(argv)
				if err != nil {
					return nil, err
				}
				text = line
			default:
				if text = values[p.ph]; text == "" {
					return nil, fmt.Errorf("nothing is known for {%s}", p.ph)
				}
				if b.Len() == 0 && text[0] == '-' {
					return nil, fmt.Errorf("{%s} is %q, which would be taken for an option", p.ph, text)
				}
			}
			b.WriteString(text)
		}
		out = append(out, b.String())
	}
	for i, w := range out {
		if strings.IndexByte(w, 0) >= 0 {
			return nil, fmt.Errorf("word %d of the command has a zero byte", i)
		}
	}
	if out[0] == "" {
		return nil, errors.New("the program's name is empty")
	}
	return out, nil
}
