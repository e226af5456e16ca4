package pmixhelper

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/golaunch/golaunch/internal/pmix"
)

// The bodies that an agent may send.
var bodies = []any{
	pmix.Init{}, pmix.World{}, pmix.Forget{}, pmix.Gone{}, pmix.Done{}, pmix.Data{}, pmix.Found{}, pmix.Spawned{},
	pmix.Grouped{}, pmix.Ask{}, pmix.Notify{}, pmix.End{}, pmix.Ping{},
}

// anything draws a value of a message.
func anything(t *rapid.T, v reflect.Value) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Uint8, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(rapid.Uint8Range(0, 4).Draw(t, "number")))
	case reflect.Int32:
		v.SetInt(int64(rapid.IntRange(-1, 2).Draw(t, "number")))
	case reflect.String:
		v.SetString(rapid.StringMatching(`[a-c,\x00]{0,3}|a{250,260}`).Draw(t, "text"))
	case reflect.Struct:
		for i := range v.NumField() {
			anything(t, v.Field(i))
		}
	default:
		for range rapid.IntRange(0, 3).Draw(t, "items") {
			item := reflect.New(v.Type().Elem()).Elem()
			anything(t, item)
			v.Set(reflect.Append(v, item))
		}
	}
}

// aWorld draws a world that can be.
func aWorld(t *rapid.T) pmix.World {
	hosts := rapid.IntRange(1, 4).Draw(t, "hosts")
	w := pmix.World{Namespace: "w", Apps: []pmix.App{{Argv: []string{"a", "b"}}}, Self: int32(rapid.IntRange(-1, hosts-1).Draw(t, "self"))}
	for h := range hosts {
		w.Hosts = append(w.Hosts, fmt.Sprint("host", h))
		b := pmix.Block{First: w.Apps[0].Size, Count: uint32(rapid.IntRange(1, 30).Draw(t, "ranks")), Host: uint32(h)}
		for i := range b.Count {
			if int32(h) == w.Self && rapid.Bool().Draw(t, "speaks PMIx") {
				w.Locals = append(w.Locals, pmix.Local{Rank: b.First + i, CPUs: "0-1"})
			}
		}
		w.Apps[0].Size += b.Count
		w.Blocks = append(w.Blocks, b)
	}
	return w
}

