package dialects

import (
	"fmt"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/iface"
)

// A parameter of Open MPI's (MCA) is the ranks' by a variable, OMPI_MCA_name, unless
// it is for the launcher, which golaunch takes the place of. oob_tcp_if_include is for
// both.

// launcherMCA are the launcher's parameters, and the beginnings of their names up to a _.
var launcherMCA = []string{
	"orte", "prte", "opal_set_max", "plm", "ras", "rmaps", "rml", "routed", "oob", "odls", "grpcomm", "state", "errmgr", "ess", "filem", "iof",
	"schizo", "rtc", "snapc", "sstore", "pmix",
}

// programMCA are parameters that ranks read, though their names begin so.
var programMCA = []string{"ess_base_stream_buffering", "orte_tmpdir_base"}

// flagMCA are those that golaunch has a flag for; an empty one is for a value that is
// true.
var flagMCA = map[string]func(v []string) ([]string, string){
	"rmaps_base_mapping_policy":    mapBy,
	"rmaps_default_mapping_policy": mapBy,
	"rmaps_base_ranking_policy":    rankBy,
	"rmaps_default_ranking_policy": rankBy,
	"hwloc_base_binding_policy":    BindTo,
	"hwloc_default_binding_policy": BindTo,
	"rmaps_base_oversubscribe":     whereTrue("--oversubscribe"),
	"hwloc_base_report_bindings":   whereTrue("--report-bindings"),
	"orte_report_bindings":         whereTrue("--report-bindings"),
	"orte_tag_output":              whereTrue("--label"),
	"orte_output_filename":         logDir,
	"opal_set_max_sys_limits":      func(v []string) ([]string, string) { return whenSet(v[0], answerLimits) },
	"orte_enable_recovery":         whereTrue("--keep-going"),
	"plm_rsh_agent":                agentOf,
	"plm_ssh_agent":                agentOf,
	"plm_rsh_args":                 func([]string) ([]string, string) { return nil, answerSSH },
	"plm_ssh_args":                 func([]string) ([]string, string) { return nil, answerSSH },
	"orte_default_hostfile":        func(v []string) ([]string, string) { return []string{"--hostfile", v[0]}, "" },
	"prte_default_hostfile":        func(v []string) ([]string, string) { return []string{"--hostfile", v[0]}, "" },
}

// whereTrue is a flag for a parameter that is true or false.
func whereTrue(flag string) func(v []string) ([]string, string) {
	return func(v []string) ([]string, string) {
		if slices.Contains([]string{"1", "true", "yes", "on", "t", "y", "enabled"}, strings.ToLower(v[0])) {
			return []string{flag}, ""
		}
		return nil, ""
	}
}

// whenSet is an answer for a parameter that is not off.
func whenSet(value, answer string) ([]string, string) {
	if slices.Contains([]string{"0", "false", "no", "off", "none"}, strings.ToLower(value)) {
		return nil, ""
	}
	return nil, answer
}

// agentOf is the command by which Open MPI logs in.
func agentOf(v []string) ([]string, string) {
	if v[0] == "ssh" || v[0] == "ssh : rsh" { // as golaunch does where nothing else is said
		return nil, ""
	}
	return nil, fmt.Sprintf("for that use --bootstrap exec --exec-command '%s {host} {command}'", v[0])
}

// mca is --mca NAME VALUE; flag sets a variable.
func mca(flag string) func(*pasted, []string) ([]string, string) {
	return func(p *pasted, v []string) ([]string, string) {
		name, value := v[0], v[1]
		if name == "orte_timestamp_output" {
			on, _ := whereTrue("on")(v[1:])
			p.Timed = p.Timed || len(on) > 0
			return nil, ""
		}
		if to, ok := flagMCA[name]; ok {
			return to(v[1:])
		}
		if name == "btl_tcp_if_include" {
			if flags, ok := p.ifaceFlag(value); ok {
				return flags, ""
			}
		}
		if slices.Contains(programMCA, name) {
			return []string{flag, "OMPI_MCA_" + name + "=" + value}, ""
		}
		if name != "oob_tcp_if_include" && slices.ContainsFunc(launcherMCA, func(of string) bool { return strings.HasPrefix(name+"_", of+"_") }) {
			p.note("%s is for Open MPI's launcher, which golaunch takes the place of", name)
			return nil, ""
		}
		return []string{flag, "OMPI_MCA_" + name + "=" + value}, ""
	}
}

// ifaceFlag is --iface for Open MPI's btl_tcp_if_include. A list of interfaces is Open MPI's
// alone, and so is what a further app does not have in common with the first.
func (p *pasted) ifaceFlag(value string) (flags []string, ok bool) {
	if _, err := iface.Parse(value); err != nil {
		return nil, false
	}
	if p.app > 0 {
		return nil, value == p.iface
	}
	p.iface = value
	return []string{"--iface", value}, true
}

// prteMCA is --prtemca NAME VALUE, a parameter of PRRTE.
func prteMCA(p *pasted, v []string) ([]string, string) {
	if to, ok := flagMCA[v[0]]; ok {
		return to(v[1:])
	}
	p.note("golaunch is not PRRTE, whose parameters these are")
	return nil, ""
}

// pmixMCA is --pmixmca NAME VALUE, a parameter of libpmix; flag sets a variable.
func pmixMCA(flag string) func(*pasted, []string) ([]string, string) {
	return func(_ *pasted, v []string) ([]string, string) {
		return []string{flag, "PMIX_MCA_" + v[0] + "=" + v[1]}, ""
	}
}
