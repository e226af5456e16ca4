package sshboot

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/golaunch/golaunch/internal/job"
)

// Options names the files that Config reads.
type Options struct {
	// File replaces the user's and the system's configuration (ssh -F);
	// "none" stands for no file at all.
	File string
	// Lines count before the files: KEY=VALUE, or as a file has them.
	Lines []string
	// Home and User are the user's home directory and login name; empty
	// means those of this process.
	Home string
	User string
}

// Config answers which Target a host is, by the rules of ssh_config(5) and the
// known_hosts files (sshd(8)). It may be used from several goroutines.
type Config struct {
	home, user string
	file       string        // Options.File
	files      []*configFile // in order of precedence
	final      bool          // some Match line asks for a second pass

	mu       sync.Mutex
	ran      map[string]bool          // results of Match exec's commands
	known    map[string]*knownHosts   // by path; nil where there is no such file
	revoked  map[string][][]byte      // keys of RevokedHostKeys, by path
	lists    map[string]algorithmList // by keyword and value
	warnings []string
}

// LoadConfig reads the configuration files. An absent default file is no
// error, an absent Options.File is. Errors begin with the file's name.
func LoadConfig(o Options) (*Config, error) {
	c := &Config{
		home: o.Home, user: o.User, file: o.File,
		ran: make(map[string]bool), known: make(map[string]*knownHosts), revoked: make(map[string][][]byte),
		lists: make(map[string]algorithmList),
	}
	if c.home == "" {
		var err error
		if c.home, err = homeDir(); err != nil {
			return nil, fmt.Errorf("ssh configuration: home directory: %w", err)
		}
	}
	if c.user == "" {
		c.user = loginName()
	}
	if err := c.loadLines(o.Lines); err != nil {
		return nil, err
	}
	dotSSH := filepath.Join(c.home, ".ssh")
	switch o.File {
	case "none":
		return c, nil
	case "":
		for _, f := range []struct {
			path, base string
			private    bool
		}{
			{filepath.Join(dotSSH, "config"), dotSSH, true},
			{"/etc/ssh/ssh_config", "/etc/ssh", false},
		} {
			if err := c.load(f.path, f.base, f.private); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
		}
		return c, nil
	}
	if err := c.load(o.File, dotSSH, false); err != nil {
		return nil, err
	}
	return c, nil
}

// load adds the file at path; relative Includes start from base. As in ssh, others may
// neither write a private file nor any that is included.
func (c *Config) load(path, base string, private bool) error {
	p := configParser{home: c.home, base: base, private: private}
	f, err := p.parse(path, 0)
	if err != nil {
		return err
	}
	c.files = append(c.files, f)
	c.final = c.final || p.final
	return nil
}

// loadLines puts lines before the files.
func (c *Config) loadLines(lines []string) error {
	const pos = "--" + keywordOption
	if len(lines) == 0 {
		return nil
	}
	f := &configFile{blocks: []*hostBlock{{}}}
	p := configParser{home: c.home}
	for _, line := range lines {
		key, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(line)), "=")
		switch word, _, _ := strings.Cut(strings.TrimSpace(key), " "); word {
		case "", "host", "match", "include":
			return fmt.Errorf("%s: %q is not KEY=VALUE, of ssh_config's keywords but Host, Match and Include", pos, line)
		}
		if err := p.line(f, line, pos, 0); err != nil {
			return fmt.Errorf("%s: %w", pos, err)
		}
	}
	c.files = append(c.files, f)
	return nil
}

// warn keeps a warning, once.
func (c *Config) warn(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.warnings, text) {
		c.warnings = append(c.warnings, text)
	}
}

// Warnings returns the lines of known_hosts and configuration files that were passed
// over so far, as far as the user is to know, as "file:line: reason".
func (c *Config) Warnings() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]string(nil), c.warnings...)
}

// Target works out how to reach h. A user or port that the host file gives
// wins over the configuration. The result has no Addr unless its HostName is
// an address: see Resolve. Errors name the host and are permanent.
func (c *Config) Target(h job.Host) (Target, error) {
	t, err := c.target(h.Name, h.User, h.Port, []string{})
	if err != nil {
		return Target{}, fmt.Errorf("host %s: %w", h.Name, err)
	}
	return t, nil
}

// homeDir is $HOME or, where services run without, that of the user database.
func homeDir() (string, error) {
	home, err := os.UserHomeDir()
	if err == nil {
		return home, nil
	}
	if u, uerr := user.Current(); uerr == nil && u.HomeDir != "" {
		return u.HomeDir, nil
	}
	return "", fmt.Errorf("%w, and the user database has none: set it", err)
}

// loginName returns the name of the user of this process. Without cgo the user
// database is /etc/passwd, so $USER stands in for users who are not in it.
func loginName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return os.Getenv("USER")
}
