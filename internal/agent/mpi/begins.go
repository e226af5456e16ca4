package mpi

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/golaunch/golaunch/internal/agent/serve"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/loader"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/internal/proc"
	"github.com/golaunch/golaunch/internal/unix"
)

// Ranks whose program's file does not show their MPI library, and those of Open MPI 4,
// preload a library (native/libmpiinit) that asks the agent, when MPI begins, by which
// variables it finds golaunch. The agent looks at what the process has loaded by then. So
// nothing foreign is in the environment of what ranks start, and a PMIx server is started
// when one is needed, not before.

// beginsPipe is the variable by which ranks find where they ask.
const beginsPipe = "GOLAUNCH_MPI_PIPE"

// begun describes the MPI library that the local ranks of a world have begun to use.
type begun struct {
	known bool       // the rest is
	asked []question // until it is known

	library string   // its file, for words; "" if it is not known
	pmix    *pmixUse // nil if it speaks no PMIx
	flux    bool     // it finds golaunch's PMI-1 as Flux's
	hangs   string   // an MPICH that hangs in MPI_Finalize; "" for none, and for one that is cured already
	why     string   // why its ranks cannot find each other
}

// reason says why ranks cannot find each other.
func (b *begun) reason() string {
	if b.library == "" {
		return b.why
	}
	return b.library + ": " + b.why
}

// finalizeWord, in an answer, has a rank's MPICH not hang in MPI_Finalize.
const finalizeWord = "+finalize"

// question is a rank's.
type question struct {
	fd   int // of the pipe that the answer goes to
	pid  int // of the process that asks
	rank *serve.Rank
}

// beginsAt opens the pipe on which local ranks ask, at which nobody but this user's processes
// can write.
func (l *Libraries) beginsAt() (string, error) {
	if l.beginsPath != "" {
		return l.beginsPath, nil
	}
	r, w, err := unix.Pipe()
	if err != nil {
		return "", err
	}
	err = unix.SetNonblock(r)
	if err == nil {
		err = l.agent.Watch(r, serve.HandlerFunc(func(_ unix.Ready, buf []byte) { l.takeQuestions(r, buf) }))
	}
	if err != nil {
		unix.Close(r)
		unix.Close(w)
		return "", err
	}
	l.beginsEnds = [2]int{r, w} // open while the job is here: the pipe has no end
	l.beginsPath = fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), w)
	return l.beginsPath, nil
}

// closeBegins closes it.
func (l *Libraries) closeBegins() {
	if l.beginsPath != "" {
		l.beginsPath = ""
		l.agent.CloseFD(l.beginsEnds[0])
		unix.Close(l.beginsEnds[1])
	}
}

// Files counts the files that answers to a world's local ranks need: a pipe for each rank
// that asks, as mostly all begin MPI at once, and beginsFiles.
func (w *World) Files() (n int) {
	for _, r := range w.view.Ranks {
		if !r.Exited && w.libraries[r.App].preloads() {
			n++
		}
	}
	if n > 0 {
		n += beginsFiles
	}
	return n
}

// beginsFiles are the pipe on which ranks ask, a pipe that is about to be opened for an answer, and
// the socket and the output of the PMIx helper that is started then.
const beginsFiles = 2 + 1 + 2

// questionSize is that of a question on the pipe: the number of a process, of the
// descriptor that it reads the answer from, and of that pipe's inode.
const questionSize = 4 + 4 + 8

// takeQuestions takes those that wait. Each is written at once, and so is whole.
func (l *Libraries) takeQuestions(r int, buf []byte) {
	n, err := unix.Read(r, buf[:len(buf)/questionSize*questionSize])
	if err != nil {
		return // nothing is there
	}
	for q := range slices.Chunk(buf[:n], questionSize) {
		if len(q) < questionSize {
			return // no rank's
		}
		pid, fd := int(binary.NativeEndian.Uint32(q)), binary.NativeEndian.Uint32(q[4:])
		if fd == unseen {
			l.unanswered(pid, 1, "it lets nobody look at it, as where its program's file may not be read")
			continue
		}
		pipe, err := unix.OpenAnswer(pid, int(fd), binary.NativeEndian.Uint64(q[8:]))
		switch {
		case errors.Is(err, os.ErrNotExist): // it has ended
			l.agent.Note(1, "how its MPI finds golaunch is not told to process %d: %v", pid, err)
		case err != nil:
			l.unanswered(pid, 0, err.Error())
		default:
			l.agent.WithRank(pid, func(w *World, r *serve.Rank) { w.question(question{pipe, pid, r}) })
		}
	}
}

