package sshboot

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/kevinburke/ssh_config"
)

// Limits on configuration files: what one may measure in bytes, how many there
// may be with all Includes, and how deep those may nest (as in OpenSSH).
const (
	maxConfigSize   = 16 << 20
	maxConfigFiles  = 10000
	maxIncludeDepth = 16
)

// includeKey stands in for Include in the text given to the library, with the
// index of the files as its value: it includes relative to other directories
// than we must, and gives up on files with Match criteria that it cannot test.
const includeKey = "golaunchinclude"

// configFile is one parsed file.
type configFile struct {
	blocks   []*ssh_config.Host
	includes [][]*configFile
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
	f := &configFile{}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		lines[i], err = p.line(f, line, path, i+1, depth)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, i+1, err)
		}
	}
	cfg, err := decodeConfig(strings.Join(lines, "\n") + "\n")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	f.blocks = cfg.Hosts
	return f, nil
}

// line brings one line into the form that the library takes without surprise:
// keyword, one blank, value.
func (p *configParser) line(f *configFile, line, path string, number, depth int) (string, error) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", nil
	}
	if i := strings.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }); i >= 0 {
		return "", fmt.Errorf("control character %q", line[i])
	}
	end := strings.IndexAny(line, " \t=")
	if end < 0 {
		return "", fmt.Errorf("%q has no value", line)
	}
	key := line[:end]
	if strings.Trim(strings.ToLower(key), "abcdefghijklmnopqrstuvwxyz0123456789") != "" || key == "" {
		return "", fmt.Errorf("%q is no keyword", key)
	}
	value := strings.Trim(line[end:], " \t")
	value = strings.Trim(strings.TrimPrefix(value, "="), " \t")
	if value == "" || value[0] == '#' {
		return "", fmt.Errorf("%s has no value", key)
	}
	switch strings.ToLower(key) {
	case "host":
		return hostLine(value)
	case "match":
		text, ok := matchLine(value)
		if !ok {
			p.warnings = append(p.warnings, fmt.Sprintf("%s:%d: Match %s is taken as false", path, number, value))
		}
		return text, nil
	case "include":
		files, err := p.include(value, depth+1)
		if err != nil {
			return "", err
		}
		f.includes = append(f.includes, files)
		return includeKey + " " + strconv.Itoa(len(f.includes)-1), nil
	}
	return key + " " + value, nil
}

// hostLine rewrites the patterns of a Host line, which may be quoted.
func hostLine(value string) (string, error) {
	patterns, err := splitWords(value)
	if err != nil {
		return "", err
	}
	for _, w := range patterns {
		if strings.TrimPrefix(w, "!") == "" || strings.ContainsAny(w, " \t") {
			return "", fmt.Errorf("host pattern %q", w)
		}
	}
	return "Host " + strings.Join(patterns, " "), nil
}

// matchLine rewrites a Match line as the Host line that means the same; a
// criterion that cannot be tested here makes it match nothing.
func matchLine(value string) (text string, ok bool) {
	words := strings.Fields(value)
	switch {
	case len(words) == 1 && strings.EqualFold(words[0], "all"):
		return "Host *", true
	case len(words) == 2 && (strings.EqualFold(words[0], "host") || strings.EqualFold(words[0], "originalhost")):
		if text, err := hostLine(strings.ReplaceAll(words[1], ",", " ")); err == nil {
			return text, true
		}
	}
	return "Host !*", false
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

// decodeConfig calls the library, which panics on some input.
func decodeConfig(text string) (cfg *ssh_config.Config, err error) {
	defer func() {
		if r := recover(); r != nil {
			cfg, err = nil, fmt.Errorf("cannot be parsed: %v", r)
		}
	}()
	return ssh_config.DecodeBytes([]byte(text))
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
		if !b.Matches(name) {
			continue
		}
		for _, n := range b.Nodes {
			kv, ok := n.(*ssh_config.KV)
			if !ok {
				continue
			}
			key := strings.ToLower(kv.Key)
			if key != includeKey {
				into[key] = append(into[key], kv.Value)
				continue
			}
			i, err := strconv.Atoi(kv.Value)
			if err != nil || i < 0 || i >= len(f.includes) {
				continue // a user's own line with our made-up keyword
			}
			for _, inc := range f.includes[i] {
				inc.lookup(name, into)
			}
		}
	}
}
