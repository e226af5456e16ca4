package sshboot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

// criterion is one condition of a Match line; or a whole Host line, as "Host".
type criterion struct {
	what     string
	not      bool
	patterns []string // of those that compare a name
	command  string   // of exec
}

// parseMatch cuts a Match line apart. Criteria that this program does not know
// stay in, so that a line which fails for another reason is no trouble.
func parseMatch(value string) ([]criterion, error) {
	words, err := matchWords(value)
	if err != nil {
		return nil, err
	}
	var out []criterion
	for i := 0; i < len(words); i++ {
		what, not := strings.CutPrefix(words[i], "!")
		c := criterion{what: strings.ToLower(what), not: not}
		switch c.what {
		case "all":
			if i+1 < len(words) || len(out) > 1 {
				return nil, errors.New("match all goes with no other criterion")
			}
		case "final", "canonical":
		default:
			if i++; i == len(words) || words[i] == "" {
				return nil, fmt.Errorf("match %s has no value", what)
			}
			c.command = words[i]
			c.patterns = strings.Split(words[i], ",")
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, errors.New("match has no criterion")
	}
	return out, nil
}

// matchWords cuts a Match line at blanks and at one = each. A quoted part ends
// its word.
func matchWords(value string) ([]string, error) {
	var words []string
	for {
		value = strings.TrimLeft(value, " \t")
		if value == "" || value[0] == '#' {
			return words, nil
		}
		end := strings.IndexAny(value, " \t\"=")
		if end < 0 {
			return append(words, value), nil
		}
		word, sep := value[:end], value[end]
		value = value[end+1:]
		if sep == '"' {
			inner, rest, ok := strings.Cut(value, `"`)
			if !ok {
				return nil, errors.New("quote is not closed")
			}
			words, value = append(words, word+inner), rest
			continue
		}
		words = append(words, word)
		if value = strings.TrimLeft(value, " \t"); sep != '=' {
			value = strings.TrimPrefix(value, "=")
		}
	}
}

// settings are the lines that apply to one host, in order, by keyword.
type settings map[string][]configLine

// first returns the line that counts for keywords with one value.
func (s settings) first(key string) configLine {
	if v := s[key]; len(v) > 0 {
		return v[0]
	}
	return configLine{}
}

// configLookup collects the settings of one host. Criteria see those collected so far,
// as in ssh.
type configLookup struct {
	c     *Config
	name  string // as given
	user  string // as given, or empty
	port  int    // as given, or 0
	set   settings
	final bool   // the second pass, which Match final asks for
	host  string // in the second pass: the HostName
}

// collect returns the settings of a host.
func (c *Config) collect(name, user string, port int) (settings, error) {
	l := &configLookup{c: c, name: name, user: user, port: port, set: make(settings), host: name}
	if err := l.pass(); err != nil || !c.final {
		return l.set, err
	}
	host, err := l.hostName()
	if err != nil {
		return nil, err
	}
	l.final, l.host = true, strings.ToLower(host)
	// A HostName comes too late in the second pass.
	l.set["hostname"] = []configLine{{key: "hostname", args: []string{l.host}}}
	return l.set, l.pass()
}

func (l *configLookup) pass() error {
	for _, f := range l.c.files {
		if err := l.file(f); err != nil {
			return err
		}
	}
	return nil
}

func (l *configLookup) file(f *configFile) error {
	for _, b := range f.blocks {
		ok, err := l.applies(b)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		for _, line := range b.lines {
			for _, inc := range line.included {
				if err := l.file(inc); err != nil {
					return err
				}
			}
			if line.key != "" {
				if err := l.add(line); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// severalWords are the honoured keywords whose value is more than one word.
var severalWords = []string{"userknownhostsfile", "globalknownhostsfile", "rekeylimit", "proxyjump", "proxycommand"}

// add takes a line in.
func (l *configLookup) add(line configLine) error {
	k := byName()[line.key]
	switch {
	case k == nil && matchPatterns(strings.Split(l.set.first("ignoreunknown").arg(), ","), line.key):
		return nil
	case k == nil:
		return fmt.Errorf("%s: keyword %s is not known to golaunch; IgnoreUnknown %s passes it over", line.pos, line.key, line.key)
	case k.rule == honoured && len(line.args) > 1 && !slices.Contains(severalWords, line.key):
		return line.errorf("it has more than one word; quote what has blanks")
	case line.key == "proxyjump" && !strings.EqualFold(line.text, "none"):
		// A ProxyCommand before it counts more, even none; one after it less.
		if len(l.set["proxycommand"])+len(l.set["proxyjump"]) > 0 {
			return nil
		}
		l.set["proxycommand"] = []configLine{{key: "proxycommand", text: "none"}}
	}
	l.set[line.key] = append(l.set[line.key], line)
	return nil
}

// hostName returns the HostName so far. At this point only the name as given is
// known to it (ssh_config(5)).
func (l *configLookup) hostName() (string, error) {
	line := l.set.first("hostname")
	if l.final || line.arg() == "" {
		return l.host, nil
	}
	x := expander{tokens: map[byte]string{'h': l.name, 'n': l.name}}
	full, err := x.expand("HostName", line.arg())
	if err != nil {
		return "", fmt.Errorf("%s: %w", line.pos, err)
	}
	return full, nil
}

func (l *configLookup) userName() string {
	switch u := l.set.first("user").arg(); {
	case l.user != "":
		return l.user
	case u != "":
		return u
	}
	return l.c.user
}

// applies tells whether all criteria of a block hold. One that nobody here can
// test is an error, unless another one fails.
func (l *configLookup) applies(b *hostBlock) (bool, error) {
	host, err := l.hostName()
	if err != nil {
		return false, err
	}
	var commands []criterion
	unknown := ""
	for _, c := range b.criteria {
		var held bool
		switch c.what {
		case "Host":
			held = matchPatterns(c.patterns, l.host)
		case "all":
			held = true
		case "final", "canonical":
			held = l.final
		case "host":
			held = matchNames(c.patterns, host)
		case "originalhost":
			held = matchNames(c.patterns, l.name)
		case "user":
			held = matchPatterns(c.patterns, l.userName())
		case "localuser":
			held = matchPatterns(c.patterns, l.c.user)
		case "exec":
			commands = append(commands, c)
			continue
		default:
			unknown = c.what
			continue
		}
		if held == c.not {
			return false, nil
		}
	}
	for _, c := range commands {
		held, err := l.succeeds(c.command, host)
		if err != nil {
			return false, fmt.Errorf("%s: Match exec %s: %w", b.pos, c.command, err)
		}
		if held == c.not {
			return false, nil
		}
	}
	if unknown != "" {
		return false, fmt.Errorf("%s: Match %s is not known to golaunch; write a Host line instead, or use the exec bootstrap with the system's ssh", b.pos, unknown)
	}
	return true, nil
}

// matchNames compares host names, of which the case does not count.
func matchNames(patterns []string, name string) bool {
	lower := slices.Clone(patterns)
	for i := range lower {
		lower[i] = strings.ToLower(lower[i])
	}
	return matchPatterns(lower, strings.ToLower(name))
}

// commandTimeout bounds the command of a Match exec.
const commandTimeout = time.Minute

// succeeds runs the command of a Match exec, which hosts that share it share
// the result of.
func (l *configLookup) succeeds(command, host string) (bool, error) {
	c := l.c
	port := l.port
	if port == 0 {
		port, _ = strconv.Atoi(l.set.first("port").arg()) // an error later if it is no number
	}
	if port == 0 {
		port = defaultPort
	}
	t := Target{Name: l.name, HostName: host, Port: port, User: l.userName()}
	command, err := c.expander(&t, l.set.first("hostkeyalias").arg()).expand("command", command)
	if err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if held, ok := c.ran[command]; ok {
		return held, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, userShell(), "-c", command)
	cmd.Stderr, cmd.WaitDelay = os.Stderr, time.Second
	err = cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return false, fmt.Errorf("did not end within %v", commandTimeout)
	case err != nil && (!errors.As(err, &exit) || !exit.Exited()):
		return false, err
	}
	c.ran[command] = err == nil
	return err == nil, nil
}
