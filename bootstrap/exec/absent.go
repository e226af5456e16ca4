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

// refusals are what managers say of a task that they never start, with what helps.
var refusals = []struct{ says, hint string }{
	{"didn't accept task", "qrsh starts tasks where the parallel environment has control_slaves TRUE; --bootstrap ssh does without"},
}

// refused is what helps against the refusal in the last words of a command; "" where
// there is none.
func refused(said string) string {
	for _, r := range refusals {
		if strings.Contains(said, r.says) {
			return r.hint
		}
	}
	return ""
}
