// Package fakeagent plays a hostile node. On a node of a test cluster it takes
// the place of the account's login shell: a real launcher, or a real agent above
// it, logs in over a real sshd, asks for an agent, and gets this one. It speaks
// the tree's protocol as an agent does up to the moment of one forgery, which it
// is told by name, and goes on as an agent would afterwards.
//
// It starts no ranks: it says of those that it was given that they ran.
package fakeagent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/golaunch/golaunch/integration/cluster"
	"github.com/golaunch/golaunch/internal/overlay"
)

// ShellName is the file name by which a program knows that it is to call Main.
const ShellName = "fakeshell"

// Files of the node: the fake's order, and its log.
const (
	orderFile = "/run/fakeagent.order"
	logFile   = "/run/fakeagent.log"
)

// Order is the task of a fake.
type Order struct {
	Forgery  string
	Other    int    // host that it lies about; need not exist
	Outsider string // address of a host, for those that want to log in there
}

// Install makes a node of c hostile: shell, a file of the name ShellName that the
// node sees, becomes its account's login shell. restore makes the node honest again,
// and returns the fake's log.
func Install(c *cluster.Cluster, node, shell string, order Order) (restore func() (log string, err error), err error) {
	if filepath.Base(shell) != ShellName {
		return nil, fmt.Errorf("fake agent %s: its name must be %s", shell, ShellName)
	}
	text, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	// The account file is a mount: it cannot be exchanged.
	set := func(shell, rest string) ([]byte, error) {
		cmd := c.Command(node, "sh", "-c", `sed "s|^\(root:.*\):[^:]*$|\1:$1|" /etc/passwd > /run/passwd && cat /run/passwd > /etc/passwd && rm /run/passwd; `+rest, "sh", shell)
		cmd.Stdin = bytes.NewReader(text)
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("%s: login shell %s: %w", node, shell, err)
		}
		return out, nil
	}
	if _, err := set(shell, "cat > "+orderFile); err != nil {
		return nil, err
	}
	return func() (string, error) {
		out, err := set("/bin/sh", fmt.Sprintf("cat %[2]s 2> /dev/null; rm -f %[1]s %[2]s", orderFile, logFile))
		return string(out), err
	}, nil
}

// IsShell tells whether the process was started as the login shell: its main
// function is to do nothing but Main then.
func IsShell() bool { return filepath.Base(os.Args[0]) == ShellName }

// magicHalves are the two words by which a starter recognises the output of its script,
// in any quotes.
var magicHalves = regexp.MustCompile(`\b([0-9a-f]{16})['" ]+([0-9a-f]{16})\b`)

// Main is the login shell, with the words after its name. Commands that start no
// agent go to a shell.
func Main(words []string) int {
	if len(words) != 2 || words[0] != "-c" {
		fmt.Fprintf(os.Stderr, "fakeagent: words %q: want -c COMMAND\n", words)
		return 2
	}
	magic := magicHalves.FindStringSubmatch(words[1])
	text, err := os.ReadFile(orderFile)
	if magic == nil || err != nil || !strings.Contains(words[1], overlay.AgentWord) { // a sweep of a node has such words, too
		err := syscall.Exec("/bin/sh", []string{"sh", "-c", words[1]}, os.Environ())
		fmt.Fprintln(os.Stderr, "fakeagent:", err)
		return 1
	}
	n := &node{magic: magic[1] + magic[2]}
	if err = json.Unmarshal(text, &n.order); err == nil {
		err = n.forge()
	}
	n.log("%s: %v", n.order.Forgery, err)
	if err != nil {
		return 1
	}
	return 0
}

// forge finds the forgery and commits it.
func (n *node) forge() error {
	all := slices.Concat(Forgeries(), Signings(), Relayed(), Spares(), Mutes())
	i := slices.IndexFunc(all, func(f Forgery) bool { return f.Name == n.order.Forgery })
	if i < 0 {
		return fmt.Errorf("no forgery %q", n.order.Forgery)
	}
	n.forgery = all[i]
	if n.forgery.at == staging {
		n.log("commits it")
		return n.forgery.commit(n)
	}
	if _, err := fmt.Fprintf(os.Stdout, "%s have\n", n.magic); err != nil {
		return err
	}
	return n.play(session{os.Stdin, os.Stdout})
}

// log writes a line down, for whoever reads the node's log.
func (n *node) log(format string, args ...any) {
	f, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return // the node has lost its /run; nobody can be told
	}
	defer f.Close()
	fmt.Fprintln(f, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "; "))
}

// session is the byte pipe to the parent.
type session struct {
	io.Reader
	io.Writer
}

// Close ends the process's part of the session.
func (session) Close() error {
	os.Stdin.Close()
	return os.Stdout.Close()
}

// patience is the time for which the fake waits for an answer, before it goes on as if
// all were well.
const patience = 5 * time.Second

// Copy makes the running executable, whose main calls Main, the file dir/ShellName.
func Copy(dir string) (shell string, err error) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return "", err
	}
	shell = filepath.Join(dir, ShellName)
	return shell, os.WriteFile(shell, self, 0o755)
}
