package sshboot

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Limits on configuration files: bytes of one, their number with all Includes, and the
// depth of nested Includes (as in OpenSSH).
const (
	maxConfigSize   = 16 << 20
	maxConfigFiles  = 10000
	maxIncludeDepth = 16
)

// configFile is one parsed file.
type configFile struct{ blocks []*hostBlock }

// hostBlock holds the lines below one Host or Match line: it applies where all criteria
// hold.
type hostBlock struct {
	criteria []criterion
	pos      string
	lines    []configLine
}

// configLine is one keyword with its value; or, without a keyword, the files
// of an Include.
type configLine struct {
	key      string   // in lower case, never an alias
	args     []string // the words of its value
	text     string   // its value as it stands there
	pos      string   // "file:line"
	included []*configFile
}

// arg returns the first word; empty where there is no such line.
func (l configLine) arg() string {
	if len(l.args) > 0 {
		return l.args[0]
	}
	return ""
}

// errorf begins with the line's place and text.
func (l configLine) errorf(format string, a ...any) error {
	name := l.key
	if k := byName()[l.key]; k != nil {
		name = k.name
	}
	return fmt.Errorf("%s: %s %s: %s", l.pos, name, l.text, fmt.Sprintf(format, a...))
}

// configParser reads files and their Includes.
type configParser struct {
	home, base string
	private    bool     // the file is ours alone to write, as ssh wants the user's
	files      int      // read so far
	open       []string // being read, each included by the one before
	final      bool     // a Match line asks for a second pass
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
	file, info, err := openFile(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if (p.private || depth > 0) && !ours(info) {
		return nil, fmt.Errorf("%s: others may write it, or own it; chown it to yourself, or root, and chmod go-w", path)
	}
	text, err := readAtMost(file, path, maxConfigSize)
	if err != nil {
		return nil, err
	}
	f := &configFile{blocks: []*hostBlock{{}}}
	for i, line := range strings.Split(string(text), "\n") {
		pos := fmt.Sprintf("%s:%d", path, i+1)
		if err := p.line(f, line, pos, depth); err != nil {
			return nil, fmt.Errorf("%s: %w", pos, err)
		}
	}
	return f, nil
}

// ours tells whether nobody but this user and root can write a file.
func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && (st.Uid == 0 || int(st.Uid) == os.Getuid()) && info.Mode().Perm()&0o022 == 0
}

// line adds one line of a file to f.
func (p *configParser) line(f *configFile, line, pos string, depth int) error {
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
	words, err := splitWords(value)
	if err != nil {
		return err
	}
	if len(words) == 0 || words[0] == "" {
		return fmt.Errorf("%s has no value", line[:end])
	}
	last := f.blocks[len(f.blocks)-1]
	switch key {
	case "host":
		if err := checkPatterns(words); err != nil {
			return err
		}
		f.blocks = append(f.blocks, &hostBlock{pos: pos, criteria: []criterion{{what: "Host", patterns: words}}})
	case "match":
		criteria, err := parseMatch(value)
		if err != nil {
			return err
		}
		p.final = p.final || slices.ContainsFunc(criteria, func(c criterion) bool { return c.what == "final" })
		f.blocks = append(f.blocks, &hostBlock{pos: pos, criteria: criteria})
	case "include":
		files, err := p.include(words, depth+1)
		if err != nil {
			return err
		}
		last.lines = append(last.lines, configLine{included: files})
	default:
		if k := byName()[key]; k != nil {
			key = strings.ToLower(k.name)
		}
		last.lines = append(last.lines, configLine{key: key, args: words, text: cutComment(value), pos: pos})
	}
	return nil
}

// cutComment cuts a comment off: from a # at the beginning of a word outside of quotes.
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

// checkPatterns refuses patterns of a Host line that can match no name.
func checkPatterns(patterns []string) error {
	for _, w := range patterns {
		if strings.TrimPrefix(w, "!") == "" || strings.ContainsAny(w, " \t") {
			return fmt.Errorf("host pattern %q", w)
		}
	}
	return nil
}

// include parses the files that an Include names, which may be none.
func (p *configParser) include(words []string, depth int) ([]*configFile, error) {
	if depth > maxIncludeDepth {
		return nil, fmt.Errorf("includes nest deeper than %d", maxIncludeDepth)
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
