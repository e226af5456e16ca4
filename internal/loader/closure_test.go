package loader

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program that starts nothing and loads nothing has no MPI but what its file names.
func TestAlone(t *testing.T) {
	for name, x := range map[string]struct {
		source string
		flags  []string
		want   bool
	}{
		"no calls":      {"int main(void) { puts(\"\"); return fork(); }", nil, true},
		"of libm":       {"int main(int n, char **v) { return sin(n); }", []string{"-fno-builtin", "-lm"}, true},
		"executes":      {"int main(int n, char **v) { return execvp(v[1], v + 1); }", nil, false},
		"by the shell":  {"int main(int n, char **v) { return system(v[1]); }", nil, false},
		"by a number":   {"int main(void) { return syscall(59, 0, 0, 0); }", nil, false},
		"loads":         {"int main(int n, char **v) { return !dlopen(v[1], 1); }", []string{"-ldl"}, false},
		"of a compiler": {"int main(void) { return 0; }", []string{"-Wl,--no-as-needed", "-lgcc_s"}, false},
		"static":        {"int main(void) { return 0; }", []string{"-static"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			source, file := filepath.Join(dir, "main.c"), filepath.Join(dir, "main")
			require.NoError(t, os.WriteFile(source, []byte(x.source), 0o600))
			out, err := exec.Command("gcc", append([]string{"-w", "-o", file, source}, x.flags...)...).CombinedOutput()
			require.NoError(t, err, "%s", out)
			f, err := elf.Open(file)
			require.NoError(t, err)
			defer f.Close()
			libraries, err := f.ImportedLibraries()
			require.NoError(t, err)
			require.Equal(t, x.want, Alone(file, libraries))
		})
	}
	require.False(t, Alone("/none", nil))
}
