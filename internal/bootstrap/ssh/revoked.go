package sshboot

import (
	"bytes"
	"errors"
	"strings"

	"golang.org/x/crypto/ssh"
)

// krlMagic begins a key revocation list of ssh-keygen -k.
var krlMagic = []byte("SSHKRL\n\x00")

// revokedKeys adds the keys of RevokedHostKeys. As in ssh, a file that cannot
// be read stops everything.
func (c *Config) revokedKeys(t *Target, line configLine, x expander) error {
	if line.arg() == "" || strings.EqualFold(line.arg(), "none") {
		return nil
	}
	path, err := x.path("RevokedHostKeys", line.arg())
	if err != nil {
		return line.errorf("%v", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	keys, ok := c.revoked[path]
	if !ok {
		if keys, err = readRevoked(path); err != nil {
			return line.errorf("%v", err)
		}
		c.revoked[path] = keys
	}
	t.Revoked = append(t.Revoked, keys...)
	return nil
}

// readRevoked reads a list of public keys, one per line. ssh passes over a line
// that it does not understand, which would let a key through.
func readRevoked(path string) ([][]byte, error) {
	text, err := readFile(path, maxKnownHosts)
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(text, krlMagic) {
		return nil, errors.New("it is a KRL; list its keys one per line, as in .pub files")
	}
	var keys [][]byte
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) == 0 || line[0] == '#' {
			continue
		}
		key, _, _, _, err := ssh.ParseAuthorizedKey(line)
		if err != nil {
			return nil, errors.New(path + ": not a list of public keys, one per line")
		}
		if cert, ok := key.(*ssh.Certificate); ok {
			key = cert.Key // revoked with and without certificate
		}
		keys = append(keys, key.Marshal())
	}
	return keys, nil
}
