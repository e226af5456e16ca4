package sshboot

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const defaultPort = 22

// maxJumps bounds a chain of jump hosts, and so ends one that runs in circles.
const maxJumps = 8

// target makes the Target of a host name. Seen are the names under way, when
// jump hosts have jump hosts themselves; nil for a jump host that is not the
// first of its chain, whose own jump hosts do not count.
func (c *Config) target(name, user string, port int, seen []string) (Target, error) {
	if name == "" || strings.ContainsAny(name, " \t\n/") || name[0] == '-' {
		return Target{}, fmt.Errorf("%q is no host name", name)
	}
	set, err := c.collect(name, user, port)
	if err != nil {
		return Target{}, err
	}
	if err := c.refuse(set); err != nil {
		return Target{}, err
	}
	t := Target{Name: name, User: user, Port: port, ConfigFile: c.file, IdentitiesOnly: isYes(set.first("identitiesonly").arg()), Batch: isYes(set.first("batchmode").arg())}
	if err := c.endpoint(&t, set); err != nil {
		return Target{}, err
	}
	if err := t.limits(set); err != nil {
		return Target{}, err
	}
	if err := c.algorithms(&t, set); err != nil {
		return Target{}, err
	}
	x := c.expander(&t, set.first("hostkeyalias").arg())
	if err := c.identities(&t, set, x); err != nil {
		return Target{}, err
	}
	if err := c.hostKeys(&t, set, x); err != nil {
		return Target{}, err
	}
	if err := c.revokedKeys(&t, set.first("revokedhostkeys"), x); err != nil {
		return Target{}, err
	}
	if seen == nil {
		return t, nil
	}
	if line := set.first("proxycommand"); line.text != "" && !strings.EqualFold(line.text, "none") {
		if t.Proxy, err = x.expand("ProxyCommand", line.text); err != nil {
			return Target{}, fmt.Errorf("%s: %w", line.pos, err)
		}
	}
	if t.Jump, err = c.jumps(set.first("proxyjump"), x, append(seen, name)); err != nil {
		return Target{}, err
	}
	return t, nil
}

// refuse stops at keywords that golaunch would have to treat otherwise than ssh, and
// notes those that it passes over though ranks may want them.
func (c *Config) refuse(set settings) error {
	for _, key := range slices.Sorted(maps.Keys(set)) {
		line, k := set.first(key), byName()[key]
		if k == nil || slices.Contains(k.fine, strings.ToLower(line.text)) ||
			len(line.args) == 1 && slices.Contains(k.fine, strings.ToLower(line.arg())) {
			continue
		}
		switch k.rule {
		case refused:
			return line.errorf("not supported: %s", k.why)
		case told:
			c.warn(line.errorf("passed over: %s (--%s %s=%s ends this line)", k.why, keywordOption, k.name, k.fine[0]).Error())
		}
	}
	if line := set.first("preferredauthentications"); line.arg() != "" && !slices.Contains(strings.Split(line.arg(), ","), "publickey") {
		return line.errorf("not supported: %s; add publickey", onlyKeys)
	}
	return nil
}

// endpoint fills in the address, the port and the user.
func (c *Config) endpoint(t *Target, set settings) error {
	if t.User == "" {
		t.User = set.first("user").arg()
	}
	if t.User == "" {
		t.User = c.user
	}
	if t.User == "" {
		return errors.New("no user name is known; give one as USER@HOST or set User in the ssh configuration")
	}
	if line := set.first("port"); t.Port == 0 && line.arg() != "" {
		port, err := strconv.Atoi(line.arg())
		if err != nil || port < 1 || port > 65535 {
			return line.errorf("it is no number in 1-65535")
		}
		t.Port = port
	}
	if t.Port == 0 {
		t.Port = defaultPort
	}
	if t.Port < 1 || t.Port > 65535 {
		return fmt.Errorf("port %d is not in 1-65535", t.Port)
	}
	l := configLookup{name: t.Name, host: t.Name, set: set}
	var err error
	if t.HostName, err = l.hostName(); err != nil {
		return err
	}
	if a, err := netip.ParseAddr(strings.Trim(t.HostName, "[]")); err == nil {
		t.HostName = a.String()
		t.Addr = a.Unmap().String()
	}
	return nil
}

// maxAttempts is more than a day of ConnectionAttempts.
const maxAttempts = 100_000