// unseen is, in a question, the descriptor of a process of Open MPI that knows that it
// cannot be looked at, and goes on without an answer.
const unseen = 1<<32 - 1

// unanswered fails the rank, in a world of more than alone, whose process cannot be told
// how its MPI finds golaunch.
func (l *Libraries) unanswered(pid, alone int, why string) {
	l.agent.WithRank(pid, func(w *World, r *serve.Rank) {
		if r != nil && w.view.Size > alone {
			w.failAlone(r, fmt.Sprintf("process %d cannot be told how its MPI finds golaunch: %s; "+
				"--mpi pmix has Open MPI find it, --mpi none leaves it alone", pid, why))
		}
	})
}

// question takes that of a process of a rank of w, or of none: then w is nil.
func (w *World) question(q question) {
	r := q.rank
	if r == nil || !proc.SameLauncher(r.PID, q.pid) { // another launcher's, which a rank has started
		reply(q.fd)
		return
	}
	if w.asks == nil {
		w.asks = map[job.Rank]bool{}
	}
	w.asks[r.Number] = true
	switch b := w.begun; {
	case b == nil:
		w.begun = &begun{asked: []question{q}}
		w.lookInto(r, q.pid)
	case !b.known:
		b.asked = append(b.asked, q)
	default:
		w.answerQuestion(q)
	}
}

// lookInto finds out what a process uses that begins MPI.
func (w *World) lookInto(r *serve.Rank, pid int) {
	helper, noHelper := w.library(overlay.PMIxHelper, w.libraries[r.App])
	look := func(ctx context.Context) begun { return lookAtProcess(ctx, pid, helper, noHelper) }
	late := begun{why: fmt.Sprintf("process %d has not shown within %v which MPI library it uses", pid, askLimit)}
	within(askLimit, look, late, func(b begun) { w.view.Post(func() { w.begunKnown(b) }) })
}

// lookAtProcess finds out what a process uses that begins MPI, and waits.
func lookAtProcess(ctx context.Context, pid int, helper, noHelper string) (b begun) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	p := loader.Program{Env: proc.EnvironOf(pid)}
	p.File, _ = os.Readlink(dir + "exe")
	p.Dir, _ = os.Readlink(dir + "cwd")
	files, err := proc.Mapped(pid) // last, as a process that has ended has none
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ESRCH): // it has ended
		return begun{}
	case err != nil:
		return begun{why: fmt.Sprintf("the libraries of process %d cannot be seen: %v", pid, err)}
	}
	var libraries []loader.Library
	for _, file := range files { // what MPI is made of in front, where more is sought
		l := loader.Library{Name: filepath.Base(file), File: file}
		switch {
		case isMPI(l.Name), mayNeedPMIx(l.Name):
			libraries = slices.Insert(libraries, 0, l)
		case strings.Contains(l.Name, ".so"):
			libraries = append(libraries, l)
		}
	}
	if i := slices.IndexFunc(libraries, func(l loader.Library) bool { return isMPICH(l.Name) }); i >= 0 {
		b.library = libraries[i].File
		if !slices.ContainsFunc(files, func(file string) bool { return strings.Contains(file, fixName) }) {
			b.hangs = hangingMPICH(b.library)
		}
	}
	four := fileOf(libraries, openRTE)
	u := pmixUse{uses: pmixIn(libraries, lacksPMI)}
	switch {
	case four != "":
		b.library = four
	case u.uses == "":
		return b // it speaks PMI
	default:
		b.library = u.uses
	}
	if u.why = noHelper; u.why == "" {
		u.plan, u.why = planHelper(ctx, p, libraries, helper)
	}
	switch {
	case four == "":
		b.pmix, b.why = &u, u.why
	case u.why == "" && isServer(u.plan.library):
		u.uses, u.four = "Open MPI 4 ("+four+")", true
		b.pmix = &u
	default:
		b.flux = true
	}
	return b
}

// isServer reports whether a libpmix is one that the helper can be a server with: version
// 4 or later, which has a function that earlier ones lack.
func isServer(libpmix string) bool {
	known, err := loader.Defines(libpmix, "PMIx_server_define_process_set")
	return err == nil && known
}

