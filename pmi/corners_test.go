package pmi_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// corner is the t of a test of one of the 18 corner cases in docs/pmi.md.
// The name of such a test begins with TestCorner and the case's number.
type corner struct {
	*testing.T
	asserted int
}

// asserted has the tests of corner cases that asserted something.
var asserted = map[string]bool{}

// asCorner begins a test of a corner case, which fails if it asserts nothing.
func asCorner(t *testing.T) *corner {
	c := &corner{T: t}
	t.Cleanup(func() {
		if c.asserted == 0 && !t.Failed() && !t.Skipped() {
			t.Error("asserts nothing")
			return
		}
		name, _, _ := strings.Cut(t.Name(), "/")
		asserted[name] = true
	})
	return c
}

// Helper counts assertions: package require begins each with it.
func (c *corner) Helper() {
	c.asserted++
	c.T.Helper()
}

// outside returns a t whose assertions are not a test's own, but its helpers'.
func outside(t testing.TB) testing.TB {
	if c, ok := t.(*corner); ok {
		return c.T
	}
	return t
}

func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 && wholeRun() {
		if err := cornersAsserted(); err != nil {
			fmt.Fprintln(os.Stderr, "FAIL:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// wholeRun reports whether no test was left out.
func wholeRun() bool {
	for _, name := range []string{"run", "skip", "list", "fuzz"} {
		if flag.Lookup("test."+name).Value.String() != "" {
			return false
		}
	}
	return flag.Lookup("test.fuzzworker").Value.String() == "false"
}

// cornersAsserted finds corner cases without a test, or whose test asserts nothing.
func cornersAsserted() error {
	names, err := cornerTests()
	if err != nil {
		return err
	}
	for _, name := range names {
		if !asserted[name] {
			return fmt.Errorf("%s does not begin with asCorner, or asserts nothing", name)
		}
	}
	for n := 1; n <= 18; n++ {
		if !strings.Contains(strings.Join(names, " "), fmt.Sprintf("TestCorner%02d", n)) {
			return fmt.Errorf("corner case %d has no test", n)
		}
	}
	return nil
}

// cornerTests returns the names of the tests of corner cases in this package.
func cornerTests() (names []string, err error) {
	begin := regexp.MustCompile(`(?m)^func (TestCorner\d\w*)\(`)
	files, err := fs.Glob(os.DirFS("."), "*_test.go")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, m := range begin.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
	}
	return names, err
}

func TestAssertionsOfCornersAreCounted(t *testing.T) {
	c := &corner{T: t}
	newWorld(c, 1, 1, nil).init()
	require.Zero(t, c.asserted, "what a helper asserts does not count")
	require.Empty(c, "")
	require.Equal(t, 1, c.asserted)
}
