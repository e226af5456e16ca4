package execboot

import "strings"

// absences are what engines say of a container or pod that may yet come, by words of
// theirs in small letters: those of docker, podman and nerdctl; of kubectl.
var absences = []struct{ says, means string }{
	{"no such container", "there is no such container yet"},
	{`(notfound): pods "`, "there is no such pod yet"},
}

// awaited is what is not there yet, by the last words of a command that failed; ""
// where they do not tell.
func awaited(said string) string {
	said = strings.ToLower(said)
	for _, a := range absences {
		if strings.Contains(said, a.says) {
			return a.means
		}
	}
	return ""
}
