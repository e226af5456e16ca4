package stage

import (
	"bufio"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The promises of script's doc comment to every login shell.
func TestScriptQuotesTheSameEverywhere(t *testing.T) {
	for _, text := range []string{loader, script()} {
		require.NotContains(t, text, "'")
		require.NotContains(t, text, "!")
		require.NotContains(t, text, `\`)
		require.NotContains(t, text, "\n")
	}
	require.Less(t, len(loader), 100, "what every list of processes shows")
}

func TestPlatform(t *testing.T) {
	for uname, want := range map[string]string{
		"Linux x86_64":  "linux/amd64",
		"Linux aarch64": "linux/arm64",
		"Linux i686":    "linux/386",
	} {
		goos, arch, err := platform(uname)
		require.NoError(t, err)
		require.Equal(t, want, goos+"/"+arch)
		require.Equal(t, uname, unameOf(goos, arch))
	}
	for _, uname := range []string{"", "Linux", "Linux pdp11", "Darwin arm64"} {
		_, _, err := platform(uname)
		require.Error(t, err)
	}
	require.NotEmpty(t, unameOf(runtime.GOOS, runtime.GOARCH))
	require.Empty(t, unameOf("plan9", "amd64"))
}

// Lines with the magic are found whatever stands before and between them, and
// all else is noise, in order.
func TestLinesAmongNoise(t *testing.T) {
	const magic = "0123456789abcdef0123456789abcdef"
	rapid.Check(t, func(t *rapid.T) {
		var stream strings.Builder
		var want, noise []string
		for range rapid.IntRange(0, 6).Draw(t, "lines") {
			for range rapid.IntRange(0, 3).Draw(t, "noise") {
				s := strings.Repeat(rapid.SampledFrom([]string{"", "x", "01234567", "ab c"}).Draw(t, "text"), rapid.SampledFrom([]int{1, 700, 5000}).Draw(t, "times"))
				stream.WriteString(s + "\n")
				noise = append(noise, s)
			}
			if s := strings.Repeat("p", rapid.SampledFrom([]int{0, 1, 4090, 20000}).Draw(t, "prompt")); s != "" {
				stream.WriteString(s)
				noise = append(noise, s)
			}
			line := rapid.SampledFrom([]string{"got", "need Linux x86_64", "skip /tmp: why"}).Draw(t, "line")
			stream.WriteString(magic + " " + line + "\n")
			want = append(want, line)
		}
		var heard []string
		l := &lineReader{r: bufio.NewReader(strings.NewReader(stream.String())), magic: magic, noise: func(s string) { heard = append(heard, s) }}
		for _, w := range want {
			got, err := l.next()
			require.NoError(t, err)
			require.Equal(t, w, got)
		}
		_, err := l.next()
		require.ErrorIs(t, err, io.EOF)
		require.Equal(t, noise, heard)
	})
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("noise\nMAGIC got\n"))
	f.Add([]byte(strings.Repeat("x", 5000) + "MAGIC got\nrest"))
	f.Fuzz(func(t *testing.T, data []byte) {
		heard := 0
		l := &lineReader{r: bufio.NewReader(strings.NewReader(string(data))), magic: "MAGIC", noise: func(s string) { heard += len(s) }}
		for {
			line, err := l.next()
			if err != nil {
				require.True(t, errors.Is(err, io.EOF) || errors.Is(err, errNoise) || errors.Is(err, errWordy))
				break
			}
			require.NotContains(t, line, "\n")
		}
		require.LessOrEqual(t, heard, len(data))
	})
}
