package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/golaunch/golaunch/integration/cluster"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"cluster": main})
}

// TestScripts runs testdata/script. Scripts that need a cluster begin with
// [!netns] skip.
func TestScripts(t *testing.T) {
	unavailable := cluster.Unavailable()
	if unavailable != nil {
		t.Logf("scripts that make a cluster are skipped: %v", unavailable)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Condition: func(cond string) (bool, error) {
			return cond == "netns" && unavailable == nil, nil
		},
		Setup: func(env *testscript.Env) error {
			dir, err := os.MkdirTemp("", "cluster-cli-")
			if err != nil {
				return err
			}
			// The script's own directory, where nodes cannot be told from it.
			env.Setenv("C", dir+"/c")
			env.Defer(func() {
				if c, err := cluster.Open(dir + "/c"); err == nil {
					if err := c.Down(t.Context()); err != nil {
						t.Error(err)
					}
				}
				os.RemoveAll(dir)
			})
			return nil
		},
	})
}