// limits fills in the bounds of the connection, and the policy.
func (t *Target) limits(set settings) error {
	line := set.first("stricthostkeychecking")
	switch strings.ToLower(line.arg()) {
	case "", "yes", "true", "ask":
		t.Policy = Strict
	case "accept-new":
		t.Policy = AcceptNew
	case "no", "false", "off":
		t.Policy = AcceptAny
	default:
		return line.errorf("it is none of yes, ask, accept-new, no")
	}
	line = set.first("addressfamily")
	switch strings.ToLower(line.arg()) {
	case "", "any":
	case "inet":
		t.Network = "tcp4"
	case "inet6":
		t.Network = "tcp6"
	default:
		return line.errorf("it is none of any, inet, inet6")
	}
	var err error
	for _, line := range set["connecttimeout"] {
		if line.arg() == "none" {
			continue // to ssh the same as no line at all
		}
		if t.ConnectTimeout, err = parseTime(line.arg()); err != nil {
			return line.errorf("%v", err)
		}
		break
	}
	if line = set.first("connectionattempts"); line.arg() != "" {
		if t.Attempts, err = strconv.Atoi(line.arg()); err != nil || t.Attempts < 1 || t.Attempts > maxAttempts {
			return line.errorf("it is no number of 1 to %d", maxAttempts)
		}
	}
	if line = set.first("requiredrsasize"); line.arg() != "" {
		if t.MinRSA, err = strconv.Atoi(line.arg()); err != nil || t.MinRSA < 0 {
			return line.errorf("it is no number of bits")
		}
	}
	if line = set.first("rekeylimit"); line.arg() != "" {
		if t.RekeyBytes, err = parseAmount(line.arg()); err != nil {
			return line.errorf("%v", err)
		}
	}
	t.HashKnownHosts = isYes(set.first("hashknownhosts").arg())
	return nil
}

// identities fills in the private key files, certificates and the ssh-agent.
func (c *Config) identities(t *Target, set settings, x expander) error {
	files := set["identityfile"]
	for _, f := range files {
		if strings.EqualFold(f.arg(), "none") {
			t.Identities = nil
			break
		}
		path, err := x.path("IdentityFile", f.arg())
		if err != nil {
			return fmt.Errorf("%s: %w", f.pos, err)
		}
		if id := (Identity{Path: path, Given: true}); !slices.Contains(t.Identities, id) {
			t.Identities = append(t.Identities, id)
		}
	}
	if len(files) == 0 {
		for _, base := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
			t.Identities = append(t.Identities, Identity{Path: filepath.Join(c.home, ".ssh", base)})
		}
	}
	for _, f := range set["certificatefile"] {
		path, err := x.path("CertificateFile", f.arg())
		if err != nil {
			return fmt.Errorf("%s: %w", f.pos, err)
		}
		if !slices.Contains(t.Certificates, path) && !strings.EqualFold(f.arg(), "none") {
			t.Certificates = append(t.Certificates, path)
		}
	}
	return t.agentSocket(set.first("identityagent"), x)
}

// agentSocket fills in which ssh-agent to ask.
func (t *Target) agentSocket(line configLine, x expander) error {
	value := line.arg()
	switch {
	case value == "" || value == "SSH_AUTH_SOCK":
		return nil
	case value == "none":
		t.Agent = value
		return nil
	case value[0] == '$' && !strings.HasPrefix(value, "${"):
		if t.Agent = os.Getenv(value[1:]); t.Agent == "" {
			t.Agent = "none"
		}
		return nil
	}
	path, err := x.path("IdentityAgent", value)
	if err != nil {
		return fmt.Errorf("%s: %w", line.pos, err)
	}
	t.Agent = path
	return nil
}

// jumps makes the chain of jump hosts of a ProxyJump value, nearest first. The
// first one's own ProxyJump comes before it, as when ssh is called for it.
func (c *Config) jumps(line configLine, x expander, seen []string) ([]Target, error) {
	value := line.text
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
			return nil, line.errorf("%v", err)
		}
		follow := seen
		if i > 0 {
			follow = nil
		} else if strings.EqualFold(host, seen[len(seen)-1]) {
			// `Host *` with a ProxyJump matches the jump host too.
			return nil, nil
		}
		if len(seen) > maxJumps || len(chain) > maxJumps {
			return nil, line.errorf("more than %d jump hosts; do they run in circles?", maxJumps)
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

// parseTime reads a number of seconds, or numbers with units (sshd_config(5),
// TIME FORMATS).
func parseTime(s string) (time.Duration, error) {
	units := map[byte]int{'s': 1, 'm': 60, 'h': 3600, 'd': 24 * 3600, 'w': 7 * 24 * 3600}
	seconds, n, digits := 0, 0, 0
	for i := range len(s) {
		if s[i] >= '0' && s[i] <= '9' && digits < 8 {
			n, digits = 10*n+int(s[i]-'0'), digits+1
			continue
		}
		unit, ok := units[s[i]|0x20]
		if !ok || digits == 0 {
			return 0, errors.New("it is no time such as 90 or 1m30s")
		}
		seconds, n, digits = seconds+n*unit, 0, 0
	}
	if seconds += n; seconds > 1<<20 {
		return 0, errors.New("it is more than twelve days")
	}
	return time.Duration(seconds) * time.Second, nil
}

// parseAmount reads a number of bytes, perhaps of K, M or G; 0 for "default".
func parseAmount(s string) (uint64, error) {
	if s == "default" {
		return 0, nil
	}
	shift := 0
	if i := strings.IndexByte("KMG", s[len(s)-1]&^0x20); i >= 0 {
		s, shift = s[:len(s)-1], 10*(i+1)
	}
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n<<shift != 0 && n<<shift < 16 {
		return 0, errors.New("it is no amount such as 1G")
	}
	return n << shift, nil
}
