package sshboot

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

// All that the ssh of this machine takes for a keyword is in the table: the
// words in its executable are shown to it, one per line, and it names those
// that it does not know. Of the others it says that a quote is open.
func TestEveryKeywordOfSSHIsListed(t *testing.T) {
	path, err := exec.LookPath("ssh")
	require.NoError(t, err, "make setup installs OpenSSH")
	program := mustRead(t, path)
	var words []string
	for _, w := range regexp.MustCompile(`\x00[a-z][a-z0-9]{2,40}\x00`).FindAllString(strings.ReplaceAll(program, "\x00", "\x00\x00"), -1) {
		words = append(words, strings.Trim(w, "\x00"))
	}
	slices.Sort(words)
	words = slices.Compact(words)
	config := writeFile(t, t.TempDir(), "config", strings.Join(words, " \"\n")+" \"\n")
	out, _ := exec.Command(path, "-G", "-F", config, "n1").CombinedOutput() // fails, of course
	unknown := make(map[string]bool)
	for _, m := range regexp.MustCompile(`Bad configuration option: (\S+)`).FindAllStringSubmatch(string(out), -1) {
		unknown[m[1]] = true
	}
	require.NotEmpty(t, unknown)
	known := 0
	for _, w := range words {
		if !unknown[w] {
			known++
			assert.NotNil(t, byName()[w], "ssh knows a keyword %s that has no line in the table", w)
		}
	}
	require.Greater(t, known, 90)
}

// The table has all keywords that ssh -G prints by default.
func TestEveryKeywordThatSSHPrintsIsListed(t *testing.T) {
	out, err := exec.Command("ssh", "-G", "-F", "none", "n1").Output()
	require.NoError(t, err)
	for line := range strings.Lines(string(out)) {
		key, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		if key = strings.ToLower(key); key != "host" {
			assert.NotNil(t, byName()[key], "ssh prints a keyword %s that has no line in the table", key)
		}
	}
}

// Keywords stand in the table once, in order, with a reason unless they are
// simply honoured; and docs/hosts.md has the very table, those of one answer in a row.
func TestTableOfKeywords(t *testing.T) {
	var answers []string
	of := map[string][]string{}
	seen := make(map[string]bool)
	for i, k := range keywords {
		for _, name := range append([]string{strings.ToLower(k.name)}, k.alias...) {
			assert.False(t, seen[name], "%s is there twice", name)
			seen[name] = true
		}
		if i > 0 {
			assert.Less(t, strings.ToLower(keywords[i-1].name), strings.ToLower(k.name))
		}
		assert.True(t, k.why != "" || k.rule == honoured, "%s needs a reason", k.name)
		why := k.why
		if len(k.fine) > 0 {
			why = fmt.Sprintf("unless %s; %s", strings.Join(k.fine, ", "), why)
		}
		answer := fmt.Sprintf("%s | %s |\n", k.rule, why)
		if of[answer] == nil {
			answers = append(answers, answer)
		}
		of[answer] = append(of[answer], k.name)
	}
	var rows strings.Builder
	for _, answer := range answers {
		fmt.Fprintf(&rows, "| %s | %s", strings.Join(of[answer], ", "), answer)
	}
	page := mustRead(t, "../../../docs/hosts.md")
	assert.Contains(t, page, rows.String(), "the table in docs/hosts.md is not:\n%s", rows.String())
}

// Each refused keyword stops the start of a host that it applies to, and no
// other's, and says where it stands.
func TestRefusedKeywords(t *testing.T) {
	home := t.TempDir()
	for _, k := range keywords {
		if k.rule != refused {
			continue
		}
		name := strings.ToUpper(k.name)
		text := fmt.Sprintf("# x\nHost n1\n %s other\nHost n2\n", name)
		for _, fine := range k.fine {
			text += fmt.Sprintf("Host fine-%s\n %s %s\n", fine, name, strings.ToUpper(fine))
		}
		c := load(t, home, text)
		_, err := c.Target(job.Host{Name: "n1"})
		require.ErrorContains(t, err, fmt.Sprintf("host n1: %s/config:3: %s other: not supported: ", home, k.name))
		for _, fine := range append([]string{""}, k.fine...) {
			host := "n2"
			if fine != "" {
				host = "fine-" + fine
			}
			_, err := c.Target(job.Host{Name: host})
			require.NoError(t, err)
		}
	}
}

