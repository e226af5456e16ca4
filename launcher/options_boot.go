package launcher

import (
	"fmt"
	"slices"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/bootstrap/registry"
)

// validateBootstrap checks the bootstrap and the flags that bootstraps have of
// their own.
func (o *Options) validateBootstrap() error {
	chosen, known := registry.Find(o.Boot.Bootstrap)
	if o.Boot.Bootstrap != "" && !known {
		return fmt.Errorf("--bootstrap: %q is not known; %s are", o.Boot.Bootstrap, sentence(registry.Names()))
	}
	if known && !chosen.Here && len(o.Hosts.List) == 0 {
		return fmt.Errorf("--bootstrap %s: no hosts are named; give --hosts or --hostfile", chosen.Name)
	}
	for _, k := range registry.All() {
		for _, option := range k.Options {
			if err := validateOption(k, option, o.Boot.Values[option.Name], registry.Chosen(k, o.Boot.Bootstrap, o.Boot.Environ)); err != nil {
				return err
			}
		}
	}
	if chosen.Check == nil {
		return nil
	}
	return chosen.Check(o.Boot.Values)
}

// validateOption checks the value of one flag of k.
func validateOption(k bootstrap.Kind, option bootstrap.Option, value string, chosen bool) error {
	switch {
	case value == "":
	case option.Own && !chosen:
		return fmt.Errorf("--%s is for --bootstrap %s; add that, or leave it out", option.Name, k.Name)
	case option.Choices != nil && !slices.Contains(option.Choices, value):
		return fmt.Errorf("--%s: %q is not known; %s are", option.Name, value, sentence(option.Choices))
	}
	return nil
}

// sentence lists two words or more as in a sentence.
func sentence[T ~string](words []T) string {
	last := len(words) - 1
	text := string(words[0])
	for _, w := range words[1:last] {
		text += ", " + string(w)
	}
	return text + " and " + string(words[last])
}
