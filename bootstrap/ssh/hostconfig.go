package sshboot

import (
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// maxJumps bounds a chain of jump hosts, and so ends one that runs in circles.
const maxJumps = 8

// target makes the Target of a host name. Seen are the names under way, when
// jump hosts have jump hosts themselves; nil for a jump host that is not the
// first of its chain, whose own jump hosts do not count.
func (c *Config) target(name, user string, port int, seen []string) (Target, error) {
	if name == "" || strings.ContainsAny(name, " \t\n/") || name[0] == '-' {
		return Target{}, fmt.Errorf("%q is no host name", name)
	}
	set := make(settings)
	for _, f := range c.files {
		f.lookup(name, set)
	}
	if pc := set.first("proxycommand"); pc != "" && !strings.EqualFold(pc, "none") && set.first("proxyjump") == "" {
		return Target{}, errors.New("ssh configuration has ProxyCommand, which is not supported; use ProxyJump, or the exec bootstrap with the system's ssh")
	}
	t := Target{Name: name, User: user, Port: port, IdentitiesOnly: isYes(set.first("identitiesonly"))}
	if err := c.endpoint(&t, set); err != nil {
		return Target{}, err
	}
	var err error
	if t.Policy, err = parsePolicy(set.first("stricthostkeychecking")); err != nil {
		return Target{}, err
	}
	if t.ConnectTimeout, err = parseTimeout(set.first("connecttimeout")); err != nil {
		return Target{}, err
	}
	if t.Kex, err = parseKex(set.first("kexalgorithms")); err != nil {
		return Target{}, err
	}
	x := c.expander(&t, set.first("hostkeyalias"))
	if err := c.identities(&t, set["identityfile"], x); err != nil {
		return Target{}, err
	}
	if err := c.hostKeys(&t, set, x); err != nil {
		return Target{}, err
	}
	if seen == nil {
		return t, nil
	}
	if t.Jump, err = c.jumps(set.first("proxyjump"), x, append(seen, name)); err != nil {
		return Target{}, err
	}
	return t, nil
}

// endpoint fills in where to connect to and as whom.
func (c *Config) endpoint(t *Target, set settings) error {
	if t.User == "" {
		t.User = set.first("user")
	}
	if t.User == "" {
		t.User = c.user
	}
	if t.User == "" {
		return errors.New("no user name is known; give one as USER@HOST or set User in the ssh configuration")
	}
	if t.Port == 0 {
		t.Port = 22
		if s := set.first("port"); s != "" {
			port, err := strconv.Atoi(s)
			if err != nil {
				return fmt.Errorf("ssh configuration: Port %q is no number", s)
			}
			t.Port = port
		}
	}
	if t.Port < 1 || t.Port > 65535 {
		return fmt.Errorf("port %d is not in 1-65535", t.Port)
	}
	t.HostName = t.Name
	if s := set.first("hostname"); s != "" {
		// At this point only the name as given is known (ssh_config(5)).
		full, err := expander{tokens: map[byte]string{'h': t.Name, 'n': t.Name}}.expand("HostName", s)
		if err != nil {
			return err
		}
		t.HostName = full
	}
	if a, err := netip.ParseAddr(strings.Trim(t.HostName, "[]")); err == nil {
		t.HostName = a.String()
		t.Addr = a.Unmap().String()
	}
	return nil
}

// identities fills in the private key files.
func (c *Config) identities(t *Target, files []string, x expander) error {
	for _, f := range files {
		if strings.EqualFold(f, "none") {
			return nil
		}
		path, err := x.path("IdentityFile", f)
		if err != nil {
			return err
		}
		t.Identities = append(t.Identities, Identity{Path: path, Given: true})
	}
	if len(files) == 0 {
		for _, base := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			t.Identities = append(t.Identities, Identity{Path: filepath.Join(c.home, ".ssh", base)})
		}
	}
	return nil
}

