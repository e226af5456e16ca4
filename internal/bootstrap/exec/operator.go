package execboot

import (
	"path"
	"strings"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/hostlist"
)

// fromOperator returns the command that an operator has for reaching hosts, where it
// names these, too. It is called as ssh is: with a host, and a command in one word.
// Where it is ssh, nothing is selected.
func fromOperator(getenv func(string) string) bootstrap.Values {
	for _, o := range hostlist.Operators {
		agent := getenv(o.Agent)
		if getenv(o.Hosts) == "" || agent == "" {
			continue
		}
		words := strings.Fields(agent)
		if len(words) == 0 || path.Base(words[0]) == "ssh" {
			return nil
		}
		words = append(words, strings.Fields(getenv(o.Args))...)
		return bootstrap.Values{commandOption: strings.Join(words, " ") + " {host} '{command}'"}
	}
	return nil
}
