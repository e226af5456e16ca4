package dialects

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/cmd/golaunch/internal/machine"
	"github.com/golaunch/golaunch/internal/environ"
)

// nodesOf is srun's number of nodes, which may be a range.
func nodesOf(v []string) ([]string, string) {
	low, high, isRange := strings.Cut(v[0], "-")
	if isRange && low != high {
		return nil, "give one number of hosts, as in --nodes=" + high
	}
	return []string{"--nodes", low}, ""
}

// cpusPerTask keeps the number of CPUs for each rank: which hosts a rank may use is not
// up to it, what it is bound to is checked once the line is read.
func cpusPerTask(p *pasted, v []string) ([]string, string) {
	n, err := strconv.Atoi(v[0])
	if err != nil || n < 1 {
		return nil, fmt.Sprintf("%q is not a number of CPUs", v[0])
	}
	p.cpus = n
	p.note("ranks share the CPUs of their host; SLURM_CPUS_PER_TASK=%d is set for them", n)
	return []string{"--env", fmt.Sprintf("SLURM_CPUS_PER_TASK=%d", n)}, ""
}

// relative is the place of the first host in the allocation.
func relative(p *pasted, v []string) ([]string, string) {
	n, err := strconv.Atoi(v[0])
	switch {
	case err != nil || n < 0:
		return nil, fmt.Sprintf("%q is no place in the allocation; its first host is 0", v[0])
	case !p.InSlurm():
		return nil, answerInclude
	}
	p.Relative = n
	return nil, ""
}

// ownJob is the number of an allocation, which may be the one around golaunch.
func ownJob(p *pasted, v []string) ([]string, string) {
	for _, name := range machine.SlurmJob {
		if v[0] != "" && p.Variable(name) == v[0] {
			return nil, ""
		}
	}
	return nil, answerJob
}

// hostsOrFile is a list of hosts, or a file of them.
func hostsOrFile(v []string) ([]string, string) {
	if strings.Contains(v[0], "/") {
		return []string{"--hostfile", v[0]}, ""
	}
	return []string{"--hosts", v[0]}, ""
}

// jobName is the name of the job that srun makes outside of an allocation.
func jobName(p *pasted, v []string) ([]string, string) {
	if p.InSlurm() {
		p.note("the allocation has a name")
		return nil, ""
	}
	return []string{"--genv", "SLURM_JOB_NAME=" + v[0]}, ""
}

// memBind is srun's and numactl's word for memory.
func memBind(v []string) ([]string, string) {
	switch v[0] {
	case "local", "none", "no", "q", "quiet", "v", "verbose":
		return nil, ""
	}
	return nil, answerMemory
}

// sendLibs is srun's wish to bring libraries.
func sendLibs(_ *pasted, v []string) ([]string, string) {
	if len(v) > 0 && v[0] == "no" {
		return nil, ""
	}
	return nil, answerLibraries
}

// devNull is the file for output that nobody wants, and input that is none.
const devNull = "/dev/null"

// patternFor is a file name for output, as srun has it, or one of its words.
func patternFor(flag string) func(p *pasted, v []string) ([]string, string) {
	return func(p *pasted, v []string) ([]string, string) {
		switch _, err := strconv.ParseUint(v[0], 10, 32); {
		case v[0] == "all":
			p.ErrOwn = p.ErrOwn || flag == "--err"
			return nil, ""
		case v[0] == "none":
			return []string{flag, devNull}, ""
		case err == nil && flag == "--out":
			return []string{"--show", v[0]}, ""
		case err == nil:
			return nil, answerOneRank
		}
		pattern, answer := p.pattern(v[0])
		if answer != "" {
			return nil, answer
		}
		return []string{flag, pattern}, ""
	}
}

