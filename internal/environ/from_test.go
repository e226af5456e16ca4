package environ

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// nodeOf returns a node with an environment and directories, of which those that end in /
// may be read alone.
func nodeOf(environ string, dirs ...string) Here {
	has := func(path string) bool { return slices.Contains(dirs, path) }
	return Here{
		Environ: strings.Fields(environ),
		Usable:  has,
		IsDir:   func(path string) bool { return has(path) || has(path+"/") },
		Exists:  func(path string) bool { return has(path) || has(path+"/") },
	}
}

func TestOf(t *testing.T) {
	login := "HOME=/home/joe USER=joe LOGNAME=joe SHELL=/bin/sh PATH=/usr/bin:/bin SSH_CONNECTION=node"
	for _, x := range []struct {
		name           string
		from           From
		launcher, want string
		here           Here
		note           string
	}{
		{name: "a shared home", from: Auto, launcher: "HOME=/home/joe USER=joe SHELL=/bin/zsh X=1", want: "HOME=/home/joe USER=joe SHELL=/bin/zsh X=1 PATH=/usr/bin:/bin SSH_CONNECTION=node", here: nodeOf(login, "/home/joe")},
		{name: "another home by the same name is a choice", from: Auto, launcher: "HOME=/scratch USER=joe PATH=/usr/bin", want: "HOME=/scratch USER=joe PATH=/usr/bin:/bin SSH_CONNECTION=node", here: nodeOf(login, "/scratch/")},
		{name: "no such home", from: Auto, launcher: "HOME=/Users/joe USER=joe LOGNAME=joe SHELL=/opt/zsh XDG_CACHE_HOME=/Users/joe/c MAIL=/m X=1 PATH=/opt/bin:/bin",
			want: "X=1 PATH=/opt/bin:/bin:/usr/bin HOME=/home/joe USER=joe LOGNAME=joe SHELL=/bin/sh SSH_CONNECTION=node", here: nodeOf(login, "/home/joe"), note: "there is no /Users/joe"},
		{name: "another user", from: Auto, launcher: "HOME=/root USER=root PATH=/bin", want: "PATH=/bin:/usr/bin HOME=/home/joe USER=joe LOGNAME=joe SHELL=/bin/sh SSH_CONNECTION=node", here: nodeOf(login, "/root", "/home/joe"), note: "the user is joe, not root"},
		{name: "a container that names no user", from: Auto, launcher: "HOME=/root USER=root HOSTNAME=laptop PATH=/bin", want: "HOME=/root USER=root PATH=/bin HOSTNAME=c1", here: nodeOf("HOME=/root PATH=/bin HOSTNAME=c1", "/root")},
		{name: "a home that is no path", from: Auto, launcher: "HOME=joe", want: "HOME=/home/joe USER=joe LOGNAME=joe SHELL=/bin/sh PATH=/usr/bin:/bin SSH_CONNECTION=node", here: nodeOf(login, "joe"), note: "there is no joe"},
		{name: "what only here is a directory", from: Auto, launcher: "TMPDIR=/job/7 XDG_RUNTIME_DIR=/run/user/7 SSH_AUTH_SOCK=/tmp/a SSH_TTY=/dev/pts/1 HOSTNAME=laptop", want: "TMPDIR=/var/tmp", here: nodeOf("TMPDIR=/var/tmp")},
		{name: "and there too", from: Auto, launcher: "TMPDIR=/scratch XDG_RUNTIME_DIR=/run/user/7 SSH_AUTH_SOCK=/tmp/a", want: "TMPDIR=/scratch SSH_AUTH_SOCK=/tmp/a XDG_RUNTIME_DIR=/run/user/8", here: nodeOf("TMPDIR=/var/tmp XDG_RUNTIME_DIR=/run/user/8", "/scratch", "/run/user/7/", "/tmp/a")},
		{name: "as it is", from: Launcher, launcher: "HOME=/Users/joe TMPDIR=/x", want: "HOME=/Users/joe TMPDIR=/x", here: nodeOf(login)},
		{name: "a login", from: Node, launcher: "HOME=/Users/joe X=1", want: login, here: nodeOf(login + " SLURM_PROCID=1 PMIX_RANK=2 _=/bin/sh SHLVL=1 OLDPWD=/dev/shm")},
	} {
		t.Run(x.name, func(t *testing.T) {
			env, note := x.from.Of(strings.Fields(x.launcher), x.here)
			require.ElementsMatch(t, strings.Fields(x.want), env)
			require.Equal(t, x.note, note)
		})
	}
}

// On the launcher's own machine nothing changes.
func TestHere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Concat(session, account, scratch, files, []string{"PATH", "X", "XDG_DATA_HOME"})), 0, 9, rapid.ID).Draw(t, "names")
		var mine []string
		for _, n := range names {
			mine = append(mine, n+"="+rapid.SampledFrom([]string{"", "/a", "/a:/b", "c"}).Draw(t, n))
		}
		dirs := rapid.SliceOf(rapid.SampledFrom([]string{"/a", "/a/"})).Draw(t, "dirs")
		env, _ := Auto.Of(slices.Clone(mine), nodeOf(strings.Join(mine, " "), dirs...))
		require.ElementsMatch(t, mine, env)
	})
}

// A container has its image's environment unless the user says otherwise, and of the
// launcher's nothing travels there that could be a secret.
func TestContainersHaveTheirImages(t *testing.T) {
	for from, want := range map[From]From{Auto: Node, Node: Node, Launcher: Launcher, "": ""} {
		require.Equal(t, want, from.In(true))
		require.Equal(t, from, from.In(false))
	}
	mine := []string{"AWS_SECRET_ACCESS_KEY=s", "HOME=/root", "HOMEDIR=/x"}
	require.Equal(t, []string{"HOME=/root"}, Node.Sent(mine))
	require.Equal(t, mine, Auto.Sent(mine))
	require.Equal(t, mine, From("").Sent(mine))
}

func TestFroms(t *testing.T) {
	for _, f := range Froms() {
		require.NotEmpty(t, f.Help())
	}
	require.Len(t, Froms(), 3)
}
