package registry

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/job"
)

// Every bootstrap can be opened and joined, has a name of its own, and flags of
// its own whose choices can be listed.
func TestTable(t *testing.T) {
	names, flags := map[string]bool{"auto": true}, map[string]bool{}
	for _, k := range All() {
		require.Regexp(t, `^[a-z]+$`, k.Name)
		require.False(t, names[k.Name], k.Name)
		names[k.Name] = true
		require.NotNil(t, k.Open, k.Name)
		require.Equal(t, k.Bulk, k.Join == nil, k.Name)
		found, ok := Find(k.Name)
		require.True(t, ok)
		require.Equal(t, k.Name, found.Name)
		for _, o := range k.Options {
			require.Regexp(t, `^[a-z]+-[a-z-]+$`, o.Name)
			require.False(t, flags[o.Name], o.Name)
			flags[o.Name] = true
			require.Regexp(t, "`[A-Z=]+`", o.Help, o.Name)
			require.NotEqual(t, 1, len(o.Choices), o.Name)
			owner, option, ok := Owner(o.Name)
			require.True(t, ok)
			require.Equal(t, []string{k.Name, o.Name}, []string{owner.Name, option.Name})
		}
	}
	for _, name := range []string{"", "none", "auto"} {
		_, ok := Find(name)
		require.False(t, ok, name)
	}
	_, _, ok := Owner("hosts")
	require.False(t, ok)
	require.True(t, Local().Here)
	require.Equal(t, bootstrap.Anywhere, Relays().Reach())
}

// The environment selects the bootstrap of other machines, where one has a
// variable that is set; else it is the first that needs none.
func TestTheEnvironmentSelects(t *testing.T) {
	kinds := []bootstrap.Kind{
		{Name: "here", Here: true}, {Name: "slow", Variables: []string{"SLOW_JOB", "SLOW_TASK"}},
		{Name: "usual"}, {Name: "other", Variables: []string{"OTHER"}},
	}
	for want, environ := range map[string][]string{
		"usual": {"SLOW_JOB=", "SLOW_JOB_NAME=x", "SLOW", "A=SLOW_JOB=1"},
		"slow":  {"OTHER=1", "SLOW_TASK=1"},
		"other": {"A=b", "OTHER=1"},
	} {
		require.Equal(t, want, remote(kinds, environ).Name, environ)
		for _, k := range kinds {
			require.Equal(t, k.Name == want, chosen(kinds, k, "", environ), k.Name)
			require.Equal(t, k.Name == "here", chosen(kinds, k, "here", environ), k.Name)
		}
	}
	require.Equal(t, "usual", remote(kinds, nil).Name)
}

// Hydra's variables select the bootstrap that they name, if it is one here; hosts of an
// allocation come after them.
func TestHydrasVariablesAndAllocationsSelect(t *testing.T) {
	hosts := []job.Host{{Name: "a"}}
	kinds := []bootstrap.Kind{
		{Name: "usual"}, {Name: "fork", Here: true}, {Name: "sge"}, {Name: "set", Variables: []string{"SET"}},
		{Name: "manager", Serves: func(getenv func(string) string, h []job.Host) (bool, string) {
			require.Equal(t, hosts, h)
			return getenv("JOB") == "1", getenv("JOB")
		}},
	}
	for want, environs := range map[string][][]string{
		"usual":   {nil, {"HYDRA_LAUNCHER=rsh"}, {"HYDRA_LAUNCHER=fork"}, {"JOB=1", "HYDRA_LAUNCHER=usual"}},
		"sge":     {{"HYDRA_LAUNCHER=sge"}, {"I_MPI_HYDRA_BOOTSTRAP=sge", "JOB=1"}, {"HYDRA_LAUNCHER=sge", "I_MPI_HYDRA_BOOTSTRAP=usual"}},
		"set":     {{"SET=1", "HYDRA_LAUNCHER=sge", "JOB=1"}},
		"manager": {{"JOB=1"}, {"JOB=1", "HYDRA_LAUNCHER=rsh"}},
	} {
		for _, environ := range environs {
			k, why := forHosts(kinds, environ, hosts)
			require.Equal(t, want, k.Name, environ)
			require.Empty(t, why)
		}
	}
	k, why := forHosts(kinds, []string{"JOB=has a hitch"}, hosts)
	require.Equal(t, "usual", k.Name)
	require.Equal(t, "has a hitch", why)
}
