package cmdline

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/hostlist"
)

// sshOption is the flag for what ssh's configuration has.
const sshOption = "ssh-option"

// operatorHosts returns the hosts of the file that an operator names. Arguments that it
// has for ssh are options of golaunch's own.
func (h *Held) operatorHosts(m machine.Machine, tell Teller) (a allocation, err error) {
	for _, o := range hostlist.Operators {
		name := m.Variable(o.Hosts)
		if name == "" {
			continue
		}
		file, err := Named(nil, name, m)
		if err != nil {
			return a, fmt.Errorf("%s: %w", o.Hosts, err)
		}
		a.hosts = file.Hosts
		agent, _, _ := strings.Cut(strings.TrimSpace(m.Variable(o.Agent)), " ")
		kind, _, _ := registry.Owner(sshOption)
		if args := m.Variable(o.Args); args != "" && (agent == "" || path.Base(agent) == kind.Name) && registry.Chosen(kind, h.Boot.Bootstrap, m.Environ) {
			options, rest := sshOptions(strings.Fields(args))
			if len(rest) > 0 {
				tell(0, "%s: %s is not known: golaunch's ssh does without; --ssh-option KEY=VALUE has what ssh's configuration has", o.Args, strings.Join(rest, " "))
			}
			a.sshOptions = options
		}
		return a, nil
	}
	return a, nil
}

// bootValues returns the values of the bootstraps' flags: those that were said, else
// those that the environment gives, and behind them an operator's options of ssh: the
// first one counts.
func bootValues(said bootstrap.Values, ofSSH []string, given bootstrap.Values) bootstrap.Values {
	all := maps.Clone(said)
	for name, value := range given {
		if all[name] == "" {
			all[name] = value
		}
	}
	if own := all[sshOption]; own != "" && len(ofSSH) > 0 {
		ofSSH = slices.Insert(slices.Clone(ofSSH), 0, own)
	}
	if len(ofSSH) > 0 {
		all[sshOption] = strings.Join(ofSSH, "\n")
	}
	return all
}

// sshKeywords are the options of ssh that stand for a keyword of its configuration, and
// sshSilent those that change nothing for golaunch.
var sshKeywords = map[byte]string{
	'p': "Port", 'l': "User", 'i': "IdentityFile", 'J': "ProxyJump", 'b': "BindAddress", 'c': "Ciphers", 'm': "MACs",
}

const sshSilent = "qxTankv"

// sshOptions reads words of ssh's command line before the host as KEY=VALUE of its
// configuration. The rest are words that mean nothing of that.
func sshOptions(words []string) (options, rest []string) {
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if len(word) < 2 || word[0] != '-' {
			rest = append(rest, word)
			continue
		}
		keyword, known := sshKeywords[word[1]]
		if !known && word[1] != 'o' {
			if strings.Trim(word[1:], sshSilent) != "" {
				rest = append(rest, word)
			}
			continue
		}
		value := word[2:]
		if value == "" && len(words) > 0 {
			value, words = words[0], words[1:]
		}
		switch {
		case known && value != "":
			options = append(options, keyword+"="+value)
		case !known && strings.Contains(value, "="):
			options = append(options, value)
		default:
			rest = append(rest, word)
			if value != "" {
				rest = append(rest, value)
			}
		}
	}
	return options, rest
}