// begunKnown answers those who wait for it, once the PMIx server is ready that they need.
func (w *World) begunKnown(result begun) {
	b := w.begun
	result.asked = b.asked
	*b = result
	if b.hangs != "" && w.view.Launch.MPICHFix != overlay.FixAffected {
		b.hangs = ""
	}
	if b.hangs != "" && w.view.Local(0) != nil {
		w.view.Note(1, "world %d uses %s, whose hang in MPI_Finalize is cured (--mpi none leaves it)", w.view.ID, b.hangs)
	}
	u := b.pmix
	if u == nil || u.why != "" || w.isOver() {
		w.answerAll()
		return
	}
	if w.view.Local(0) != nil {
		w.view.Note(1, "world %d is served over PMIx (%s), with %s", w.view.ID, u.uses, u.plan.library)
	}
	w.l.Helpers.plan(u.plan)
	w.pmix.Join(u.plan.library, func(err error) {
		if err != nil {
			b.why = err.Error()
		}
		w.answerAll()
	})
}

// answerAll answers those who wait for what their world uses.
func (w *World) answerAll() {
	b := w.begun
	asked := b.asked
	b.known, b.asked = true, nil
	switch {
	case w.isOver():
		for _, q := range asked {
			reply(q.fd)
		}
	case b.library == "" && b.why == "": // a process without MPI decides nothing: the next may have one
		w.begun = nil
		reply(asked[0].fd)
		for _, q := range asked[1:] {
			w.question(q)
		}
	default:
		for _, q := range asked {
			w.answerQuestion(q)
		}
	}
}

// answerQuestion tells a rank by which variables its MPI finds golaunch, or why it cannot.
func (w *World) answerQuestion(q question) {
	b, env := w.begun, []string(nil)
	switch {
	case b.why != "" && w.view.Size > 1:
		env = []string{"!"}
		w.failAlone(q.rank, b.reason())
	case b.why != "":
		w.view.Note(1, "%s runs alone: %s", path.Base(w.view.Apps[q.rank.App].Argv[0]), b.reason())
	case b.pmix != nil:
		env = append(w.pmix.Environment(q.rank), w.pmixEnv(q.rank.App, b.pmix.four)...)
	case b.flux:
		env = w.fluxEnv(q.rank.App)
	}
	if b.hangs != "" {
		env = append(env, finalizeWord)
	}
	reply(q.fd, env...)
}

// reply answers a question: with its length, and texts that each end with a zero byte.
func reply(fd int, texts ...string) {
	defer unix.Close(fd)
	var all []byte
	for _, text := range texts {
		all = append(append(all, text...), 0)
	}
	b := binary.NativeEndian.AppendUint32(nil, uint32(len(all)))
	_, _ = syscall.Write(fd, append(b, all...)) // it has room for it all, or whoever asks is gone
}

// failAlone reports that a rank's MPI takes it, or would take it, for the only rank.
func (w *World) failAlone(r *serve.Rank, why string) {
	if !r.Aborted {
		r.Aborted = true
		w.view.Fail(r, job.Failure{Class: job.CauseProtocol, Phase: job.PhaseAlone, Text: why})
	}
}

// libDL is the library that libmpiinit is linked with: a loader that lacks it ends the program.
const libDL = "libdl.so.2"

// beginsEnv finds the file that the ranks of an app preload to ask, and the variable by which they
// find where; "" for nothing.
func (w *World) beginsEnv(app int) (file string, env []string) {
	lib := w.libraries[app]
	if !lib.preloads() {
		return "", nil
	}
	file, why := w.library(overlay.LibMPIInit, lib)
	program := loader.Program{File: lib.needs.File, Dir: w.view.Apps[app].Dir, Env: w.envOf(app)}
	if why == "" && lib.readErr == nil && !loader.HasRuntime(program, libDL) {
		why = fmt.Sprintf("this host has no %s, which what finds golaunch needs", libDL)
	}
	var at string
	if why == "" {
		var err error
		if at, err = w.l.beginsAt(); err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		if w.view.Local(lib.first) != nil {
			w.view.Note(1, "%s: if it uses Open MPI, its ranks will not find each other: %s", w.view.Apps[app].Argv[0], why)
		}
		return "", nil
	}
	return file, []string{beginsPipe + "=" + at}
}
