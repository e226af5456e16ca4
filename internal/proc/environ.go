package proc

import "strings"

// environ is an environment without repeated names, from which those of single
// ranks are derived. The strings are shared.
type environ struct {
	vars  []string
	index map[string]int // name to position in vars
}

func newEnviron(lists ...[]string) *environ {
	e := &environ{index: map[string]int{}}
	for _, list := range lists {
		for _, v := range list {
			e.set(v)
		}
	}
	return e
}

// set adds a variable or replaces the one of its name, where it stands.
func (e *environ) set(v string) {
	name := varName(v)
	if i, ok := e.index[name]; ok {
		e.vars[i] = v
		return
	}
	e.index[name] = len(e.vars)
	e.vars = append(e.vars, v)
}

// with appends to buf the environment with own variables on top, the last of a
// name counting, and returns it. e stays as it is.
func (e *environ) with(buf, own []string) []string {
	base := len(buf)
	buf = append(buf, e.vars...)
next:
	for _, v := range own {
		name := varName(v)
		if i, ok := e.index[name]; ok {
			buf[base+i] = v
			continue
		}
		for i, w := range buf[base+len(e.vars):] { // own new names: a handful
			if varName(w) == name {
				buf[base+len(e.vars)+i] = v
				continue next
			}
		}
		buf = append(buf, v)
	}
	return buf
}

// varName returns the NAME of NAME=value. As in the C library, an = at the very
// beginning belongs to the name.
func varName(v string) string {
	if v == "" {
		return ""
	}
	if i := strings.IndexByte(v[1:], '='); i >= 0 {
		return v[:i+1]
	}
	return v
}

// lookup returns the value of name in vars, the last if there are several.
func lookup(vars []string, name string) (string, bool) {
	for i := len(vars) - 1; i >= 0; i-- {
		if varName(vars[i]) == name && len(vars[i]) > len(name) {
			return vars[i][len(name)+1:], true
		}
	}
	return "", false
}
