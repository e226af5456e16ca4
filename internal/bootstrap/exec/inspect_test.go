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
		{"docker", docker, inspect, `{"Status":"running","Running":true,"StartedAt":"` + before + `"}`, ""},
		{"docker", docker, inspect, `{"Status":"running","Running":true,"StartedAt":"` + later + `"}`, "the container was restarted"},
		{"docker", docker, inspect, `{"Status":"paused","Running":true,"Paused":true}`, "the container is paused"},
		{"podman", docker, inspect, `{"Status":"exited","ExitCode":137,"OOMKilled":true}`, "the container has exited with code 137, OOM-killed"},
		{"nerdctl", docker, inspect, `{"Status":"exited","ExitCode":1,"Error":"no\nroom"}`, "the container has exited with code 1: no room"},
		{"docker", docker, inspect, `{"Status":"restarting","Running":true,"Restarting":true,"ExitCode":3}`, "the container is restarting, after it exited with code 3"},
		{"docker", docker, inspect, `{"Status":"removing"}`, "the container is removing"},
		{"docker", docker, inspect, "Error: No such container: here", "there is no such container any more"},
		{"docker", docker, inspect, "nonsense", ""},
		{"kubectl", kubectl, get, pod(`{"running":{"startedAt":"`+before+`"}}`, "{}"), ""},
		{"kubectl", kubectl, get, pod(killed, "{}"), "the container has terminated: code 137, OOMKilled"},
		{"kubectl", kubectl, get, pod(`{"running":{"startedAt":"`+later+`"}}`, killed), "the container was restarted, after it had terminated: code 137, OOMKilled"},
		{"kubectl", kubectl, get, pod(`{"waiting":{"reason":"CrashLoopBackOff"}}`, killed), "the container waits: CrashLoopBackOff, after it had terminated: code 137, OOMKilled"},
		{"oc", kubectl, get, `{"status":{"phase":"Failed","reason":"Evicted","message":"The node was low on resource: memory."}}`, "the pod is Failed, Evicted: The node was low on resource: memory."},
		{"kubectl", kubectl, get, `{"metadata":{"deletionTimestamp":"` + before + `"},"status":{}}`, "the pod is being deleted"},
		{"kubectl", kubectl, get, `Error from server (NotFound): pods "here" not found`, "there is no such pod any more"},
		{"engine.sh", docker, "", "", ""},
		{"docker", "ENGINE exec -i c {command}", "", "", ""},
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