// A keyword that golaunch passes over though programs may count on it is told, once for
// all hosts of its line, and not where it asks for nothing.
func TestKeywordsThatAreTold(t *testing.T) {
	home := t.TempDir()
	c := load(t, home, "Host n3\n ForwardAgent no\nHost n*\n User ann\n forwardagent yes\nHost m\n ForwardAgent /run/agent\n")
	for _, name := range []string{"n3", "other"} {
		_, err := c.Target(job.Host{Name: name})
		require.NoError(t, err)
	}
	require.Empty(t, c.Warnings())
	for _, name := range []string{"n1", "n2", "m"} {
		_, err := c.Target(job.Host{Name: name})
		require.NoError(t, err)
	}
	const why = "passed over: ranks have no ssh-agent of yours: keys never travel, and golaunch signs nothing after the start (--ssh-option ForwardAgent=no ends this line)"
	require.Equal(t, []string{home + "/config:5: ForwardAgent yes: " + why, home + "/config:7: ForwardAgent /run/agent: " + why}, c.Warnings())
}

// Of ProxyCommand and ProxyJump the first counts, as in ssh.
func TestProxyCommandBeforeProxyJump(t *testing.T) {
	got, err := load(t, t.TempDir(), "ProxyCommand nc \"%h\" %p\nProxyJump gate").Target(job.Host{Name: "n1"})
	require.NoError(t, err)
	require.Empty(t, got.Jump)
	require.Equal(t, `nc "n1" 22`, got.Proxy)
	got, err = load(t, t.TempDir(), "ProxyJump gate\nProxyCommand nc %h %p").Target(job.Host{Name: "n1"})
	require.NoError(t, err)
	require.Len(t, got.Jump, 1)
	require.Empty(t, got.Proxy)
	got, err = load(t, t.TempDir(), "ProxyCommand none\nProxyJump gate").Target(job.Host{Name: "n1"})
	require.NoError(t, err)
	require.Empty(t, got.Jump)
}

func TestRevokedHostKeysFile(t *testing.T) {
	home := t.TempDir()
	key := newSigner(t, "ed25519").PublicKey()
	writeFile(t, home, "revoked", "# gone\n\n"+keyText(key)+" comment\n")
	got, err := load(t, home, "RevokedHostKeys %d/revoked\nStrictHostKeyChecking no").Target(job.Host{Name: "n1"})
	require.NoError(t, err)
	_, err = got.checkHostKey(key)
	require.ErrorContains(t, err, "is revoked")

	for name, text := range map[string]string{"krl": "SSHKRL\n\x00\x00\x00\x00\x01", "other": "not a key\n"} {
		path := writeFile(t, home, name, text)
		_, err = load(t, home, "RevokedHostKeys "+path).Target(job.Host{Name: "n1"})
		require.ErrorContains(t, err, filepath.Join(home, "config")+":1: RevokedHostKeys "+path)
	}
	krl := filepath.Join(home, "real.krl")
	require.NoError(t, exec.Command("ssh-keygen", "-q", "-k", "-f", krl, filepath.Join(home, "revoked")).Run())
	_, err = load(t, home, "RevokedHostKeys "+krl).Target(job.Host{Name: "n1"})
	require.ErrorContains(t, err, "it is a KRL")
}

// One command of Match exec runs once for all hosts, and its failure is told.
func TestMatchExec(t *testing.T) {
	home := t.TempDir()
	c := load(t, home, fmt.Sprintf("Match exec \"echo ran >>%s/log\"\n Port 5\n", home))
	for _, name := range []string{"n1", "n2"} {
		got, err := c.Target(job.Host{Name: name})
		require.NoError(t, err)
		require.Equal(t, 5, got.Port)
	}
	require.Equal(t, "ran\n", mustRead(t, home+"/log"))
	_, err := load(t, home, "Match exec \"kill $$\"\n Port 5\n").Target(job.Host{Name: "n1"})
	require.ErrorContains(t, err, "config:1: Match exec kill $$: ")
	_, err = load(t, home, "Match exec %Z\n Port 5\n").Target(job.Host{Name: "n1"})
	require.ErrorContains(t, err, "config:1: Match exec %Z: ")
	require.NoError(t, os.Remove(home+"/log"))
}

// String names the rule for the page.
func (r rule) String() string { return [...]string{"", "honoured", "refused", "harmless", "told"}[r] }