// jumps makes the chain of jump hosts of a ProxyJump value, nearest first. The
// first one's own ProxyJump comes before it, as when ssh is called for it.
func (c *Config) jumps(value string, x expander, seen []string) ([]Target, error) {
	if value == "" || strings.EqualFold(value, "none") {
		return nil, nil
	}
	var chain []Target
	for i, hop := range strings.Split(value, ",") {
		hop, err := x.expand("ProxyJump", strings.TrimSpace(hop))
		if err != nil {
			return nil, err
		}
		user, host, port, err := parseDestination(hop)
		if err != nil {
			return nil, fmt.Errorf("ProxyJump %s: %w", value, err)
		}
		follow := seen
		if i > 0 {
			follow = nil
		} else if strings.EqualFold(host, seen[len(seen)-1]) {
			// `Host *` with a ProxyJump matches the jump host too.
			return nil, nil
		}
		if len(seen) > maxJumps || len(chain) > maxJumps {
			return nil, fmt.Errorf("ProxyJump %s: more than %d jump hosts; do they run in circles?", value, maxJumps)
		}
		t, err := c.target(host, user, port, follow)
		if err != nil {
			return nil, fmt.Errorf("jump host %s: %w", host, err)
		}
		if i == 0 {
			chain = append(chain, t.Jump...)
		}
		t.Jump = nil
		chain = append(chain, t)
	}
	return chain, nil
}

// parseDestination cuts [ssh://][USER@]HOST[:PORT] apart; an IPv6 address with
// a port is in brackets.
func parseDestination(s string) (user, host string, port int, err error) {
	s = strings.TrimSuffix(strings.TrimPrefix(s, "ssh://"), "/")
	host = s
	if at := strings.LastIndexByte(s, '@'); at >= 0 {
		user, host = s[:at], s[at+1:]
	}
	number := ""
	switch colon := strings.LastIndexByte(host, ':'); {
	case strings.HasPrefix(host, "["):
		inner, rest, ok := strings.Cut(host[1:], "]")
		if !ok || rest != "" && rest[0] != ':' {
			return "", "", 0, fmt.Errorf("%q is no [USER@]HOST[:PORT]", s)
		}
		host, number = inner, strings.TrimPrefix(rest, ":")
	case colon >= 0 && strings.Count(host, ":") == 1:
		host, number = host[:colon], host[colon+1:]
	}
	if host == "" {
		return "", "", 0, fmt.Errorf("%q is no [USER@]HOST[:PORT]", s)
	}
	if number != "" {
		if port, err = strconv.Atoi(number); err != nil || port < 1 || port > 65535 {
			return "", "", 0, fmt.Errorf("%q has port %q, which is not in 1-65535", s, number)
		}
	}
	return user, host, port, nil
}

func isYes(s string) bool { return strings.EqualFold(s, "yes") || strings.EqualFold(s, "true") }

func parsePolicy(s string) (Policy, error) {
	switch strings.ToLower(s) {
	case "", "yes", "true", "ask":
		return Strict, nil
	case "accept-new":
		return AcceptNew, nil
	case "no", "false", "off":
		return AcceptAny, nil
	}
	return 0, fmt.Errorf("StrictHostKeyChecking %q in the ssh configuration is none of yes, ask, accept-new, no", s)
}

func parseTimeout(s string) (time.Duration, error) {
	if s == "" || strings.EqualFold(s, "none") || s == "0" {
		return 0, nil
	}
	if n, err := strconv.Atoi(s); err == nil && n > 0 && n < 1<<20 {
		return time.Duration(n) * time.Second, nil
	}
	// The time formats of sshd_config(5), such as 1m30s, are also Go's.
	if d, err := time.ParseDuration(strings.ToLower(s)); err == nil && d > 0 {
		return d, nil
	}
	return 0, fmt.Errorf("ConnectTimeout %q in the ssh configuration is no number of seconds", s)
}
