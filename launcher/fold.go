package launcher

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/golaunch/golaunch/internal/hostlist"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/overlay"
)

// deadGroup is dead hosts with the same text, in the words of the first.
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

// alike returns d with words in braces for the parts that are of one host only.
func alike(d overlay.DeadHost, name string) overlay.DeadHost {
	return overlay.DeadHost{Phase: d.Phase, Cause: general(d.Cause, name), Hint: general(d.Hint, name)}
}

// general returns s with {host} for a name and {address} for IP addresses that are
// words of their own. Package regexp has tables made at the start of every process that
// is linked with it, and agents are linked with this package.
func general(s, name string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if i == 0 || !inName(s[i-1]) {
			if name != "" && strings.HasPrefix(s[i:], name) && ends(s[i+len(name):]) {
				b.WriteString("{host}")
				i += len(name)
				continue
			}
			if n := addressAt(s[i:]); n > 0 {
				b.WriteString("{address}")
				i += n
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// addressAt returns the length of the IP address that s begins with, that of version 6
// in brackets as before a port.
func addressAt(s string) int {
	if in, _, ok := strings.Cut(strings.TrimPrefix(s, "["), "]"); ok && s[0] == '[' {
		if a, err := netip.ParseAddr(in); err == nil && a.Is6() {
			return len(in) + len("[]")
		}
	}
	n := len(s) - len(strings.TrimLeft(s, ".0123456789"))
	in := strings.TrimRight(s[:n], ".") // the end of a sentence
	if a, err := netip.ParseAddr(in); err == nil && a.Is4() && ends(s[len(in):]) {
		return len(in)
	}
	return 0
}

// ends reports whether the text behind a name or an address is no part of it.
func ends(rest string) bool { return rest == "" || rest[0] == '.' || !inName(rest[0]) }

// inName reports whether c may be in a host's name.
func inName(c byte) bool {
	return c == '_' || c == '.' || c == '-' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

// hostsText returns "host n001", or "hosts n[001-016]" for several.
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

// cutNames cuts a list of names to so many bytes at most.
func cutNames(list string, most int) string {
	if len(list) <= most {
		return list
	}
	return list[:strings.LastIndexByte(list[:most], ',')+1] + "..."
}

// maxHostsText bounds names that do not fold, in bytes.
const maxHostsText = 1000