// pattern is a file name of srun's as --out has it. What is of the Slurm job is put in;
// outside of one %j is golaunch's. golaunch's own escapes stay.
func (p *pasted) pattern(name string) (pattern, answer string) {
	if strings.Contains(name, `\`) { // srun puts nothing in then
		return strings.ReplaceAll(strings.ReplaceAll(name, `\`, ""), "%", "%%"), ""
	}
	var b strings.Builder
	for rest := name; rest != ""; {
		literal, escape, found := strings.Cut(rest, "%")
		b.WriteString(literal)
		if !found {
			break
		}
		digits := escape[:len(escape)-len(strings.TrimLeft(escape, "0123456789"))]
		if rest = escape[len(digits):]; rest == "" {
			return "", answerPattern
		}
		letter := rest[:1]
		rest = rest[1:]
		known := map[string]string{
			"j": "SLURM_JOB_ID", "J": "SLURM_JOB_ID", "A": "SLURM_ARRAY_JOB_ID", "a": "SLURM_ARRAY_TASK_ID", "x": "SLURM_JOB_NAME", "u": "USER",
		}[letter]
		switch value := p.Variable(known); {
		case letter == "t" && len(digits) == 1 && digits != "0":
			b.WriteString("%0" + digits + "r")
		case letter == "t" && digits == "", letter == "r", letter == "%", letter == "h":
			b.WriteString("%" + digits + strings.Replace(letter, "t", "r", 1))
		case letter == "N":
			b.WriteString("%h")
		case known != "" && value != "":
			if n, err := strconv.Atoi(digits); err == nil && n < 10 {
				value = strings.Repeat("0", max(0, n-len(value))) + value
			}
			b.WriteString(strings.ReplaceAll(value, "%", "%%"))
		case letter == "j", letter == "J":
			b.WriteString("%j")
		default:
			return "", answerPattern
		}
	}
	return b.String(), ""
}

// openMode says whether files of output are begun anew.
func openMode(v []string) ([]string, string) {
	if strings.HasPrefix("truncate", v[0]) {
		return nil, ""
	}
	return nil, answerAppend
}

// inputOf names the reader of standard input.
func inputOf(p *pasted, v []string) ([]string, string) {
	_, err := strconv.Atoi(v[0])
	if v[0] == devNull {
		return []string{"--stdin", "none"}, ""
	}
	isWord := err == nil || v[0] == "all" || v[0] == "none"
	if !isWord && ((len(p.Tools) > 0 && p.Tools[0].family == "srun") || p.IsFile(v[0]) || strings.ContainsAny(v[0], "/.%")) {
		return nil, answerInput
	}
	return []string{"--stdin", v[0]}, ""
}

// slurmTime is a time limit: minutes, minutes:seconds, hours:minutes:seconds, with days
// and a dash before.
func slurmTime(v []string) ([]string, string) {
	wrong := fmt.Sprintf("%q is not a time of Slurm's, such as 10 (minutes) or 1:30:00; --timeout takes 90s or 10m", v[0])
	if strings.EqualFold(v[0], "unlimited") || strings.EqualFold(v[0], "infinite") {
		return []string{"--timeout", "0"}, ""
	}
	days, clock, hasDays := strings.Cut(v[0], "-")
	if !hasDays {
		days, clock = "0", v[0]
	}
	units := []int{3600, 60, 1} // hours, minutes, seconds
	fields := strings.Split(clock, ":")
	switch {
	case len(fields) > 3:
		return nil, wrong
	case !hasDays && len(fields) < 3: // minutes, or minutes and seconds
		units = units[1:]
	}
	seconds, err := strconv.ParseUint(days, 10, 16)
	seconds *= 24 * 3600
	for i, field := range fields {
		n, e := strconv.ParseUint(field, 10, 24)
		if e != nil {
			err = e
		}
		seconds += n * uint64(units[i])
	}
	if err != nil {
		return nil, wrong
	}
	return []string{"--timeout", strconv.FormatUint(seconds, 10)}, ""
}

// isSeconds tells whether a value is a number of seconds: golaunch's own --wait has none.
func isSeconds(w word, next []string) bool {
	return valueIs(func(value string) bool {
		_, err := strconv.ParseUint(value, 10, 32)
		return err == nil
	}, w, next)
}

// waitOf reads the time that srun gives the other ranks once one has ended.
func waitOf(v []string) ([]string, string) {
	if v[0] == "0" {
		return nil, ""
	}
	return nil, answerWait
}

// ptyOf is which of its descriptors srun takes for the terminal.
func ptyOf(_ *pasted, v []string) ([]string, string) {
	if len(v) > 0 && v[0] != "0" {
		return nil, answerPTY
	}
	return []string{"--pty"}, ""
}

func killOnBadExit(p *pasted, v []string) ([]string, string) {
	switch {
	case len(v) > 0 && v[0] == "0":
		return []string{"--keep-going"}, ""
	case len(v) > 0 && v[0] != "1":
		return nil, noNumber(v[0], "0 or 1")
	}
	p.note("a rank that fails ends the job in any case")
	return nil, ""
}

// waits is for how long golaunch does, whatever --immediate says.
const waits = "golaunch waits for late hosts as --connect-timeout says, and for slots of an allocation until they are free"

// immediate is the number of seconds that srun waits for hosts.
func immediate(p *pasted, v []string) ([]string, string) {
	if len(v) > 0 {
		if _, err := strconv.ParseUint(v[0], 10, 32); err != nil {
			return nil, noNumber(v[0], "a number of seconds")
		}
	}
	p.note(waits)
	return nil, ""
}

// noNumber answers a value that is none, or that is another flag's: of letters that
// stand together, one whose value may be left out takes all that follows for it.
func noNumber(value, want string) string {
	return fmt.Sprintf("%q is not %s; write flags that follow apart", value, want)
}

func noKill(_ *pasted, v []string) ([]string, string) {
	if len(v) > 0 && v[0] == "off" {
		return nil, ""
	}
	return nil, answerLost
}

// fitsExport says that srun's value follows; mpirun_rsh's flag of that name has none.
func fitsExport(w word, next []string) bool {
	return w.attached || len(next) > 0 && slices.ContainsFunc(strings.Split(next[0], ","), func(s string) bool {
		return s == "ALL" || s == "NONE" || s == "NIL"
	})
}

// exportList is srun's: ALL is the environment, NONE nothing of it, and else only
// what is listed, NAME or NAME=VALUE.
func exportList(p *pasted, v []string) (flags []string, answer string) {
	list := strings.Split(v[0], ",")
	all := slices.Contains(list, "ALL")
	if !all {
		flags = append(flags, "--env-none")
		for _, kv := range p.Environ { // srun adds its own
			if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, "SLURM_") && !environ.Outer(name) {
				flags = append(flags, "--genv", name)
			}
		}
	}
	for _, name := range list {
		_, set := environ.Lookup(p.Environ, name)
		if strings.Contains(name, "=") || set && !all {
			flags = append(flags, "--genv", name)
		}
	}
	return flags, ""
}

// srunMPIs begin srun's own values of --mpi.
var srunMPIs = []string{"pmi1", "pmi2", "pmix_v", "cray_", "lam", "mvapich", "mpich1_", "mpichgm", "mpichmx"}

// isSrunMPI reports values of --mpi that srun alone has.
func isSrunMPI(value string) bool {
	return slices.ContainsFunc(srunMPIs, func(s string) bool { return strings.HasPrefix(value, s) })
}

// hasSrunMPI reports words with such a value.
func hasSrunMPI(w word, next []string) bool { return valueIs(isSrunMPI, w, next) }

// mpiOf is srun's word for what MPI libraries speak, or golaunch's.
func mpiOf(_ *pasted, v []string) ([]string, string) {
	value := v[0]
	switch {
	case !isSrunMPI(value): // golaunch's
	case strings.HasPrefix(value, "pmix"):
		value = "pmix"
	default:
		value = "auto"
	}
	return []string{"--mpi", value}, ""
}