// aFrame draws a frame, and mostly breaks it.
func aFrame(t *rapid.T) []byte {
	var body any
	if rapid.IntRange(0, 3).Draw(t, "world") == 0 {
		body = aWorld(t)
	} else {
		v := reflect.New(reflect.TypeOf(rapid.SampledFrom(bodies).Draw(t, "kind"))).Elem()
		anything(t, v)
		body = v.Interface()
	}
	b := pmix.Append(nil, 0, body)
	for range rapid.IntRange(0, 3).Draw(t, "breaks") {
		switch at := rapid.IntRange(4, len(b)-1).Draw(t, "where"); rapid.IntRange(0, 3).Draw(t, "how") {
		case 0:
			b[at] = rapid.Byte().Draw(t, "byte")
		case 1:
			b = b[:at+1]
		case 2:
			b = append(b, b[at:]...)
		default:
			b[at] = rapid.SampledFrom([]byte{0, 1, 127, 128, 255}).Draw(t, "byte")
		}
		for len(b) < 9 {
			b = append(b, 0)
		}
	}
	binary.LittleEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// The helper takes the frames that package pmix takes, and no others, under sanitizers.
// It alone refuses NULs in texts, and names longer than PMIx has.
func TestFrames(t *testing.T) {
	sources, err := filepath.Glob(filepath.Join(root(t), "native", "pmix", "*.c"))
	require.NoError(t, err)
	flags := []string{"-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-I" + filepath.Join(root(t), "native", "pmix")}
	for _, s := range sources {
		if name := filepath.Base(s); name != "main.c" && name != "start.c" && name != "names.c" && name != "upcalls.c" && name != "query.c" {
			flags = append(flags, s)
		}
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("skipped: no gcc; apt-get install gcc")
	}
	driver := exec.Command(compile(t, "gcc", filepath.Join("testdata", "framedriver.c"), append(flags, "-pthread", "-ldl")...))
	in, err := driver.StdinPipe()
	require.NoError(t, err)
	stdout, err := driver.StdoutPipe()
	require.NoError(t, err)
	stderr := &output{}
	driver.Stderr = stderr
	require.NoError(t, driver.Start())
	lines := bufio.NewReader(stdout)
	t.Cleanup(func() { _ = driver.Process.Kill(); _ = driver.Wait() })

	rapid.Check(t, func(t *rapid.T) {
		b := aFrame(t)
		_, n, wrong := pmix.Next(b)
		good := wrong == nil && n == len(b) && b[4] <= byte(pmix.KindPing)
		_, err := in.Write(append(binary.LittleEndian.AppendUint32(nil, uint32(len(b))), b...))
		require.NoError(t, err, "%s", stderr)
		line, err := lines.ReadString('\n')
		require.NoError(t, err, "%s", stderr)
		switch line = strings.TrimSuffix(line, "\n"); line {
		case "bad: a text has a NUL", "bad: a name is too long":
		default:
			require.Equal(t, good, line == "ok", "%s; %v", line, wrong)
		}
	})
	require.NoError(t, in.Close())
	rest, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Empty(t, string(rest))
	require.NoError(t, driver.Wait(), "%s", stderr) // leaks are found here
}

// library.h and keys.h agree with the headers of PMIx, if any are here.
func TestLayout(t *testing.T) {
	names := map[string]pmix.Status{
		"PMIX_SUCCESS": pmix.Success, "PMIX_ERROR": pmix.Failure, "PMIX_ERR_TIMEOUT": pmix.Timeout,
		"PMIX_ERR_UNREACH": pmix.Unreachable, "PMIX_ERR_BAD_PARAM": pmix.BadParameter,
		"PMIX_ERR_OUT_OF_RESOURCE": pmix.OutOfResource, "PMIX_ERR_NOT_FOUND": pmix.NotFound,
		"PMIX_ERR_NOT_SUPPORTED": pmix.NotSupported, "PMIX_ERR_LOST_CONNECTION": pmix.LostConnection,
		"PMIX_ERR_PARTIAL_SUCCESS": pmix.PartialSuccess, "PMIX_ERR_DUPLICATE_KEY": pmix.DuplicateKey,
		"PMIX_ERR_PROC_TERM_WO_SYNC": pmix.ProcTerminated,
	}
	var head, keys strings.Builder
	head.WriteString("#define STATUSES ")
	for name, status := range names {
		fmt.Fprintf(&head, "STATUS(%s, %d) ", name, status)
	}
	native := filepath.Join(root(t), "native", "pmix")
	text, err := os.ReadFile(filepath.Join(native, "keys.h"))
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(`(?m)^#define KEY_(\w+) "pmix`).FindAllStringSubmatch(string(text), -1) {
		fmt.Fprintf(&keys, "SAME(__builtin_strcmp(KEY_%s, PMIX_%[1]s), 0); ", m[1])
	}
	layout, err := filepath.Abs(filepath.Join("testdata", "layout.c"))
	require.NoError(t, err)
	source := filepath.Join(t.TempDir(), "all.c")
	all := fmt.Sprintf("%s\n#define KEYS %s\n#include \"%s\"\n", &head, &keys, layout)
	require.NoError(t, os.WriteFile(source, []byte(all), 0o644))

	lib := filepath.Join("usr", "lib", "x86_64-linux-gnu", "pmix2", "include")
	for name, headers := range map[string]string{
		"PMIx 4": filepath.Join("/", lib), "PMIx 5": filepath.Join(root(t), ".cache", "openmpi5", lib),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := os.Stat(headers); err != nil {
				t.Skip("skipped: no headers; apt-get install libpmix-dev, scripts/openmpi5.sh")
			}
			out, err := exec.Command("gcc", "-std=gnu11", "-fsyntax-only", "-I"+headers, "-I"+native, source).CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
}
