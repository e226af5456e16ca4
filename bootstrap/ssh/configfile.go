package sshboot

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Limits on configuration files: what one may measure in bytes, how many there
// may be with all Includes, and how deep those may nest (as in OpenSSH).
const (
	maxConfigSize   = 16 << 20
	maxConfigFiles  = 10000
	maxIncludeDepth = 16
)

// configFile is one parsed file.
type configFile struct{ blocks []*block }

// block is what stands below one Host or Match line.
type block struct {
	patterns []string
	lines    []configLine
}

// configLine is one keyword, in lower case, with its value; or, without a
// keyword, the files of an Include.
type configLine struct {
	key, value string
	included   []*configFile
}

// configParser reads files and their Includes.
type configParser struct {
	home, base string
	files      int      // read so far
	open       []string // being read, each included by the one before
	warnings   []string
}

func (p *configParser) parse(path string, depth int) (*configFile, error) {
	if p.files++; p.files > maxConfigFiles {
		return nil, fmt.Errorf("%s: more than %d files included", path, maxConfigFiles)
	}
	if slices.Contains(p.open, path) {
		return nil, fmt.Errorf("%s includes itself; remove one Include", path)
	}
	p.open = append(p.open, path)
	defer func() { p.open = p.open[:len(p.open)-1] }()
	text, err := readFile(path, maxConfigSize)
	if err != nil {
		return nil, err
	}
	f := &configFile{blocks: []*block{{patterns: []string{"*"}}}}
	for i, line := range strings.Split(string(text), "\n") {
		if err := p.line(f, line, path, i+1, depth); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
	}
	return f, nil
}

// line adds one line of a file to f.
func (p *configParser) line(f *configFile, line, path string, number, depth int) error {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return nil
	}
	if i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }); i >= 0 {
		return fmt.Errorf("control character %q", line[i])
	}
	end := strings.IndexAny(line, " \t=")
	if end < 0 {
		return fmt.Errorf("%q has no value", line)
	}
	key := strings.ToLower(line[:end])
	if strings.Trim(key, "abcdefghijklmnopqrstuvwxyz0123456789") != "" || key == "" {
		return fmt.Errorf("%q is no keyword", line[:end])
	}
	value := strings.Trim(line[end:], " \t")
	value = strings.Trim(strings.TrimPrefix(value, "="), " \t")
	if value = cutComment(value); value == "" {
		return fmt.Errorf("%s has no value", line[:end])
	}
	last := f.blocks[len(f.blocks)-1]
	switch key {
	case "host":
		patterns, err := hostPatterns(value)
		if err != nil {
			return err
		}
		f.blocks = append(f.blocks, &block{patterns: patterns})
	case "match":
		patterns, ok := matchHosts(value)
		if !ok {
			p.warnings = append(p.warnings, fmt.Sprintf("%s:%d: Match %s is taken as false", path, number, value))
		}
		f.blocks = append(f.blocks, &block{patterns: patterns})
	case "include":
		files, err := p.include(value, depth+1)
		if err != nil {
			return err
		}
		last.lines = append(last.lines, configLine{included: files})
	default:
		lists := key == "userknownhostsfile" || key == "globalknownhostsfile" // whose words have quotes of their own
		if n := len(value); n >= 2 && value[0] == '"' && value[n-1] == '"' && !lists {
			value = value[1 : n-1]
		}
		last.lines = append(last.lines, configLine{key: key, value: value})
	}
	return nil
}

// cutComment cuts off what follows a # at the beginning of a word outside of
// quotes.
func cutComment(value string) string {
	quoted, before := false, byte(' ')
	for i := range len(value) {
		switch c := value[i]; {
		case c == '"':
			quoted = !quoted
		case c == '#' && !quoted && (before == ' ' || before == '\t'):
			return strings.TrimRight(value[:i], " \t")
		}
		before = value[i]
	}
	return value
}

// hostPatterns are the patterns of a Host line, which may be quoted.
func hostPatterns(value string) ([]string, error) {
	patterns, err := splitWords(value)
	if err != nil {
		return nil, err
	}
	for _, w := range patterns {
		if strings.TrimPrefix(w, "!") == "" || strings.ContainsAny(w, " \t") {
			return nil, fmt.Errorf("host pattern %q", w)
		}
	}
	return patterns, nil
}

// matchHosts are the patterns of the Host line that means the same as a Match
// line; none, which match nothing, for a criterion that cannot be tested here.
func matchHosts(value string) (patterns []string, ok bool) {
	words := strings.Fields(value)
	switch {
	case len(words) == 1 && strings.EqualFold(words[0], "all"):
		return []string{"*"}, true
	case len(words) == 2 && (strings.EqualFold(words[0], "host") || strings.EqualFold(words[0], "originalhost")):
		if patterns, err := hostPatterns(strings.ReplaceAll(words[1], ",", " ")); err == nil {
			return patterns, true
		}
	}
	return nil, false
}

// include parses the files that an Include names, which may be none.
func (p *configParser) include(value string, depth int) ([]*configFile, error) {
	if depth > maxIncludeDepth {
		return nil, fmt.Errorf("includes nest deeper than %d", maxIncludeDepth)
	}
	words, err := splitWords(value)
	if err != nil {
		return nil, err
	}
	var files []*configFile
	for _, w := range words {
		switch {
		case strings.HasPrefix(w, "~/"):
			w = filepath.Join(p.home, w[2:])
		case !filepath.IsAbs(w):
			w = filepath.Join(p.base, w)
		}
		paths, err := filepath.Glob(w)
		if err != nil {
			return nil, fmt.Errorf("include %s: %w", w, err)
		}
		for _, path := range paths {
			f, err := p.parse(path, depth)
			if err != nil {
				return nil, fmt.Errorf("include: %w", err)
			}
			files = append(files, f)
		}
	}
	return files, nil
}

// settings are the values that apply to one host, in order, by keyword in
// lower case.
type settings map[string][]string

func (s settings) first(key string) string {
	if v := s[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// lookup collects what applies to name.
func (f *configFile) lookup(name string, into settings) {
	for _, b := range f.blocks {
		if !matchPatterns(b.patterns, name) {
			continue
		}
		for _, l := range b.lines {
			if l.key != "" {
				into[l.key] = append(into[l.key], l.value)
			}
			for _, inc := range l.included {
				inc.lookup(name, into)
			}
		}
	}
}
