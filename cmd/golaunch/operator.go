package main

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/files"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
)

// sshOption is the flag for what ssh's configuration has.
const sshOption = "ssh-option"

// operatorHosts are the hosts of the file that an operator names. Arguments that it has for
// ssh become options of golaunch's own.
func (c *commandLine) operatorHosts(w io.Writer, getenv func(string) string) ([]job.Host, error) {
	for _, o := range hostlist.Operators {
		name := getenv(o.Hosts)
		if name == "" {
			continue
		}
		var file hostlist.File
		err := files.Read(w, name, func(r io.Reader) (err error) {
			file, err = hostlist.ParseFile(r, name)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", o.Hosts, err)
		}
		agent, _, _ := strings.Cut(strings.TrimSpace(getenv(o.Agent)), " ")
		kind, _, _ := registry.Owner(sshOption)
		if args := getenv(o.Args); args != "" && (agent == "" || path.Base(agent) == kind.Name) && registry.Chosen(kind, c.Boot.Bootstrap, c.environ) {
			options, rest := sshOptions(strings.Fields(args))
			if len(rest) > 0 {
				c.tell(w, 0, "%s: %s is not known: golaunch's ssh does without; --ssh-option KEY=VALUE has what ssh's configuration has", o.Args, strings.Join(rest, " "))
			}
			if own := c.Boot.Values[sshOption]; own != "" { // what comes first counts
				options = append([]string{own}, options...)
			}
			c.Boot.Values[sshOption] = strings.Join(options, "\n")
		}
		return file.Hosts, nil
	}
	return nil, nil
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
