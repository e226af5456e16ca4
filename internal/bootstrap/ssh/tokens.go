package sshboot

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// expander replaces the percent tokens of ssh_config(5), TOKENS, by their values.
type expander struct {
	home   string
	tokens map[byte]string
}

// expander knows the tokens of t's file names.
func (c *Config) expander(t *Target, alias string) expander {
	t.KeyName = t.HostName
	if alias != "" {
		t.KeyName = alias
	}
	x := expander{home: c.home, tokens: map[byte]string{
		'd': c.home, 'h': t.HostName, 'k': t.KeyName, 'n': t.Name, 'p': strconv.Itoa(t.Port), 'r': t.User, 'u': c.user,
		'i': strconv.Itoa(os.Getuid()),
	}}
	if name, err := os.Hostname(); err == nil {
		x.tokens['l'] = name
		x.tokens['L'], _, _ = strings.Cut(name, ".")
	}
	return x
}

// expand replaces the tokens in the value of an option, which it names in
// errors.
func (x expander) expand(option, value string) (string, error) {
	if !strings.Contains(value, "%") {
		return value, nil
	}
	var b strings.Builder
	for i := 0; i < len(value); i++ {
		if value[i] != '%' {
			b.WriteByte(value[i])
			continue
		}
		if i++; i == len(value) {
			return "", fmt.Errorf("%s %s in the ssh configuration ends in %%", option, value)
		}
		if value[i] == '%' {
			b.WriteByte('%')
			continue
		}
		text, ok := x.tokens[value[i]]
		if !ok {
			return "", fmt.Errorf("%s %s in the ssh configuration: token %%%c is not supported", option, value, value[i])
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// path expands a file name: a leading ~, ${VARIABLES} and tokens.
func (x expander) path(option, value string) (string, error) {
	p := value
	switch {
	case p == "~" || strings.HasPrefix(p, "~/"):
		p = x.home + p[1:]
	case strings.HasPrefix(p, "~"):
		return "", fmt.Errorf("%s %s in the ssh configuration: other users' home directories are not supported", option, value)
	}
	for {
		before, rest, ok := strings.Cut(p, "${")
		if !ok {
			break
		}
		name, after, ok := strings.Cut(rest, "}")
		text, set := os.LookupEnv(name)
		if !ok || !set || strings.Contains(text, "${") {
			return "", fmt.Errorf("%s %s in the ssh configuration: environment variable %s is not set", option, value, name)
		}
		p = before + text + after
	}
	p, err := x.expand(option, p)
	if err != nil {
		return "", err
	}
	if !filepath.IsAbs(p) {
		// ssh takes it from the directory it runs in.
		abs, err := filepath.Abs(p)
		if err != nil {
			return "", fmt.Errorf("%s %s: %w", option, value, err)
		}
		p = abs
	}
	return p, nil
}
