package sshboot

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// maxKnownHosts bounds a known_hosts file, in bytes.
const maxKnownHosts = 256 << 20

// knownHosts is one known_hosts file (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT),
// made for asking about thousands of hosts: lines are found by name, and keys
// decoded only when asked for. Hashed names cannot be found by name; each is
// tried until it has matched.
type knownHosts struct {
	path     string
	plain    map[string][]*knownLine
	patterns []*knownLine
	hashed   []hashedLine
	bad      []string               // lines passed over, "file:line: reason"
	byKey    map[string]*whereKnown // made when it is asked for
}

// knownLine is one line but for names that are in the index.
type knownLine struct {
	number   int
	marker   string   // "", "@cert-authority" or "@revoked"
	patterns []string // position of the line in the list of patterns
	key      string   // base64
}

type hashedLine struct {
	*knownLine
	inner, outer [sha1.BlockSize]byte // the salt as HMAC keys
	sum          [sha1.Size]byte
}

// knownKeys are the keys of one host, as blobs.
type knownKeys struct{ keys, cas, revoked [][]byte }

// parseKnownHosts indexes a file. Like OpenSSH it passes over lines it does
// not understand, but remembers them.
func parseKnownHosts(path, text string) *knownHosts {
	k := &knownHosts{path: path, plain: make(map[string][]*knownLine)}
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		line = strings.Trim(line, " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		if err := k.add(line, number); err != nil {
			k.pass(number, err)
		}
	}
	return k
}

func (k *knownHosts) pass(number int, err error) {
	k.bad = append(k.bad, fmt.Sprintf("%s:%d: %v", k.path, number, err))
}

func (k *knownHosts) add(line string, number int) error {
	l := &knownLine{number: number}
	names, rest := cutWord(line)
	if names[0] == '@' {
		if names != "@cert-authority" && names != "@revoked" {
			return fmt.Errorf("marker %s is unknown", names)
		}
		l.marker = names
		names, rest = cutWord(rest)
	}
	kind, rest := cutWord(rest)
	l.key, _ = cutWord(rest)
	if l.key == "" {
		return errors.New("line is not NAMES TYPE KEY")
	}
	if kind[0] >= '0' && kind[0] <= '9' {
		return errors.New("key is of SSH protocol 1")
	}
	if names[0] == '|' {
		h, err := parseHashed(names)
		if err != nil {
			return err
		}
		h.knownLine = l
		k.hashed = append(k.hashed, h)
		return nil
	}
	names = strings.ToLower(names)
	if strings.ContainsAny(names, "*?!") {
		l.patterns = strings.Split(names, ",")
		k.patterns = append(k.patterns, l)
		return nil
	}
	for name := range strings.SplitSeq(names, ",") {
		k.plain[name] = append(k.plain[name], l)
	}
	return nil
}

// find adds the keys of name, which is in lower case and of the form
// "[host]:port" unless the port is 22.
func (k *knownHosts) find(name string, into *knownKeys) {
	for _, l := range k.plain[name] {
		k.take(l, into)
	}
	for _, l := range k.patterns {
		if matchPatterns(l.patterns, name) {
			k.take(l, into)
		}
	}
	k.hashed = slices.DeleteFunc(k.hashed, func(h hashedLine) bool {
		if !h.matches(name) {
			return false
		}
		k.plain[name] = append(k.plain[name], h.knownLine) // known by name from now on
		k.take(h.knownLine, into)
		return true
	})
}

// take decodes a line's key.
func (k *knownHosts) take(l *knownLine, into *knownKeys) {
	blob, err := base64.StdEncoding.DecodeString(l.key)
	if err == nil && keyType(blob) == "" {
		err = errors.New("not a public key")
	}
	if err != nil {
		k.pass(l.number, fmt.Errorf("key: %w", err))
		return
	}
	list := &into.keys
	switch l.marker {
	case "@cert-authority":
		list = &into.cas
	case "@revoked":
		list = &into.revoked
	}
	if !slices.ContainsFunc(*list, func(b []byte) bool { return bytes.Equal(b, blob) }) {
		*list = append(*list, blob)
	}
}

// parseHashed reads |1|SALT|HASH.
func parseHashed(s string) (hashedLine, error) {
	var h hashedLine
	parts := strings.Split(s, "|")
	if len(parts) != 4 || parts[1] != "1" {
		return h, errors.New("hashed name is not |1|SALT|HASH")
	}
	salt, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil || len(salt) == 0 || len(salt) > sha1.BlockSize {
		return h, errors.New("salt of the hashed name is malformed")
	}
	sum, err := base64.StdEncoding.DecodeString(parts[3])
	if err != nil || len(sum) != sha1.Size {
		return h, errors.New("hash of the hashed name is malformed")
	}
	copy(h.sum[:], sum)
	copy(h.inner[:], salt)
	copy(h.outer[:], salt)
	for i := range h.inner {
		h.inner[i] ^= 0x36
		h.outer[i] ^= 0x5c
	}
	return h, nil
}

