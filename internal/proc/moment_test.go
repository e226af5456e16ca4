package proc

import (
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestMomentOf(t *testing.T) {
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	// 1 is a rank, 2 and 3 are below it, 4 below 3.
	at := func(p process, used int) process { p.used = ms(used); return p }
	sh, app := process{pid: 1, name: "sh", state: 'S'}, process{pid: 3, name: "app", state: 'S'}
	spins, helper := process{pid: 3, name: "app", state: 'R'}, process{pid: 4, name: "helper", state: 'S'}
	channels := map[int]string{1: "do_wait", 2: "do_wait", 3: "ep_poll", 4: "futex_wait_queue"}
	for name, x := range map[string]struct {
		first, last []process
		hidden      bool // no kernel function can be seen
		want        Moment
	}{
		"alone, idle":              {[]process{at(app, 50)}, []process{at(app, 50)}, false, Moment{Name: "app", Before: 'S', State: 'S', Channel: "ep_poll"}},
		"below a shell that waits": {[]process{sh, app, helper}, []process{sh, app, helper}, false, Moment{Name: "app", Before: 'S', State: 'S', Channel: "ep_poll"}},
		"the same, and nothing shows": {[]process{sh, app, helper}, []process{sh, app, helper}, true,
			Moment{Name: "helper", Before: 'S', State: 'S'}},
		"the busiest": {[]process{at(sh, 9), at(spins, 10), at(helper, 10)}, []process{at(sh, 19), at(spins, 210), at(helper, 20)}, false,
			Moment{Used: ms(220), Name: "app", Before: 'R', State: 'R'}},
		"a stopped shell": {[]process{{pid: 1, name: "sh", state: 'T'}, app}, []process{{pid: 1, name: "sh", state: 'T'}, app}, false,
			Moment{Own: true, Name: "sh", Before: 'T', State: 'T', Channel: "do_wait"}},
		"one that has come":  {[]process{sh}, []process{sh, at(spins, 100)}, false, Moment{Own: true, Name: "sh", Before: 'S', State: 'S', Channel: "do_wait"}},
		"one that has ended": {[]process{sh, app}, []process{sh}, false, Moment{Own: true, Name: "sh", Before: 'S', State: 'S', Channel: "do_wait"}},
		"one that is dead":   {[]process{sh, app}, []process{sh, {pid: 3, dead: true, state: 'Z'}}, false, Moment{Own: true, Name: "sh", Before: 'S', State: 'S', Channel: "do_wait"}},
		"a number used anew": {[]process{sh, at(app, 500)}, []process{sh, at(app, 10)}, false, Moment{Own: true, Name: "sh", Before: 'S', State: 'S', Channel: "do_wait"}},
		"none is left":       {[]process{sh}, nil, false, Moment{}},
	} {
		byPID := func(list []process) map[int]process {
			m := map[int]process{}
			for _, p := range list {
				m[p.pid] = p
			}
			return m
		}
		got, lives := momentOf(family{1, 2, 3, 4}, byPID(x.first), byPID(x.last), func(pid int) string {
			if x.hidden {
				return ""
			}
			return channels[pid]
		})
		assert.Equal(t, x.want, got, name)
		assert.Equal(t, x.want.Name != "", lives, name)
	}
}

// A ring of parents does not make the search endless.
func TestFamiliesOf(t *testing.T) {
	all := []process{{pid: 1}, {pid: 2, parent: 1}, {pid: 3, parent: 1}, {pid: 4, parent: 3}, {pid: 5, parent: 6}, {pid: 6, parent: 5}}
	got := familiesOf(all, []int{1, 4, 5, 9})
	assert.Equal(t, family{1, 2, 3, 4}, got[1])
	assert.Equal(t, family{4}, got[4])
	assert.Equal(t, family{9}, got[9])
	assert.LessOrEqual(t, len(got[5]), len(all)+1)
}

// Of real processes: a shell that runs a sleeper, one that computes, and one that is over.
func TestMoments(t *testing.T) {
	var pids []int
	for _, script := range []string{"sleep 1000; true", "echo; while :; do :; done", "exit"} {
		cmd := exec.Command("sh", "-c", script)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		pid := cmd.Process.Pid
		t.Cleanup(func() {
			all, err := processes()
			require.NoError(t, err)
			for _, p := range familiesOf(all, []int{pid})[pid] {
				_ = exec.Command("kill", "-9", strconv.Itoa(p)).Run()
			}
			_ = cmd.Wait()
		})
		switch script {
		case "exit":
			_, _ = out.Read(make([]byte, 1))
			_ = cmd.Wait()
		case "sleep 1000; true":
			require.Eventually(t, func() bool {
				all, err := processes()
				require.NoError(t, err)
				f := familiesOf(all, []int{pid})[pid]
				return len(f) == 2 && usage(map[int]family{0: f})[f[1]].name == "sleep"
			}, 30*time.Second, time.Millisecond)
		default:
			_, err := out.Read(make([]byte, 1))
			require.NoError(t, err)
		}
		pids = append(pids, pid)
	}
	// A machine that is busy may leave one without a processor for long.
	var moments map[int]Moment
	require.Eventually(t, func() (ran bool) {
		var err error
		moments, err = Moments(pids, 100*time.Millisecond)
		require.NoError(t, err)
		return moments[pids[1]].Used > 0
	}, 30*time.Second, time.Millisecond)
	assert.Len(t, moments, 2)
	assert.Equal(t, "sleep", moments[pids[0]].Name)
	assert.False(t, moments[pids[0]].Own)
	assert.Equal(t, byte('S'), moments[pids[0]].State)
	assert.True(t, moments[pids[1]].Own)
	assert.Equal(t, "sh", moments[pids[1]].Name)
	assert.Equal(t, byte('R'), moments[pids[1]].State)
	assert.GreaterOrEqual(t, moments[pids[1]].Took, 100*time.Millisecond)
}
