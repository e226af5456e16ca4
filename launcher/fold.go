package launcher

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/golaunch/golaunch/hostlist"
	"github.com/golaunch/golaunch/job"
	"github.com/golaunch/golaunch/overlay"
)

// addresses is what an IP address looks like in the text of an error. It is made when
// it is asked for: this package is linked into every agent, too.
var addresses = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b\d{1,3}(\.\d{1,3}){3}\b|\[[0-9a-fA-F:.%]*:[0-9a-zA-Z:.%]*\]`)
})

// deadGroup is dead hosts of which the same is said, in the words of the first.
type deadGroup struct {
	hosts []job.HostIndex
	overlay.DeadHost
}

// foldDead puts together hosts that differ in nothing but their names and
// addresses. The order is that of the first host of each. Where the cause names the
// first, it says so of the others.
func foldDead(dead []overlay.DeadHost, name func(job.HostIndex) string) []deadGroup {
	var groups []deadGroup
	at := map[overlay.DeadHost]int{}
	for _, d := range dead {
		of := alike(d, name(d.Index))
		i, ok := at[of]
		if !ok {
			i, at[of] = len(groups), len(groups)
			groups = append(groups, deadGroup{DeadHost: d})
		}
		g := &groups[i]
		if g.hosts = append(g.hosts, d.Index); len(g.hosts) == 2 && of.Cause != g.Cause {
			g.Cause += "; the others alike"
		}
	}
	return groups
}

// alike is d without what is of one host only, for which words in braces stand.
func alike(d overlay.DeadHost, name string) overlay.DeadHost {
	word := regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(name) + `($|[^\w-])`)
	general := func(s string) string {
		return addresses().ReplaceAllString(word.ReplaceAllString(s, "${1}{host}${2}"), "{address}")
	}
	return overlay.DeadHost{Phase: d.Phase, Cause: general(d.Cause), Hint: general(d.Hint)}
}

// hostsText is "host n001", or "hosts n[001-016]" for several.
func hostsText(hosts []job.HostIndex, name func(job.HostIndex) string) string {
	hosts = slices.Compact(slices.Sorted(slices.Values(hosts)))
	list := make([]job.Host, len(hosts))
	for i, h := range hosts {
		list[i].Name = name(h)
	}
	if len(list) == 1 {
		return "host " + list[0].Name
	}
	return "hosts " + cutNames(hostlist.Fold(list), maxHostsText)
}

// cutNames leaves of a list of names those that most bytes hold.
func cutNames(list string, most int) string {
	if len(list) <= most {
		return list
	}
	return list[:strings.LastIndexByte(list[:most], ',')+1] + "..."
}

// maxHostsText is how many bytes of names that do not fold are told.
const maxHostsText = 1000
