package sshboot

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// parseKex applies a KexAlgorithms value: a list, or a change to the default
// list that begins with + (append), - (remove) or ^ (put first). Methods that
// this program does not have are passed over; nothing left is an error.
func parseKex(value string) ([]string, error) {
	if value == "" {
		return nil, nil
	}
	supported := ssh.SupportedAlgorithms().KeyExchanges
	var defaults ssh.Config
	defaults.SetDefaults()
	how := value[0]
	names := strings.Split(strings.TrimLeft(value, "+-^"), ",")
	if how == '-' {
		return slices.DeleteFunc(slices.Clone(defaults.KeyExchanges), func(have string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return matchPattern(n, have) })
		}), nil
	}
	var known []string
	for _, n := range names {
		n = strings.TrimSpace(n)
		if n == "curve25519-sha256@libssh.org" {
			n = ssh.KeyExchangeCurve25519 // the same method under its old name
		}
		if slices.Contains(supported, n) && !slices.Contains(known, n) {
			known = append(known, n)
		}
	}
	rest := slices.DeleteFunc(slices.Clone(defaults.KeyExchanges), func(have string) bool { return slices.Contains(known, have) })
	switch how {
	case '+':
		return append(rest, known...), nil
	case '^':
		return append(known, rest...), nil
	}
	if len(known) == 0 {
		return nil, fmt.Errorf("KexAlgorithms %s in the ssh configuration has none of %s", value, strings.Join(supported, ","))
	}
	return known, nil
}
