package execboot

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// engines are programs whose exec runs a command in a container, and hands it this
// side's input only where it is asked to.
var engines = []string{"docker", "podman", "nerdctl", "kubectl", "oc", "crictl"}

// others run a command in a container by exec as engines do, with this side's input unasked.
var others = []string{"ctr", "docker-compose", "incus", "lxc"}

// operatorsExec is the command that an mpi-operator without ssh has for reaching pods.
const operatorsExec = "kubexec.sh"

// entersContainer reports an engine among the words before {command}, with an exec or run
// that the command goes to; sudo, env or ssh may stand in front.
func (t *Template) entersContainer() bool {
	engine := false
	for _, w := range t.words {
		for _, p := range w.pieces {
			if p.ph == phCommand {
				return false
			}
			for _, text := range strings.Fields(p.text) {
				name := path.Base(text)
				if engine && (text == "exec" || text == "run") || name == operatorsExec {
					return true
				}
				engine = engine || slices.Contains(engines, name) || slices.Contains(others, name)
			}
		}
	}
	return false
}

// checkAttached refuses a command of Slurm's, or an engine's exec, through which no
// link can go: without input, or with a terminal, which changes bytes. Options stand
// between exec and {command}.
func (t *Template) checkAttached() error {
	words := make([]string, len(t.words))
	for i, w := range t.words {
		if w.becomesWords() {
			words = words[:i]
			break
		}
		for _, p := range w.pieces {
			words[i] += p.text
		}
	}
	if len(words) == 0 {
		return nil
	}
	if path.Base(words[0]) == "srun" && !slices.Contains(words, "--unbuffered") && !slices.Contains(words, "-u") {
		return errors.New("srun holds back what the agent says until a line ends, and a link has no lines; write srun --unbuffered")
	}
	engine := path.Base(words[0])
	at := slices.Index(words, "exec")
	if at < 0 || !slices.Contains(engines, engine) {
		return nil
	}
	input, end := false, false
	for _, w := range words[at+1:] {
		switch {
		case w == "--":
			end = true
		case w == "--tty", shortFlag(w, 't'):
			return fmt.Errorf("%s would make a terminal of what is the link to the agent; leave it out, and keep -i", w)
		case w == "--interactive", w == "--stdin", w == "--stdin=true", w == "--interactive=true", shortFlag(w, 'i'):
			input = true
		}
	}
	switch {
	case !input:
		return fmt.Errorf("%s exec without -i gives the agent no input; write %s exec -i", engine, engine)
	case !end && (engine == "kubectl" || engine == "oc"):
		return errors.New("write -- before {command}, or " + engine + " takes the command's flags for its own")
	}
	return nil
}

// shortFlag tells whether a word is or has a flag of one letter without a value.
func shortFlag(word string, letter byte) bool {
	return len(word) > 1 && word[0] == '-' && word[1] != '-' && strings.Trim(word[1:], "itdq") == "" && strings.IndexByte(word, letter) > 0
}
