package stage

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/golaunch/golaunch/internal/bootstrap"
	"github.com/golaunch/golaunch/internal/unix"
)

// Installed is the executable of an agent that hosts may have, on a file system
// that they share or in a place where it was installed. The zero value is none.
type Installed struct {
	Path  string `cbor:"1,keyasint"`
	Size  int64  `cbor:"2,keyasint"` // bytes
	MTime int64  `cbor:"3,keyasint"` // seconds since 1970
	// Owned says that here the file is its user's own, and that nobody else can write
	// it or change the meaning of its path. Then a host on which it is the account's
	// own, too, runs it without a look at the rest of it.
	Owned bool `cbor:"4,keyasint,omitempty"`
}

// SelfInstalled describes the running executable by its own name, if it still
// has one.
func SelfInstalled() Installed {
	path, err := os.Executable()
	if err != nil {
		return Installed{}
	}
	named, err := os.Stat(path)
	if err != nil {
		return Installed{}
	}
	running, err := os.Stat(running)
	if err != nil || !os.SameFile(named, running) {
		return Installed{}
	}
	return Installed{Path: path, Size: named.Size(), MTime: named.ModTime().Unix(), Owned: owned(path)}
}

// owned says whether path is an ordinary file of this user that nobody else
// can write, below directories that nobody else, but root, can change.
func owned(path string) bool {
	if !safe(path, os.Geteuid()) {
		return false
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if !safe(dir, os.Geteuid(), 0) {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}

// safe says whether path, without following a link, belongs to one of owners and cannot
// be written by its group or others.
func safe(path string, owners ...int) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&(os.ModeSymlink|0o022) != 0 {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	for _, uid := range owners {
		if ok && int(stat.Uid) == uid {
			return true
		}
	}
	return false
}

// stamp returns the text that is compared: "SIZE MTIME".
func (i Installed) stamp() string { return fmt.Sprint(i.Size, " ", i.MTime) }

// InstalledWord is the first word of an agent that a login shell ran because
// the file is its account's own. The next word is for Accept.
const InstalledWord = "--installed"

// StartWord is an option of an agent, whose next word is the magic of its start: it is
// for readers of command lines.
const StartWord = "--start"

// EmptyWord is an option of an agent that --unlink has remove its file and directory: the
// next word is the directory above, which was made for it.
const EmptyWord = "--empty"

// processors is the environment variable that keeps the host's own GOMAXPROCS, "" for none,
// until RestoreEnviron.
const processors = "GOLAUNCH_GOMAXPROCS"

// frugal has a shell of any kind prepare settings that would be too late once it has
// become the agent, which keeps its timer slack (see unix.CoarseTimers) and its
// environment: an agent that begins on all processors stops all that it does to go back
// to one, and gives up memory that it has just set up. Csh, which has no export, is
// known by $shell.
var frugal = fmt.Sprintf(`test "$shell" || export %[3]s="$GOMAXPROCS" GOMAXPROCS=1; test -w %[1]s && echo %[2]d >> %[1]s; `,
	"/proc/self/timerslack_ns", unix.CoarseTimers.Nanoseconds(), processors)

// RestoreEnviron gives the running agent the environment that it has of its host,
// without variables that its start has set for its own sake.
func RestoreEnviron() {
	own, set := os.LookupEnv(processors)
	if !set {
		return
	}
	_ = os.Unsetenv(processors) // a name without a fault
	if _ = os.Unsetenv("GOMAXPROCS"); own != "" {
		_ = os.Setenv("GOMAXPROCS", own)
	}
}

// line returns a command for login shells of any kind: it runs the installed file with
// words as its arguments, else otherwise. It costs no process beyond the shell.
func (i Installed) line(magic string, words []string, otherwise string) (string, error) {
	condition, err := i.condition()
	if err != nil {
		return "", err
	}
	// As in script, the magic goes in halves.
	about := strings.Join([]string{magic[:16], magic[16:], i.stamp()}, " ")
	run, err := bootstrap.CommandLine(append([]string{i.Path, InstalledWord, about}, words...))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%stest %s && exec %s || exec %s", frugal, condition, run, otherwise), nil
}

// condition returns arguments of test, which every login shell has or finds, that hold
// for the installed file if it and its directory are the account's own, nothing on its
// path is a link, and in no directory above others can exchange ours: where the account
// may write though it is not the owner, others might, too, unless the directory is
// sticky. So only the account can have put the file there. Csh leaves an exclamation
// mark alone that has a blank behind it.
func (i Installed) condition() (string, error) {
	path, err := bootstrap.CommandLine([]string{i.Path})
	if err != nil {
		return "", err
	}
	all := []string{fmt.Sprintf("-f %s -a -x %s -a -O %s -a ! -L %s", path, path, path, path)}
	for dir := filepath.Dir(i.Path); ; dir = filepath.Dir(dir) {
		word, err := bootstrap.CommandLine([]string{dir})
		if err != nil {
			return "", err
		}
		owner := "-O " + word
		if dir != filepath.Dir(i.Path) {
			owner = fmt.Sprintf(`"(" -O %s -o -k %s -o ! -w %s ")"`, word, word, word)
		}
		all = append(all, owner+" -a ! -L "+word)
		if dir == filepath.Dir(dir) {
			return strings.Join(all, " -a "), nil
		}
	}
}

// Accept tells the starter, on w, whether the running executable is the one it means,
// as the word after InstalledWord describes it: then the agent's own output follows.
// One that was named by its path (Options.AgentPath) is not described. An error means
// that it does not, and has the words heard.
func Accept(w io.Writer, about string) error {
	f := strings.Fields(about)
	if len(f) == 2 {
		_, err := fmt.Fprintf(w, "%s%s have\n", f[0], f[1])
		return err
	}
	if len(f) != 4 {
		return fmt.Errorf("%s %q: two halves of the magic, a size and a time are needed", InstalledWord, about)
	}
	info, err := os.Stat(running)
	if err != nil {
		return fmt.Errorf("own executable: %w", err)
	}
	verb, own := "have", Installed{Size: info.Size(), MTime: info.ModTime().Unix()}
	if own.stamp() != f[2]+" "+f[3] {
		verb, err = "other", fmt.Errorf("own executable is another (size and time %s, want %s %s)", own.stamp(), f[2], f[3])
	}
	if _, err := fmt.Fprintf(w, "%s%s %s\n", f[0], f[1], verb); err != nil {
		return err
	}
	return err
}
