package sshboot

import (
	"encoding/base64"
	"fmt"
)

// Elsewhere says where the known_hosts files that Target has read have a key,
// given as a blob, as "file:line"; "" if none has it. It does not count what is
// known of authorities, nor revoked keys.
func (c *Config) Elsewhere(key []byte) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := base64.StdEncoding.EncodeToString(key)
	for _, k := range c.known {
		if k == nil {
			continue
		}
		if number := k.lineOf(text); number > 0 {
			return fmt.Sprintf("%s:%d", k.path, number)
		}
	}
	return ""
}

// lineOf is the number of the first line that has a key, 0 if none has.
func (k *knownHosts) lineOf(key string) int {
	if k.byKey == nil {
		k.byKey = make(map[string]int)
		for _, lines := range k.plain {
			k.index(lines...)
		}
		k.index(k.patterns...)
		for _, h := range k.hashed {
			k.index(h.knownLine)
		}
	}
	return k.byKey[key]
}

func (k *knownHosts) index(lines ...*knownLine) {
	for _, l := range lines {
		if have := k.byKey[l.key]; l.marker == "" && (have == 0 || l.number < have) {
			k.byKey[l.key] = l.number
		}
	}
}
