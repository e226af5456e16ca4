package flags

import "github.com/spf13/pflag"

// A Table defines flags of a group one after the other, each with its facts for help,
// completion and the reading of lines.
type Table struct {
	Set   *pflag.FlagSet
	Group string
}

// An About is one more fact about a flag.
type About func(f *pflag.Flag)

// Value adds a flag with a value of any kind. Short is its letter, "" for none.
func (t *Table) Value(v pflag.Value, name, short, usage string, more ...About) {
	t.about(t.Set.VarPF(v, name, short, usage), more)
}

// Yes adds a flag that is given or not.
func (t *Table) Yes(p *bool, name, short, usage string, more ...About) {
	t.Set.BoolVarP(p, name, short, *p, usage)
	t.about(t.Set.Lookup(name), more)
}

// Times adds a flag that counts its mentions.
func (t *Table) Times(p *int, name, short, usage string, more ...About) {
	t.Set.CountVarP(p, name, short, usage)
	t.about(t.Set.Lookup(name), more)
}

func (t *Table) about(f *pflag.Flag, more []About) {
	note(f, GroupKey, t.Group)
	for _, m := range more {
		m(f)
	}
}

// Describe says more of a flag that was defined otherwise.
func Describe(f *pflag.FlagSet, name string, more ...About) {
	for _, m := range more {
		m(f.Lookup(name))
	}
}

func note(f *pflag.Flag, key string, values ...string) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[key] = values
}

func marked(key string) About { return func(f *pflag.Flag) { note(f, key, "yes") } }

// Facts about a flag: it may be given more than once, or for each app; its value is a
// file or a directory; no variable stands for it.
var (
	Repeats   = marked(RepeatKey)
	PerApp    = marked(AppKey)
	IsFile    = marked(FilesKey)
	IsDir     = marked(DirsKey)
	LineAlone = marked(NoVariable)
)

// Hidden keeps a flag out of help and completion.
func Hidden(f *pflag.Flag) { f.Hidden = true }

// Else sets the value of a flag that is given without one.
func Else(value string) About { return func(f *pflag.Flag) { f.NoOptDefVal = value } }

// Choices lists the values that a flag has, or those that are words.
func Choices[T ~string](values ...T) About {
	return func(f *pflag.Flag) { note(f, ChoicesKey, Texts(values)...) }
}

// Told lists the values that a flag has, each with its meaning.
func Told[T ~string](meaning func(T) string, values []T) About {
	return func(f *pflag.Flag) {
		note(f, ChoicesKey, Texts(values)...)
		texts := make([]string, len(values))
		for i, v := range values {
			texts[i] = meaning(v)
		}
		note(f, TellKey, texts...)
	}
}
