package environ

import (
	"path"
	"slices"
	"strings"
)

// From names the source of the environment of ranks. Its words travel.
type From string

// The values of From.
const (
	Auto     From = "auto"
	Launcher From = "launcher"
	Node     From = "node"
)

// Froms returns the values of From.
func Froms() []From { return []From{Auto, Launcher, Node} }

// Help describes the environment of ranks in one line.
func (f From) Help() string {
	switch f {
	case Launcher:
		return "golaunch's on every node, as under srun"
	case Node:
		return "a login's on the node, as under ssh; in a container its image's, as under docker exec"
	}
	return "node in containers; else golaunch's, but HOME, TMPDIR and the like of the node where golaunch's mean nothing there"
}

// In resolves f for the nodes of a job, which may be containers that an engine enters.
func (f From) In(containers bool) From {
	if f == Auto && containers {
		return Node
	}
	return f
}

// Sent returns the part of the launcher's environment that travels to the nodes: all that ranks may get
// there. HOME always does, by which Here.Environ is known to be brought from the launcher.
func (f From) Sent(launcher []string) []string {
	if f != Node {
		return launcher
	}
	return slices.DeleteFunc(slices.Clone(launcher), func(kv string) bool { return nameOf(kv) != "HOME" })
}

// Here has the properties of a node.
type Here struct {
	Environ []string               // of the agent
	IsDir   func(path string) bool // the path is a directory
	Usable  func(path string) bool // and this user may write there
	Exists  func(path string) bool // the path is anything
}

// Variables of which Auto takes the node's own.
var (
	// session describes where golaunch was called, on every other machine in vain.
	session = []string{"HOSTNAME", "HOST", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY"}
	// account lists variables of the user on a machine; those that begin with XDG_ are,
	// too.
	account = []string{"HOME", "USER", "LOGNAME", "SHELL", "MAIL"}
	// scratch are directories that ranks write to.
	scratch = []string{"TMPDIR", "TMP", "TEMP", "XDG_RUNTIME_DIR"}
	// files are paths.
	files = []string{"SSH_AUTH_SOCK", "XAUTHORITY"}
	// shells set these for themselves on their way to the agent.
	shells = []string{"_", "OLDPWD", "SHLVL"}
)

// Of returns the environment of the ranks on a node, without what is set for them
// alone, given the part of the launcher's that they inherit. The note, if not "", says
// why the account there is another than the launcher's.
func (f From) Of(launcher []string, here Here) (env []string, note string) {
	switch f {
	case Launcher:
		return launcher, ""
	case Node:
		return slices.DeleteFunc(Inherited(here.Environ), func(kv string) bool { return slices.Contains(shells, nameOf(kv)) }), ""
	}
	note = otherAccount(launcher, here)
	useless := map[string]bool{} // of launcher's, by name
	for _, kv := range launcher {
		name, value, _ := strings.Cut(kv, "=")
		useless[name] = slices.Contains(scratch, name) && !here.Usable(value) || slices.Contains(files, name) && !here.Exists(value)
	}
	own := func(name string) bool {
		return useless[name] || slices.Contains(session, name) ||
			note != "" && (slices.Contains(account, name) || strings.HasPrefix(name, "XDG_"))
	}
	env = slices.DeleteFunc(slices.Clone(launcher), func(kv string) bool { return own(nameOf(kv)) })
	for _, kv := range Inherited(here.Environ) {
		name := nameOf(kv)
		i := slices.IndexFunc(env, func(kv string) bool { return nameOf(kv) == name })
		switch {
		case name == "PATH" && i >= 0:
			env[i] = "PATH=" + joinPaths(env[i][len("PATH="):], kv[len("PATH="):])
		case i < 0 && (own(name) || name == "PATH" || name == "HOME"):
			env = append(env, kv)
		}
	}
	return env, note
}

// otherAccount gives the reason for which the account of ranks is another than the
// launcher's, "" if it is the same.
func otherAccount(launcher []string, here Here) string {
	mine, there := user(launcher), user(here.Environ)
	home, ok := Lookup(launcher, "HOME")
	switch {
	case mine != "" && there != "" && mine != there:
		return "the user is " + there + ", not " + mine
	case ok && !(path.IsAbs(home) && here.IsDir(home)):
		return "there is no " + home
	}
	return ""
}

// user returns the name of the user whose environment this is, "" if it does not say.
func user(environ []string) string {
	for _, name := range []string{"LOGNAME", "USER"} {
		if value, ok := Lookup(environ, name); ok && value != "" {
			return value
		}
	}
	return ""
}

// joinPaths appends to a PATH the directories of a second that it lacks.
func joinPaths(first, second string) string {
	if first == "" {
		return second
	}
	dirs := strings.Split(first, ":")
	for dir := range strings.SplitSeq(second, ":") {
		if dir != "" && !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	return strings.Join(dirs, ":")
}

func nameOf(kv string) string {
	name, _, _ := strings.Cut(kv, "=")
	return name
}

// Lookup returns the value of a variable in environ, NAME=value.
func Lookup(environ []string, name string) (value string, ok bool) {
	for _, kv := range environ {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v, true
		}
	}
	return "", false
}
