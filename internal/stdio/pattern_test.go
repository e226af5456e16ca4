package stdio

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/job"
)

func TestPattern(t *testing.T) {
	tests := []struct {
		pattern string
		want    string // for rank 42 on host n7 in job j1
		perRank bool
		perHost bool
	}{
		{pattern: "out", want: "out"},
		{pattern: "out.%r", want: "out.42", perRank: true},
		{pattern: "%h/%j.%r%%", want: "n7/j1.42%", perRank: true, perHost: true},
		{pattern: "%05r", want: "00042", perRank: true},
		{pattern: "%01r", want: "42", perRank: true},
		{pattern: "%%r", want: "%r"},
		{pattern: "%h%h", want: "n7n7", perHost: true},
	}
	for _, tt := range tests {
		p, err := ParsePattern(tt.pattern)
		require.NoError(t, err)
		assert.Equal(t, tt.want, p.Expand(rankID(42), "n7", "j1"))
		assert.Equal(t, tt.perRank, p.PerRank(), tt.pattern)
		assert.Equal(t, tt.perHost, p.PerHost(), tt.pattern)
		assert.Equal(t, tt.pattern, p.String())
		assert.True(t, p.Given())
	}
	for pattern, want := range map[string]string{"out.%r": "out.3.42", "%05r": "3.00042"} { // of world 3
		p, err := ParsePattern(pattern)
		require.NoError(t, err)
		assert.Equal(t, want, p.Expand(job.RankID{World: 3, Rank: 42}, "n7", "j1"))
	}
	p, err := ParsePattern("d/%h-%j")
	require.NoError(t, err)
	assert.Equal(t, "d/.._etc-a_b", p.Expand(rankID(0), "../etc", "a/b"), "names do not choose the directory")
}

func TestPatternErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		"":      "empty",
		"a%":    `bad escape "%" at position 2`,
		"ab%x%": `bad escape "%x" at position 3`,
		"%00r":  `bad escape "%00r" at position 1`,
		"%5r":   `bad escape "%5r" at position 1`,
		"%05h":  `bad escape "%05h" at position 1`,
		"%012r": `bad escape "%012r" at position 1`,
		"a\x00": "zero byte at position 2",
	} {
		_, err := ParsePattern(pattern)
		require.ErrorContains(t, err, want, "%q", pattern)
	}
	_, err := ParsePatterns("ok", "%z")
	require.ErrorContains(t, err, `--err: output pattern "%z"`)
}

func TestPatternSet(t *testing.T) {
	set, err := ParsePatterns("o.%r", "")
	require.NoError(t, err)
	assert.True(t, set.PerRank(Stdout))
	assert.False(t, set.PerRank(Stderr))
	assert.False(t, set.For(Stderr).Given())
	assert.False(t, set.For(9).Given())
	assert.False(t, set.Joined())

	set, err = ParsePatterns("./a.%r", "a.%r")
	require.NoError(t, err)
	assert.True(t, set.Joined(), "one file under two spellings")

	set, err = ParsePatterns("", "")
	require.NoError(t, err)
	assert.False(t, set.Joined())
}

func FuzzPattern(f *testing.F) {
	for _, s := range []string{"out.%r", "%05r%h%j%%", "%", "%0", "a%00r", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePattern(s)
		if err != nil {
			return
		}
		a, b := p.Expand(rankID(1), "h", "j"), p.Expand(rankID(2), "h", "j")
		assert.Equal(t, p.PerRank(), a != b, "only a pattern with a rank tells ranks apart")
		assert.Equal(t, p.PerHost(), a != p.Expand(rankID(1), "other", "j"))
	})
}

// Labels may have the time, files may not.
func TestLabel(t *testing.T) {
	p, err := ParseLabel("%t %h/%r: ")
	require.NoError(t, err)
	assert.True(t, p.Timed())
	at := time.Date(2026, 11, 28, 3, 59, 15, 123_999_999, time.Local)
	want := "2026-11-28T03:59:15.123" + at.Format("Z07:00") + " n7/42: "
	assert.Equal(t, want, p.Label(rankID(42), "n7", "j1", at))
	p, err = ParseLabel("%r")
	require.NoError(t, err)
	assert.False(t, p.Timed())
	_, err = ParseLabel("%x")
	require.EqualError(t, err, `label "%x": bad escape "%x" at position 1: known are %r, %0Nr, %h, %j, %t and %%`)
	_, err = ParsePattern("out.%t")
	require.EqualError(t, err, `output pattern "out.%t": bad escape "%t" at position 5: known are %r, %0Nr, %h, %j and %%`)
}
