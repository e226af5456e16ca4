// Package hostlist reads and prints the ways in which people and resource
// managers name hosts: lists as on a command line (Parse), host files in
// Hydra's and Open MPI's form (ParseFile), the variables and files of Slurm,
// PBS, LSF and Grid Engine (rm.go), and compact ranges for messages (Fold).
//
// A list is entries separated by commas:
//
//	entry = [ user "@" ] host [ ":" slots ]
//	host  = name, with any number of ranges: n[001-128,200], r[1-2]n[1-4]
//	      | "[" IPv6 address "]"
//
// A bracket that opens the host and holds a colon is an IPv6 address, every
// other bracket is a range; a bare IPv6 address is refused, because its last
// group could be meant as slots. The rightmost range varies fastest. A range
// whose first number is written with leading zeros pads to that width.
//
// A host named more than once is one host: its slots add up, and a mention
// without a number counts as one slot, as in Hydra and Open MPI. A host with no
// slots (a:0, slots=0) is left out, as in Open MPI.
//
// The package is pure: it opens no file, reads no environment and resolves no name.
// Package placement decides on the hosts of ranks.
package hostlist

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
)

// Limits of lists.
const (
	MaxHosts = 1 << 20
	MaxSlots = 1 << 20
)

// maxName is the longest host name, in bytes (RFC 1035 section 2.3.4).
const maxName = 255

// Parse reads a host list. Pos names the source of the list ("-H") and begins every
// error; it becomes the Pos of the hosts. Hosts come in the order of their first
// mention.
func Parse(list, pos string) ([]job.Host, error) {
	return parseMerged(list, pos, MaxHosts)
}

// ParseNames is Parse, and returns the names of the entries too: a host is there as
// often as it is named, with any slots.
func ParseNames(list, pos string) (hosts []job.Host, names []string, err error) {
	if hosts, err = parseList(nil, list, pos, MaxHosts); err != nil {
		return nil, nil, err
	}
	names = namesOf(hosts)
	hosts, err = merge(hosts)
	return hosts, names, err
}

// noSlots are the slots of a host that was given none, while its mentions are read: 0 are
// slots left open.
const noSlots = -1

// namesOf returns the names of mentions that have slots, or leave them open.
func namesOf(hosts []job.Host) []string {
	names := make([]string, 0, len(hosts))
	for _, h := range hosts {
		if h.Slots != noSlots {
			names = append(names, h.Name)
		}
	}
	return names
}

func parseMerged(list, pos string, limit int) ([]job.Host, error) {
	hosts, err := parseList(nil, list, pos, limit)
	if err != nil {
		return nil, err
	}
	return merge(hosts)
}

// parseList appends the hosts of a list to hosts, which may grow to limit.
func parseList(hosts []job.Host, list, pos string, limit int) ([]job.Host, error) {
	for rest, more := list, true; more; {
		var entry string
		entry, rest, more = cutEntry(rest)
		entry = strings.TrimSpace(entry)
		if entry == "" {
			return nil, fmt.Errorf("%s: %s: empty host name", pos, quote(list))
		}
		var err error
		if hosts, err = appendEntry(hosts, entry, pos, limit); err != nil {
			return nil, fmt.Errorf("%s: %s: %w", pos, quote(entry), err)
		}
	}
	return hosts, nil
}

// cutEntry cuts s at the first comma outside brackets.
func cutEntry(s string) (entry, rest string, more bool) {
	inside := false
	for i := range len(s) {
		switch s[i] {
		case '[':
			inside = true
		case ']':
			inside = false
		case ',':
			if !inside {
				return s[:i], s[i+1:], true
			}
		}
	}
	return s, "", false
}

// appendEntry appends the hosts of one entry.
func appendEntry(hosts []job.Host, entry, pos string, limit int) ([]job.Host, error) {
	h := job.Host{Pos: pos}
	rest := entry
	if i := strings.LastIndexByte(entry, '@'); i >= 0 {
		h.User, rest = entry[:i], entry[i+1:]
		if err := checkUser(h.User); err != nil {
			return nil, err
		}
	}
	addr, rest, isAddr, err := cutAddress(rest)
	if err != nil {
		return nil, err
	}
	name, slots, found, err := cutSlots(rest)
	if err != nil {
		return nil, err
	}
	if found {
		if h.Slots, err = parseSlots(slots); err != nil {
			return nil, err
		}
	}
	if isAddr {
		if name != "" {
			return nil, fmt.Errorf("%s follows the address; only :slots may", quote(name))
		}
		if len(hosts) >= limit {
			return nil, errTooMany(limit)
		}
		h.Name = addr
		return append(hosts, h), nil
	}
	p, err := parsePattern(name)
	if err != nil {
		return nil, err
	}
	if p.count > limit-len(hosts) {
		return nil, errTooMany(limit)
	}
	hosts = slices.Grow(hosts, p.count)
	p.each(func(n string) {
		h.Name = n
		hosts = append(hosts, h)
	})
	return hosts, nil
}

func errTooMany(limit int) error {
	return fmt.Errorf("more than %d hosts", limit)
}

