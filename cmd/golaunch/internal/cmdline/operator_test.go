package cmdline

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Arguments that an operator has for ssh become keywords of its configuration, or are told.
func TestSSHOptions(t *testing.T) {
	for words, want := range map[string]struct{ options, rest string }{
		"-o ConnectionAttempts=10":                        {"ConnectionAttempts=10", ""},
		"-oStrictHostKeyChecking=no -p 2222 -q -xT -i /k": {"StrictHostKeyChecking=no Port=2222 IdentityFile=/k", ""},
		"-p2222 -L 1:h:2 -o LogLevel":                     {"Port=2222", "-L 1:h:2 -o LogLevel"},
		"-o":                                              {"", "-o"},
		"host -":                                          {"", "host -"},
	} {
		options, rest := sshOptions(strings.Fields(words))
		require.Equal(t, want.options, strings.Join(options, " "), words)
		require.Equal(t, want.rest, strings.Join(rest, " "), words)
	}
}