// matches computes HMAC-SHA1(salt, name) (RFC 2104) by hand: with a ready-made
// one, allocation would cost more than hashing, and this runs once for every
// pair of host and line.
func (h *hashedLine) matches(name string) bool {
	var room [sha1.BlockSize + 256]byte
	sum := sha1.Sum(append(append(room[:0], h.inner[:]...), name...))
	return sha1.Sum(append(append(room[:0], h.outer[:]...), sum[:]...)) == h.sum
}

// hashName hides a name: |1|SALT|HASH.
func hashName(name string) string {
	salt := make([]byte, sha1.Size)
	_, _ = rand.Read(salt) // never fails
	mac := hmac.New(sha1.New, salt)
	mac.Write([]byte(name))
	return "|1|" + base64.StdEncoding.EncodeToString(salt) + "|" + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// cutWord cuts the first word off a line.
func cutWord(s string) (word, rest string) {
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], strings.TrimLeft(s[i:], " \t")
	}
	return s, ""
}

// matchPatterns is the match of a comma-separated list: one must match and no
// negated one.
func matchPatterns(patterns []string, name string) bool {
	matched := false
	for _, p := range patterns {
		negated := strings.HasPrefix(p, "!")
		if matchPattern(strings.TrimPrefix(p, "!"), name) {
			if negated {
				return false
			}
			matched = true
		}
	}
	return matched
}

// matchPattern knows * and ?. It goes back to the last * only, so that its
// time is bounded by the product of the lengths.
func matchPattern(pattern, s string) bool {
	star, mark := -1, 0
	i, j := 0, 0
	for i < len(s) {
		switch {
		case j < len(pattern) && pattern[j] == '*':
			star, mark = j, i
			j++
		case j < len(pattern) && (pattern[j] == '?' || pattern[j] == s[i]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = mark, star+1
		default:
			return false
		}
	}
	return strings.Trim(pattern[j:], "*") == ""
}

// hostKeys fills in the keys of t in the known_hosts files.
func (c *Config) hostKeys(t *Target, set settings, x expander) error {
	var paths []string
	for _, o := range []struct{ key, option, usual string }{
		{"userknownhostsfile", "UserKnownHostsFile", "~/.ssh/known_hosts ~/.ssh/known_hosts2"},
		{"globalknownhostsfile", "GlobalKnownHostsFile", "/etc/ssh/ssh_known_hosts /etc/ssh/ssh_known_hosts2"},
	} {
		line := set.first(o.key)
		words := line.args
		if len(words) == 0 {
			words = strings.Fields(o.usual)
		}
		for _, w := range words {
			if strings.EqualFold(w, "none") {
				continue
			}
			path, err := x.path(o.option, w)
			if err != nil {
				return line.errorf("%v", err)
			}
			paths = append(paths, path)
		}
	}
	if len(paths) > 0 {
		t.KnownHostsFile = paths[0]
	}
	keyFile := t.KnownHostsFile
	plain := strings.ToLower(t.KeyName)
	names := []string{plain}
	if set.first("hostkeyalias").arg() == "" && t.Port != 22 {
		// A key for another port counts if there is none for this one.
		names = []string{"[" + plain + "]:" + strconv.Itoa(t.Port), plain}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		var found knownKeys
		for _, path := range paths {
			k, err := c.knownHosts(path)
			if err != nil {
				return err
			}
			if k == nil {
				continue
			}
			bad, had := len(k.bad), len(found.keys)
			k.find(name, &found)
			if had == 0 && len(found.keys) > 0 {
				keyFile = path
			}
			c.warnings = append(c.warnings, k.bad[bad:]...)
		}
		t.Revoked = append(t.Revoked, found.revoked...)
		if len(found.keys)+len(found.cas) > 0 {
			t.HostKeys, t.CAs = found.keys, found.cas
			break
		}
	}
	if keyFile != filepath.Join(c.home, ".ssh", "known_hosts") {
		t.KeyFile = keyFile
	}
	return nil
}

// knownHosts returns the file at path, read once; nil where there is none.
func (c *Config) knownHosts(path string) (*knownHosts, error) {
	k, ok := c.known[path]
	if ok {
		return k, nil
	}
	text, err := readFile(path, maxKnownHosts)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		k = parseKnownHosts(path, string(text))
		c.warnings = append(c.warnings, k.bad...)
	}
	c.known[path] = k
	return k, nil
}
