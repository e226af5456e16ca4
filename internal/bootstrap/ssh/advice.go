package sshboot

import (
	"fmt"
	"os"
	"strings"
)

// Advice can be typed as it is: it has the files and the port that are in use.

// systemSSH are golaunch's flags with which the system's ssh reaches the hosts.
func systemSSH(configFile string) string {
	return "--bootstrap exec --exec-command " + shellWord("ssh "+fileFlag("-F", configFile)+"{host} {command}")
}

// trySSH returns the command that shows the failure of a log-in.
func (t *Target) trySSH() string {
	return fmt.Sprintf("ssh -v %s%s%s@%s true", fileFlag("-F", t.ConfigFile), t.portFlag(), t.User, t.Name)
}

// addKeyHint advises the user to make the host's key known.
func (t *Target) addKeyHint() string {
	file := "~/.ssh/known_hosts"
	switch t.KeyFile {
	case "":
	case os.DevNull:
		return fmt.Sprintf("no key is known with UserKnownHostsFile /dev/null: name a file there, compare the fingerprint, then: ssh-keyscan %s%s >> FILE", t.portFlag(), t.HostName)
	default:
		file = shellWord(t.KeyFile)
	}
	return fmt.Sprintf("compare the fingerprint, then: ssh-keyscan %s%s >> %s; or set StrictHostKeyChecking accept-new", t.portFlag(), t.HostName, file)
}

// removeKey returns the command that makes known_hosts forget the host.
func (t *Target) removeKey() string {
	return fmt.Sprintf("ssh-keygen %s-R %s", fileFlag("-f", t.KeyFile), t.knownHostsName())
}

// knownHostsName returns the host's name in known_hosts.
func (t *Target) knownHostsName() string {
	if t.Port == 22 || t.KeyName != t.HostName {
		return t.KeyName
	}
	return fmt.Sprintf("'[%s]:%d'", t.KeyName, t.Port)
}

func (t *Target) portFlag() string {
	if t.Port == 22 {
		return ""
	}
	return fmt.Sprintf("-p %d ", t.Port)
}

// fileFlag returns a flag and a file, none if there is no file.
func fileFlag(flag, file string) string {
	if file == "" {
		return ""
	}
	return flag + " " + shellWord(file) + " "
}

// shellWord quotes a file's name for the shell, if it has to be.
func shellWord(file string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+,:@%", r)
	}
	if strings.TrimFunc(file, plain) == "" && file[0] != '-' {
		return file
	}
	return "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
}
