// Package results is the frame of the benches, which measure and write pages of
// docs/results: flags that all have, what lists look like, where pages go.
package results

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// isOutput tells that a file's name is standard output's.
func isOutput(file string) bool { return file == "" || file == "-" }

// Write writes a page to a file, in folders made for it, or to standard output
// where the file's name is empty or -.
func Write(file, page string) error {
	if isOutput(file) {
		_, err := fmt.Print(page)
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(page), 0o644)
}

// folder returns the folder of Partial.
func folder(file string) string { return file + ".partial" }

// Partial is the file for the page of a run that has not come to its end, which leaves that
// of the last one, file, alone. It is in a folder of its own, FILE.partial; standard output
// is its own.
func Partial(file string) string {
	if isOutput(file) {
		return file
	}
	return filepath.Join(folder(file), filepath.Base(file))
}

// Left returns the error err of a run, with the path of its page (Partial), if there is
// one.
func Left(file string, err error) error {
	part := Partial(file)
	if _, missing := os.Stat(part); isOutput(file) || missing != nil {
		return err
	}
	return fmt.Errorf("%w: what came of it is in %s", err, part)
}

// Done removes the folder of Partial: at the end of a run that needs it no more, and at
// the beginning of one that keeps its own there.
func Done(file string) error {
	if isOutput(file) {
		return nil
	}
	return os.RemoveAll(folder(file))
}

// Conclude writes the page of a run as Write does if the run has come to its end. One that
// failed with err, or was interrupted (ctx), has its page in Partial, as the error, which is
// then never nil, tells.
func Conclude(ctx context.Context, file, page string, err error) error {
	if err = cmp.Or(err, ctx.Err()); err == nil {
		if err = Write(file, page); err != nil {
			return err
		}
		return Done(file)
	}
	if wrong := Write(Partial(file), page); wrong != nil {
		return errors.Join(err, wrong)
	}
	return Left(file, err)
}

// Parts reads the value of -parts, a list of names with commas between them; all of
// them where it is empty.
func Parts(list string, all []string) ([]string, error) {
	if list == "" {
		return all, nil
	}
	chosen := strings.Split(list, ",")
	for _, name := range chosen {
		if !slices.Contains(all, name) {
			return nil, fmt.Errorf("-parts: %q is none of %s", name, strings.Join(all, ", "))
		}
	}
	return chosen, nil
}

// Numbers reads the value of a flag, a list like "8,32,64", each at least least.
func Numbers(flag, list string, least int) ([]int, error) {
	var numbers []int
	for word := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(word)
		if err != nil || n < least {
			return nil, fmt.Errorf("-%s %q: not a list of numbers from %d on", flag, list, least)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}
