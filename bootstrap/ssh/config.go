package sshboot

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"sync"

	"github.com/golaunch/golaunch/job"
)

// Options says where Config reads.
type Options struct {
	// File replaces the user's and the system's configuration (ssh -F);
	// "none" stands for no file at all.
	File string
	// Home and User are the user's home directory and login name; empty
	// means those of this process.
	Home string
	User string
}

// Config answers which Target a host is, by the rules of ssh_config(5) and the
// known_hosts files (sshd(8)). It may be used from several goroutines.
type Config struct {
	home, user string
	files      []*configFile // in order of precedence

	mu       sync.Mutex
	known    map[string]*knownHosts // by path; nil where there is no such file
	warnings []string
}

// LoadConfig reads the configuration files. An absent default file is no
// error, an absent Options.File is. Errors begin with the file's name.
func LoadConfig(o Options) (*Config, error) {
	c := &Config{home: o.Home, user: o.User, known: make(map[string]*knownHosts)}
	if c.home == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fmt.Errorf("ssh configuration: home directory: %w", err)
		}
		c.home = home
	}
	if c.user == "" {
		c.user = loginName()
	}
	dotSSH := filepath.Join(c.home, ".ssh")
	switch o.File {
	case "none":
		return c, nil
	case "":
		for _, f := range []struct{ path, base string }{
			{filepath.Join(dotSSH, "config"), dotSSH},
			{"/etc/ssh/ssh_config", "/etc/ssh"},
		} {
			if err := c.load(f.path, f.base); err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
		}
		return c, nil
	}
	if err := c.load(o.File, dotSSH); err != nil {
		return nil, err
	}
	return c, nil
}

// load adds the file at path; base is what relative Includes start from.
func (c *Config) load(path, base string) error {
	p := configParser{home: c.home, base: base}
	f, err := p.parse(path, 0)
	if err != nil {
		return err
	}
	c.files = append(c.files, f)
	c.warnings = append(c.warnings, p.warnings...)
	return nil
}

// Warnings are the lines of configuration and known_hosts files that were
// passed over, as "file:line: reason", so far.
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

// loginName is the name of the user of this process. Without cgo the user
// database is /etc/passwd, so $USER stands in for users who are not in it.
func loginName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return os.Getenv("USER")
}
