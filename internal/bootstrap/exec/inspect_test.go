package execboot_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	execboot "github.com/golaunch/golaunch/internal/bootstrap/exec"
)

// An engine is asked by its own command, with the flags that say which engine, and its
// answer told; of a container that runs on nothing is.
func TestAnEngineTellsWhatBecameOfAContainer(t *testing.T) {
	const (
		docker  = "ENGINE -H tcp://e exec -i --user root {host} {command}"
		kubectl = "env A=b ENGINE exec -n ns -i {host} -c b -- {command}"
		inspect = "-H tcp://e inspect --type container --format {{json .State}} here"
		get     = "get pod here --output json -n ns"
		later   = "2999-01-01T00:00:00Z"
		before  = "2001-01-01T00:00:00Z"
	)
	pod := func(state, last string) string {
		return fmt.Sprintf(`{"status":{"phase":"Running","containerStatuses":[{"name":"a","state":{"running":{"startedAt":%q}}},{"name":"b","state":%s,"lastState":%s}]}}`,
			later, state, last)
	}
	killed := `{"terminated":{"exitCode":137,"reason":"OOMKilled"}}`
	for _, x := range []struct{ engine, template, asked, answer, want string }{
		{engine: "docker", template: docker, asked: inspect, answer: `{"Status":"running","Running":true,"StartedAt":"` + before + `"}`},
		{engine: "docker", template: docker, asked: inspect, answer: `{"Status":"running","Running":true,"StartedAt":"` + later + `"}`, want: "the container was restarted"},
		{engine: "docker", template: docker, asked: inspect, answer: `{"Status":"paused","Running":true,"Paused":true}`, want: "the container is paused"},
		{engine: "podman", template: docker, asked: inspect, answer: `{"Status":"exited","ExitCode":137,"OOMKilled":true}`, want: "the container has exited with code 137, OOM-killed"},
		{engine: "nerdctl", template: docker, asked: inspect, answer: `{"Status":"exited","ExitCode":1,"Error":"no\nroom"}`, want: "the container has exited with code 1: no room"},
		{engine: "docker", template: docker, asked: inspect, answer: `{"Status":"restarting","Running":true,"Restarting":true,"ExitCode":3}`, want: "the container is restarting, after it exited with code 3"},
		{engine: "docker", template: docker, asked: inspect, answer: `{"Status":"removing"}`, want: "the container is removing"},
		{engine: "docker", template: docker, asked: inspect, answer: "Error: No such container: here", want: "there is no such container any more"},
		{engine: "docker", template: docker, asked: inspect, answer: "nonsense"},
		{engine: "kubectl", template: kubectl, asked: get, answer: pod(`{"running":{"startedAt":"`+before+`"}}`, "{}")},
		{engine: "kubectl", template: kubectl, asked: get, answer: pod(killed, "{}"), want: "the container has terminated: code 137, OOMKilled"},
		{engine: "kubectl", template: kubectl, asked: get, answer: pod(`{"running":{"startedAt":"`+later+`"}}`, killed), want: "the container was restarted, after it had terminated: code 137, OOMKilled"},
		{engine: "kubectl", template: kubectl, asked: get, answer: pod(`{"waiting":{"reason":"CrashLoopBackOff"}}`, killed), want: "the container waits: CrashLoopBackOff, after it had terminated: code 137, OOMKilled"},
		{engine: "oc", template: kubectl, asked: get, answer: `{"status":{"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."}}`, want: "the pod is Failed, Evicted: The node was low on resource: memory."},
		{engine: "kubectl", template: kubectl, asked: get, answer: `{"metadata":{"deletionTimestamp":"` + before + `"},"status":{}}`, want: "the pod is being deleted"},
		{engine: "kubectl", template: kubectl, asked: get, answer: `Error from server (NotFound): pods "here" not found`, want: "there is no such pod any more"},
		{engine: "engine.sh", template: docker},
		{engine: "docker", template: "ENGINE exec -i c {command}"},
	} {
		t.Run(x.engine+" "+x.want, func(t *testing.T) {
			dir := t.TempDir()
			engine := filepath.Join(dir, x.engine)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "answer"), []byte(x.answer), 0o600))
			// The words of the question are its only ones without "exec".
			require.NoError(t, os.WriteFile(engine, fmt.Appendf(nil, `#!/bin/sh
case " $* " in *" exec "*) echo up; exit 137;; esac
printf %%s "$*" >%[1]s/asked
case $(cat %[1]s/answer) in Error*) cat %[1]s/answer >&2; exit 1;; esac
cat %[1]s/answer
`, dir), 0o755))
			p, err := newPiper(t, strings.Replace(x.template, "ENGINE", engine, 1), execboot.Config{}).Start(t.Context(), here, []string{"agent"})
			require.NoError(t, err)
			defer p.Close()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			want := x.want
			if want != "" {
				want = x.engine + " says: " + want
			}
			require.Equal(t, want, p.(bootstrap.Inspector).Inspect(ctx))
			asked, _ := os.ReadFile(filepath.Join(dir, "asked")) // none where nobody was
			require.Equal(t, x.asked, string(asked))
		})
	}
}
