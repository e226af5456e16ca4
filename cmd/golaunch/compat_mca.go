package main

import (
	"fmt"
	"slices"
	"strings"
)

// A parameter of Open MPI's (MCA) is the ranks' by a variable, OMPI_MCA_name, unless
// it is for the launcher, which golaunch takes the place of.

// launcherMCA are the launcher's parameters, and the beginnings of their names up to a _.
var launcherMCA = []string{
	"orte", "prte", "opal_set_max", "plm", "ras", "rmaps", "rml", "routed", "oob", "odls", "grpcomm", "state", "errmgr", "ess", "filem", "iof",
	"schizo", "rtc", "snapc", "sstore", "pmix",
}

// flagMCA are those that golaunch has a flag for; an empty one is for a value that is
// true.
var flagMCA = map[string]func(v []string) ([]string, string){
	"rmaps_base_mapping_policy":    mapBy,
	"rmaps_default_mapping_policy": mapBy,
	"rmaps_base_ranking_policy":    rankBy,
	"rmaps_default_ranking_policy": rankBy,
	"hwloc_base_binding_policy":    bindTo,
	"hwloc_default_binding_policy": bindTo,
	"rmaps_base_oversubscribe":     whereTrue("--oversubscribe"),
	"hwloc_base_report_bindings":   whereTrue("--report-bindings"),
	"orte_report_bindings":         whereTrue("--report-bindings"),
	"orte_tag_output":              whereTrue("--label"),
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
		if to, ok := flagMCA[name]; ok {
			return to(v[1:])
		}
		if slices.ContainsFunc(launcherMCA, func(of string) bool { return strings.HasPrefix(name+"_", of+"_") }) {
			p.note("%s is for Open MPI's launcher, which golaunch takes the place of", name)
			return nil, ""
		}
		return []string{flag, "OMPI_MCA_" + name + "=" + value}, ""
	}
}

// pmixMCA is --pmixmca NAME VALUE, a parameter of libpmix; flag sets a variable.
func pmixMCA(flag string) func(*pasted, []string) ([]string, string) {
	return func(_ *pasted, v []string) ([]string, string) {
		return []string{flag, "PMIX_MCA_" + v[0] + "=" + v[1]}, ""
	}
}
