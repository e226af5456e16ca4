package execboot

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

const (
	// settles bounds the time that an engine takes to note the end of a container whose
	// command has: it is asked again then.
	settles = 300 * time.Millisecond
	// maxState bounds the bytes that are read of an engine's answer, and maxStateText
	// those that are told.
	maxState     = 1 << 20
	maxStateText = 300
)

// inspection is a command that asks an engine for the state of a container.
type inspection struct {
	engine string
	words  []string
	// read gives the reason for which it does not run as it did at a time; "" where it
	// does.
	read func(answer []byte, begun time.Time) string
}

// inspection is that of the container which the template enters for a host; nil where no
// engine is known to.
func (t *Template) inspection(h bootstrap.Host) *inspection {
	words, err := t.Expand(h, []string{"true"}) // one word for each of the template
	if err != nil || slices.Contains(joiners, path.Base(words[0])) {
		return nil
	}
	at := slices.Index(words, "exec")
	name := slices.IndexFunc(t.words, func(w templateWord) bool {
		return slices.ContainsFunc(w.pieces, func(p piece) bool { return p.ph == phHost })
	})
	if at < 1 || name < at {
		return nil
	}
	i := inspection{engine: path.Base(words[at-1]), words: slices.Clone(words[:at])}
	for k := at - 1; k > 0 && !slices.Contains(engines, i.engine); k-- { // behind it are options, before it what runs it
		i.engine = path.Base(words[k-1])
	}
	switch i.engine {
	case "docker", "podman", "nerdctl":
		i.words = append(i.words, "inspect", "--type", "container", "--format", "{{json .State}}", words[name])
		i.read = readContainer
	case "kubectl", "oc":
		i.words = append(i.words, "get", "pod", words[name], "--output", "json")
		container := ""
		for k := at + 1; k < len(words) && words[k] != "--"; k++ {
			flag, value, joined := strings.Cut(words[k], "=")
			if !joined && k+1 < len(words) {
				value = words[k+1]
			}
			switch flag {
			case "-c", "--container":
				container = value
			case "-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s", "--server":
				i.words = append(i.words, flag, value)
			}
		}
		i.read = func(answer []byte, begun time.Time) string { return readPod(answer, container, begun) }
	default:
		return nil
	}
	return &i
}

// Inspect implements bootstrap.Inspector.
func (p *pipe) Inspect(ctx context.Context) string {
	if p.inspect == nil {
		return ""
	}
	text := p.inspect.ask(ctx, p.begun)
	if text == "" {
		again := time.NewTimer(settles)
		defer again.Stop()
		select {
		case <-again.C:
			text = p.inspect.ask(ctx, p.begun)
		case <-ctx.Done():
		}
	}
	if text == "" {
		return ""
	}
	return p.inspect.engine + " says: " + text
}

// ask asks once.
func (i *inspection) ask(ctx context.Context, begun time.Time) string {
	cmd := exec.CommandContext(ctx, i.words[0], i.words[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = closeWait
	var answer, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &bounded{&answer, maxState}, &bounded{&said, maxState}
	err := cmd.Run()
	text := ""
	switch words := strings.ToLower(said.String()); {
	case err == nil:
		text = i.read(answer.Bytes(), begun)
	case strings.Contains(words, "no such container"):
		text = "there is no such container any more"
	case strings.Contains(words, `(notfound): pods "`):
		text = "there is no such pod any more"
	}
	text = strings.Join(strings.Fields(text), " ") // one line
	return strings.ToValidUTF8(text[:min(len(text), maxStateText)], "")
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	w    io.Writer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	if _, err := b.w.Write(p[:n]); err != nil {
		return 0, err
	}
	return len(p), nil
}

// readContainer reads the State of docker inspect, as podman and nerdctl have it too.
func readContainer(answer []byte, begun time.Time) string {
	var s struct {
		Status                                       string
		Running, Paused, Restarting, OOMKilled, Dead bool
		ExitCode                                     int
		Error                                        string
		StartedAt                                    time.Time
	}
	if json.Unmarshal(answer, &s) != nil {
		return ""
	}
	var text string
	switch {
	case s.Restarting:
		text = fmt.Sprintf("the container is restarting, after it exited with code %d", s.ExitCode)
	case s.Paused:
		return "the container is paused"
	case s.Running && s.StartedAt.After(begun):
		return "the container was restarted"
	case s.Running:
		return ""
	case s.Status == "exited":
		text = fmt.Sprintf("the container has exited with code %d", s.ExitCode)
	default:
		text = "the container is " + cmp.Or(s.Status, "dead")
	}
	if s.OOMKilled {
		text += ", OOM-killed"
	}
	if s.Error != "" {
		text += ": " + s.Error
	}
	return text
}

// containerState is the state of a pod's container in the words of Kubernetes.
type containerState struct {
	Running    *struct{ StartedAt time.Time }
	Waiting    *struct{ Reason, Message string }
	Terminated *struct {
		Reason, Message string
		ExitCode        int
	}
}

// describeEnd describes its end, "" before it.
func (s *containerState) describeEnd() string {
	if s.Terminated == nil {
		return ""
	}
	return strings.TrimSuffix(fmt.Sprintf("code %d, %s", s.Terminated.ExitCode, s.Terminated.Reason), ", ")
}

// readPod reads the pod that kubectl get shows; container is "" for its first.
func readPod(answer []byte, container string, begun time.Time) string {
	var pod struct {
		Metadata struct{ DeletionTimestamp *time.Time }
		Status   struct {
			Phase, Reason, Message string
			ContainerStatuses      []struct {
				Name             string
				State, LastState containerState
			}
		}
	}
	if json.Unmarshal(answer, &pod) != nil {
		return ""
	}
	text := ""
	for i, c := range pod.Status.ContainerStatuses {
		if c.Name != container && (container != "" || i > 0) {
			continue
		}
		switch ended := c.State.describeEnd(); {
		case ended != "":
			text = "the container has terminated: " + ended
		case c.State.Waiting != nil:
			text = "the container waits: " + c.State.Waiting.Reason
		case c.State.Running != nil && c.State.Running.StartedAt.After(begun):
			text = "the container was restarted"
		}
		if last := c.LastState.describeEnd(); last != "" && text != "" && c.State.Terminated == nil {
			text += ", after it had terminated: " + last
		}
	}
	switch {
	case pod.Status.Reason != "": // as Evicted, NodeLost
		text = strings.TrimSuffix("the pod is "+pod.Status.Phase+", "+pod.Status.Reason+": "+pod.Status.Message, ": ")
	case pod.Metadata.DeletionTimestamp != nil:
		text = strings.TrimSuffix("the pod is being deleted; "+text, "; ")
	}
	return text
}