// cutAddress cuts a leading IPv6 address in brackets from s.
func cutAddress(s string) (addr, rest string, ok bool, err error) {
	inside, rest, closed := strings.Cut(s, "]")
	addr, opened := strings.CutPrefix(inside, "[")
	if !closed || !opened || !strings.Contains(addr, ":") {
		return "", s, false, nil
	}
	if !isIPv6(addr) {
		return "", "", false, fmt.Errorf("%s is not an IPv6 address", quote(addr))
	}
	return addr, rest, true, nil
}

// cutSlots cuts "host:slots" at the one colon outside brackets.
func cutSlots(s string) (host, slots string, found bool, err error) {
	inside := false
	colon := -1
	for i := range len(s) {
		switch c := s[i]; {
		case c == '[':
			inside = true
		case c == ']':
			inside = false
		case c == ':' && !inside && colon < 0:
			colon = i
		case c == ':' && !inside:
			return "", "", false, errors.New("several colons: write an IPv6 address in brackets, as in [::1] or [::1]:4")
		}
	}
	if colon < 0 {
		return s, "", false, nil
	}
	return s[:colon], s[colon+1:], true, nil
}

// isIPv6 accepts addresses whose zone, if any, looks like an interface's name.
func isIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	if err != nil || !a.Is6() {
		return false
	}
	for i := range len(a.Zone()) {
		if !isNameByte(a.Zone()[i]) {
			return false
		}
	}
	return true
}

// parseSlots reads a number of slots, 1 to MaxSlots; noSlots for 0.
func parseSlots(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 64)
	switch {
	case s == "":
		return 0, errors.New("no number of slots after the colon")
	case errors.Is(err, strconv.ErrSyntax):
		return 0, fmt.Errorf("%s is not a number of slots", quote(s))
	case err != nil || n > MaxSlots:
		return 0, fmt.Errorf("%s slots are more than %d", clip(s), MaxSlots)
	case n == 0:
		return noSlots, nil
	}
	return int(n), nil
}

// checkUser accepts login names, also those of directory services
// (DOMAIN\name, name@realm). A leading dash could pass for an option.
func checkUser(s string) error {
	if s == "" {
		return errors.New("no user name before the @")
	}
	for i := range len(s) {
		if c := s[i]; !isNameByte(c) && c != '+' && c != '@' && c != '\\' {
			return fmt.Errorf("character %q in user name %s", rune(c), quote(s))
		}
	}
	if s[0] == '-' {
		return fmt.Errorf("user name %s begins with a dash", quote(s))
	}
	return nil
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c) || c == '.' || c == '-' || c == '_'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// merge joins the mentions of each host, in the order of their first one, and leaves out
// hosts that have no slots.
func merge(hosts []job.Host) ([]job.Host, error) {
	seen := make(map[string]int, len(hosts))
	out := hosts[:0]
	for _, h := range hosts {
		i, ok := seen[h.Name]
		if !ok {
			seen[h.Name] = len(out)
			out = append(out, h)
			continue
		}
		out[i].Slots, h.Slots = counted(out[i].Slots), counted(h.Slots)
		if err := add(&out[i], h); err != nil {
			return nil, err
		}
		if out[i].Slots == 0 {
			out[i].Slots = noSlots
		}
	}
	without := func(h job.Host) bool { return h.Slots == noSlots }
	if len(out) > 0 && !slices.ContainsFunc(out, func(h job.Host) bool { return !without(h) }) {
		return nil, fmt.Errorf("%s: no host has slots; give one a number above 0", out[0].Pos)
	}
	return slices.DeleteFunc(out, without), nil
}

// counted returns the slots of one of several mentions: a mention without a number is
// one.
func counted(slots int) int {
	switch slots {
	case noSlots:
		return 0
	case 0:
		return 1
	}
	return slots
}

// add adds the terms of another mention of a host to the first one.
func add(first *job.Host, h job.Host) error {
	if first.User == "" {
		first.User = h.User
	}
	if first.Port == 0 {
		first.Port = h.Port
	}
	if h.User != "" && h.User != first.User {
		return fmt.Errorf("%s: host %s: user %s, but %s at %s", h.Pos, h.Name, h.User, first.User, first.Pos)
	}
	if h.Port != 0 && h.Port != first.Port {
		return fmt.Errorf("%s: host %s: port %d, but %d at %s", h.Pos, h.Name, h.Port, first.Port, first.Pos)
	}
	if first.Slots += h.Slots; first.Slots > MaxSlots {
		return fmt.Errorf("%s: host %s: more than %d slots in all", h.Pos, h.Name, MaxSlots)
	}
	return nil
}

// Union returns the hosts of several lists, each once, in the order of their first
// mention. The slots of a host add up; those of one that has none in some list are left
// open. It is an error if two lists differ on the user or port of a host.
func Union(lists ...[]job.Host) ([]job.Host, error) {
	var out []job.Host
	at, open := map[string]int{}, map[string]bool{}
	for _, h := range slices.Concat(lists...) {
		open[h.Name] = open[h.Name] || h.Slots == 0
		i, ok := at[h.Name]
		if !ok {
			at[h.Name] = len(out)
			out = append(out, h)
			continue
		}
		if err := add(&out[i], h); err != nil {
			return nil, err
		}
	}
	for i := range out {
		if open[out[i].Name] {
			out[i].Slots = 0
		}
	}
	return out, nil
}

// quote renders s, cut to a readable length, for a one-line message.
func quote(s string) string { return strconv.Quote(clip(s)) }

func clip(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
