package execboot_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/bootstrap"
	execboot "github.com/golaunch/golaunch/internal/bootstrap/exec"
)

var host = bootstrap.Host{Name: "n 1", Addr: "10.0.0.1", User: "joe", Port: 2222}

func TestExpand(t *testing.T) {
	for _, c := range []struct {
		template string
		want     []string
	}{
		{"docker exec -i {host} {command}", []string{"docker", "exec", "-i", "n 1", "a", "b c"}},
		{"  engine\texec \n{command} ", []string{"engine", "exec", "a", "b c"}},
		{"docker -H x exec -di {host} {command}", []string{"docker", "-H", "x", "exec", "-di", "n 1", "a", "b c"}},
		{"kubectl exec {host} --stdin -c main -- {command}", []string{"kubectl", "exec", "n 1", "--stdin", "-c", "main", "--", "a", "b c"}},
		{"x --on={host}.local -l {user} -p{port} [{addr}] {command}", []string{"x", "--on=n 1.local", "-l", "joe", "-p2222", "[10.0.0.1]", "a", "b c"}},
		{"{command}", []string{"a", "b c"}},
		{"sh -c '{command}'", []string{"sh", "-c", "a 'b c'"}},
		{`sh -c "{command}"`, []string{"sh", "-c", "a 'b c'"}},
		{"sh -c 'exec {command}'", []string{"sh", "-c", "exec a 'b c'"}},
		{"run --cmd={command}", []string{"run", "--cmd=a 'b c'"}},
		{"ssh {host} {command}", []string{"ssh", "n 1", "a 'b c'"}},
		{"/usr/bin/ssh -F 'my config' {host} {command}", []string{"/usr/bin/ssh", "-F", "my config", "n 1", "a 'b c'"}},
		{"sshpass {command}", []string{"sshpass", "a", "b c"}},
		{`a'b'"c"\d '' "" {command}`, []string{"abcd", "", "", "a", "b c"}},
		{`x \{host\} \\ \' \" "\{command}" '\' "\n\"\\\$" {command}`, []string{"x", "{host}", `\`, "'", `"`, "{command}", `\`, `\n"\$`, "a", "b c"}},
		{"x {} {Host} {a b} {{host}} } '{' '|;$' * ~ # {command}", []string{"x", "{}", "{Host}", "{a", "b}", "{n 1}", "}", "{", "|;$", "*", "~", "#", "a", "b c"}},
		{"é '☃' {command}", []string{"é", "☃", "a", "b c"}},
	} {
		template, err := execboot.Parse(c.template)
		require.NoError(t, err, c.template)
		got, err := template.Expand(host, []string{"a", "b c"})
		require.NoError(t, err, c.template)
		require.Equal(t, c.want, got, c.template)
	}
}

func TestBadTemplates(t *testing.T) {
	for template, want := range map[string]string{
		"":                                      "it is empty; give a command such as 'docker exec -i {host} {command}'",
		" \t":                                   "it is empty; give a command such as 'docker exec -i {host} {command}'",
		"docker exec -i {host}":                 "there is no {command} in it, which stands for what to run on the host",
		"x {command} {command}":                 "{command} can be in it once only",
		"'' {command}":                          "its first word, the program, is empty",
		"x 'a {command}":                        "the quote that begins at 'a {command} is not closed",
		`x "a long word goes on \"`:             `the quote that begins at "a long word goes on... is not closed`,
		`x {command} \`:                         "it ends with a backslash, which stands for nothing",
		"docker exec {host} {command}":          "docker exec without -i gives the agent no input; write docker exec -i",
		"docker exec -it {host} {command}":      "-it would make a terminal of what is the link to the agent; leave it out, and keep -i",
		"kubectl exec -i {host} {command}":      "write -- before {command}, or kubectl takes the command's flags for its own",
		"/bin/kubectl exec {host} -- {command}": "kubectl exec without -i gives the agent no input; write kubectl exec -i",
		"srun -w {host} -n1 {command} -u":       "srun holds back what the agent says until a line ends, and a link has no lines; write srun --unbuffered",
		"x {hosts} {command}":                   "{hosts} is no placeholder; {host}, {command}, {user}, {port} and {addr} are",
		"x '{name}' {command}":                  "{name} is no placeholder; {host}, {command}, {user}, {port} and {addr} are",
		"x {command} | tee log":                 `no shell reads it, so '|' has no meaning; put it in quotes, or all of it into a script or sh -c '...'`,
		"$HOME/x {command}":                     `no shell reads it, so '$' has no meaning; put it in quotes, or all of it into a script or sh -c '...'`,
	} {
		_, err := execboot.Parse(template)
		require.EqualError(t, err, want, template)
	}
	template, err := execboot.Parse("x {user}@{host}:{port} {command}")
	require.NoError(t, err)
	require.NoError(t, template.Check("joe", 22))
	require.EqualError(t, template.Check("", 22), "{user} is in it, but the host is given without a user")
	require.EqualError(t, template.Check("joe", 0), "{port} is in it, but the host is given without a port")
	template, err = execboot.Parse("x {host} {command}")
	require.NoError(t, err)
	require.NoError(t, template.Check("", 0))
	require.EqualError(t, template.Check("joe", 0), "{user} is not in it, but the host is given with user joe")
	require.EqualError(t, template.Check("", 22), "{port} is not in it, but the host is given with port 22")
	for _, c := range []struct {
		template string
		host     bootstrap.Host
		argv     []string
		want     string
	}{
		{template: "x {command}", host: host, want: "no command given"},
		{template: "x {command}", host: host, argv: []string{""}, want: "no command given"},
		{template: "{command}", host: host, argv: []string{"a", "b\x00"}, want: "word 1 of the command has a zero byte"},
		{template: "sh -c '{command}'", host: host, argv: []string{"a", "b\x00"}, want: "word 1 of the command has a zero byte"},
		{template: "x {user} {command}", host: bootstrap.Host{Name: "a"}, argv: []string{"a"}, want: "nothing is known for {user}"},
		{template: "x {host} {command}", host: bootstrap.Host{Name: "-a"}, argv: []string{"a"}, want: `{host} is "-a", which would be taken for an option`},
	} {
		template, err := execboot.Parse(c.template)
		require.NoError(t, err)
		_, err = template.Expand(c.host, c.argv)
		require.EqualError(t, err, c.want)
	}
}

// Words quoted for a shell are split as the shell splits them.
func TestSplitsAsTheShell(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var text strings.Builder
		for range rapid.IntRange(1, 6).Draw(t, "words") {
			text.WriteString(rapid.SampledFrom([]string{"a", "'a b'", `"a b"`, `\'`, `"\""`, `'\'`, `"\a"`, `x\ y`, "''", "=", "'$x|'"}).Draw(t, "part"))
			text.WriteString(rapid.SampledFrom([]string{"", " ", "\t "}).Draw(t, "space"))
		}
		template, err := execboot.Parse("printf '%s;' " + text.String() + " {command}")
		require.NoError(t, err)
		words, err := template.Expand(host, []string{"end"})
		require.NoError(t, err)
		got, err := exec.Command(words[0], words[1:]...).Output()
		require.NoError(t, err)
		want, err := exec.Command("/bin/sh", "-c", "printf '%s;' "+text.String()+" end").Output()
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), text.String())
	})
}

// Whatever a template is, it is refused, or it runs the command it was given.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"docker exec -i {host} {command}", `ssh -F "a b" {host} '{command}'`, `x \{host} "\"{addr}" {command}`, "{command", "'", `\`, "{}{command}{",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		template, err := execboot.Parse(text)
		if err != nil {
			return
		}
		require.True(t, template.Uses("command"))
		words, err := template.Expand(host, []string{"unlikely-word"})
		if err != nil {
			require.True(t, strings.Contains(text, "\x00"), err)
			return
		}
		require.NotEmpty(t, words[0])
		require.Equal(t, 1, strings.Count(strings.Join(words, " "), "unlikely-word"))
	})
}
