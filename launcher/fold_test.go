package launcher

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// A thousand hosts of which the same is to be said are one line.
func TestDeadHostsAreFolded(t *testing.T) {
	name := func(h job.HostIndex) string { return fmt.Sprintf("x%04d", h+1) }
	var dead []overlay.DeadHost
	for i := range 1000 {
		h := job.HostIndex(i)
		dead = append(dead, overlay.DeadHost{Index: h, Phase: "resolve", Cause: "name " + name(h) + ": no such host", Hint: "try: ssh -v root@" + name(h) + " true"})
	}
	dead[7].Cause = "name x00080: no such host" // another name
	dead[8].Cause = "10.88.1.9:22: connection refused"
	dead[9].Cause = "10.88.1.10:22: connection refused"
	dead[10].Cause, dead[11].Cause = "[fe80::1%eth0]:22: connection refused", "[fe80::2]:22: connection refused"
	var lines []string
	for _, g := range foldDead(dead, name) {
		lines = append(lines, fmt.Sprintf("%s: %s (%s)", hostsText(g.hosts, name), g.Cause, g.Hint))
	}
	require.Equal(t, []string{
		"hosts x[0001-0007,0013-1000]: name x0001: no such host; the others alike (try: ssh -v root@x0001 true)",
		"host x0008: name x00080: no such host (try: ssh -v root@x0008 true)",
		"hosts x[0009-0012]: 10.88.1.9:22: connection refused; the others alike (try: ssh -v root@x0009 true)",
	}, lines)
}

// A host's name and addresses become general words in texts about it, as whole words
// only.
func TestWhatIsOfOneHost(t *testing.T) {
	for s, want := range map[string]string{
		"":                              "",
		"n1":                            "{host}",
		"n1 n1, n1.":                    "{host} {host}, {host}.",
		"root@n1:22 (n1)":               "root@{host}:22 ({host})",
		"n1.cluster":                    "{host}.cluster",
		"n10, n1-ib, xn1, a.n1, a-n1":   "n10, n1-ib, xn1, a.n1, a-n1",
		"n1_":                           "n1_",
		"dial tcp 10.0.0.1:22: refused": "dial tcp {address}:22: refused",
		"it is 10.0.0.1.":               "it is {address}.",
		"from 10.0.0.1, to 10.0.0.2":    "from {address}, to {address}",
		"version 1.2.3, 1.2.3.4.5, 999.0.0.1, v10.0.0.1": "version 1.2.3, 1.2.3.4.5, 999.0.0.1, v10.0.0.1",
		"[fe80::1%eth0]:22, [::1]":                       "{address}:22, {address}",
		"[n1] [sudo] [":                                  "[{host}] [sudo] [",
		"größe n1 ü":                                     "größe {host} ü",
	} {
		require.Equal(t, want, general(s, "n1"), s)
	}
}

func TestManyNamesThatDoNotFold(t *testing.T) {
	text := hostsText(make([]job.HostIndex, 3), func(job.HostIndex) string { return "n1" })
	require.Equal(t, "host n1", text)
	all := make([]job.HostIndex, 10000)
	for i := range all {
		all[i] = job.HostIndex(i)
	}
	text = hostsText(all, func(h job.HostIndex) string { return strings.Repeat("a", int(h%7)+1) + fmt.Sprint(h) })
	require.LessOrEqual(t, len(text), maxHostsText+len("hosts ..."))
	require.True(t, strings.HasSuffix(text, ",..."), text)
}

// Notes of several hosts in the same words are told once, and with --quiet only those
// that must be seen.
func TestNotesAreToldOnce(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		var said strings.Builder
		r, _ := launchedRun(t)
		plan, err := NewPlan(options(t, "n[1-2]", 2), "here")
		require.NoError(t, err)
		r.plan = plan
		r.report = &reporter{w: &said, quiet: quiet}
		for i := range 4 {
			h := job.HostIndex(i % 2)
			r.Noted(overlay.Note{Host: h, Text: "working directory /w: no such file or directory; ranks run in / instead"})
			r.Noted(overlay.Note{Level: overlay.NoteAlways, Host: h, Text: "still running: pid 8"})
			r.Noted(overlay.Note{Level: 1, Host: h, Text: "only with -v"})
		}
		require.Empty(t, said.String())
		r.notes.tell()
		want := "golaunch: hosts n[1-2]: working directory /w: no such file or directory; ranks run in / instead\n"
		if quiet {
			want = ""
		}
		require.Equal(t, want+"golaunch: hosts n[1-2]: still running: pid 8\n", said.String())
		said.Reset()
		r.notes.tell()
		require.Empty(t, said.String())
	}
}

// Lines of -v about hosts are folded as well; those of -vv show at once.
func TestLinesOfVerbosityAreFolded(t *testing.T) {
	var said strings.Builder
	r, _ := launchedRun(t)
	plan, err := NewPlan(options(t, "n[1-3]", 3), "here")
	require.NoError(t, err)
	r.plan, r.options.Start.Verbose = plan, 2
	r.report = &reporter{w: &said}
	for h := range job.HostIndex(3) {
		r.Noted(overlay.Note{Level: 1, Host: h, Text: "printed at login: Welcome"})
		r.Noted(overlay.Note{Level: 1, Host: h, Text: "app uses MPICH"})
		r.Noted(overlay.Note{Level: 2, Host: h, Text: "is up"})
		r.Noted(overlay.Note{Level: 3, Host: h, Text: "not asked for"})
	}
	require.Equal(t, "golaunch: host n1: is up\ngolaunch: host n2: is up\ngolaunch: host n3: is up\n", said.String())
	said.Reset()
	r.notes.tell()
	require.Equal(t, "golaunch: hosts n[1-3]: printed at login: Welcome\ngolaunch: hosts n[1-3]: app uses MPICH\n", said.String())
}
