package execboot

import (
	"path"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// saying gives words of a command that failed, in small letters, a meaning for another
// try: those of docker, podman and nerdctl; of kubectl; of managers.
type saying struct {
	words string
	// means names a part that is not there yet; "" where another try comes to the same.
	means string
	// final says that it does, and hint is advice for the user; "" for the usual
	// advice.
	final bool
	hint  string
}

// Sayings of engines and managers. The first that fits counts.
var sayings = []saying{
	{words: "no such container", means: "there is no such container yet"},
	{words: `(notfound): pods "`, means: "there is no such pod yet"},
	{words: "is restarting", means: "its container is restarting"},
	{words: "is paused", means: "its container is paused"},
	{words: "is not running", means: "its container does not run"},
	{words: "stopped container", means: "its container does not run"},
	{words: "has stopped", means: "its container does not run"},
	{words: "container state improper", means: "its container does not run"}, // podman
	{words: "container not found", means: "its container is not up yet"},
	{words: "does not have a host assigned", means: "its pod has no node yet"},
	{words: "(forbidden)", final: true, hint: "the user of golaunch needs the right to it: kubectl auth can-i create pods/exec"},
	{words: "(unauthorized)", final: true, hint: "kubectl's credentials are not taken: kubectl auth whoami"},
	{words: "unable to upgrade connection: forbidden", final: true, hint: "the API server has no right to enter pods on that node"},
	{words: "server localhost:8080 was refused", final: true, hint: noConfig}, // if kubectl knows no other
	{words: "no configuration has been provided", final: true, hint: noConfig},
	{words: "x509: ", final: true, hint: noConfig},
	{words: "context was not found", final: true, hint: noContext}, // kubectl
	{words: "context not found", final: true, hint: noContext},     // docker
	{words: "error: context ", final: true, hint: noContext},       // "x" does not exist
	{words: "is not valid for pod", final: true, hint: "name a container of the pod by kubectl exec -c"},
	{words: "unknown flag: ", final: true},
	{words: "unknown shorthand flag: ", final: true},
	{words: "completed pod", final: true, hint: "name pods whose containers go on running"},
	{words: "permission denied while trying to connect to the docker", final: true,
		hint: "the user of golaunch must be able to use the engine: the group docker, or DOCKER_HOST"},
	{words: "stat /bin/sh: no such file", final: true, hint: noShell}, // runc
	{words: `exec: "/bin/sh": executable file not found`, final: true, hint: noShell},
	{words: "executable file `/bin/sh` not found", final: true, hint: noShell}, // crun
	{words: "didn't accept task", hint: "qrsh starts tasks where the parallel environment has control_slaves TRUE; --bootstrap ssh does without"},
}

// Advice for an engine that lacks its server's address.
const (
	noConfig  = "kubectl lacks what this cluster needs: see KUBECONFIG, and kubectl cluster-info"
	noContext = "the engine's client knows no such context: see docker context ls, kubectl config get-contexts"
)

// noShell is the advice where an image has no shell.
const noShell = "the image has no /bin/sh: mount golaunch into the container, and name its path there with --agent-path"

// interpret finds the meaning of a command's last words.
func interpret(words string) saying {
	words = strings.ToLower(words)
	for _, s := range sayings {
		if strings.Contains(words, s.words) {
			return s
		}
	}
	return saying{}
}

// maxAwaited bounds the bytes of a command's own words that are repeated while it is
// tried again.
const maxAwaited = 200

// judge says of a command that failed whether it is worth another try, and why it is
// made. An engine's status tells that it could not execute the command.
func judge(e *bootstrap.Error, program string, status int, words string) {
	s := interpret(words)
	if s.hint != "" {
		e.Hint = s.hint
	}
	engine := slices.Contains(engines, path.Base(program))
	e.Permanent = s.final || s.means == "" && engine && (status == cannotExecute || status == notFound)
	if e.Awaited = s.means; e.Awaited == "" && !e.Permanent {
		last := words[strings.LastIndexByte(words, '\n')+1:]
		e.Awaited = path.Base(program) + " failed"
		if last != "" {
			e.Awaited = strings.ToValidUTF8(last[:min(len(last), maxAwaited)], "")
		}
	}
}

// The statuses of engines, as of shells.
const (
	cannotExecute = 126
	notFound      = 127
)
