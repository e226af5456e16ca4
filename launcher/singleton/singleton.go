// Package singleton serves a program that was started without a launcher and
// then needs a process manager: MPICH's library listens on a port and starts
//
//	mpiexec -pmi_args PORT default_interface default_key PID
//
// (singleton init, protocols 1.7). golaunch, called by that name, runs an
// ordinary job of one rank for it, on this machine. That rank is a bridge: it
// connects to the port and passes bytes between the program and the agent, so
// that to the rest of the job the program is rank 0 of world 0. The program
// keeps its own standard input and output.
//
// Not here: the requests over PMI (package pmi), the job (package launcher).
package singleton

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golaunch/golaunch/internal/bootstrap/registry"
)

// Word is the first argument that makes golaunch's own executable the bridge.
const Word = "nla-singleton"

// callWord is the flag by which MPICH's library calls its mpiexec.
const callWord = "pmi_args"

// greetTimeout bounds the handshake with the program.
const greetTimeout = 30 * time.Second

// maxLine bounds a line of the handshake, in bytes.
const maxLine = 1024

// Args returns the command line of the job for a singleton, if args are those of a call
// of mpiexec by MPICH's library, and args itself if not. self is golaunch's own
// executable.
func Args(args []string, self string) ([]string, error) {
	i := slices.IndexFunc(args, func(a string) bool { return strings.TrimLeft(a, "-") == callWord && a != callWord })
	if i < 0 || i > 1 || i == 1 && args[0] != "-v" {
		return args, nil
	}
	words := args[i+1:]
	if len(words) != 4 {
		return nil, fmt.Errorf("%s: %d words follow, not PORT INTERFACE KEY PID; only MPI libraries call it", args[i], len(words))
	}
	if port, err := strconv.ParseUint(words[0], 10, 16); err != nil || port == 0 {
		return nil, fmt.Errorf("%s: %q is not a port", args[i], words[0])
	}
	// The bridge must be on this machine, and leave the program's input to it.
	job := append([]string{"--np", "1", "--bootstrap", registry.Local().Name, "--stdin", "none", "--pmi-port=false"}, args[:i]...)
	return append(job, self, Word, words[0]), nil
}

// Main is the bridge process; words are the arguments after Word. It returns the exit
// status, 0 once the program has closed its connection: the agent judges whether that
// was in order.
func Main(words []string) int {
	err := errors.New("it runs only as part of a job")
	if len(words) == 1 {
		err = connect(words[0])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "golaunch: singleton:", err)
		return 1
	}
	return 0
}

func connect(port string) error {
	fd, err := strconv.Atoi(os.Getenv("PMI_FD"))
	if err != nil || fd < 0 {
		return errors.New("PMI_FD is not set")
	}
	server := os.NewFile(uintptr(fd), "PMI")
	defer server.Close()
	program, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return err
	}
	defer program.Close()
	if err := program.SetDeadline(time.Now().Add(greetTimeout)); err != nil {
		return err
	}
	input, err := greet(program, server)
	if err != nil {
		return err
	}
	if err := program.SetDeadline(time.Time{}); err != nil {
		return err
	}
	return bridge(program, input, server)
}

// greet tells the program the name of its key-value space, and returns the reader of
// its further input.
func greet(program, server io.ReadWriter) (input io.Reader, err error) {
	agent := bufio.NewReaderSize(server, maxLine)
	if _, err := ask(server, agent, "cmd=init pmi_version=1 pmi_subversion=1", "response_to_init"); err != nil {
		return nil, err
	}
	name, err := ask(server, agent, "cmd=get_my_kvsname", "my_kvsname")
	if err != nil {
		return nil, err
	}
	in := bufio.NewReaderSize(program, maxLine)
	hello, err := ask(program, in, "cmd=singinit authtype=none", "singinit")
	if err != nil {
		return nil, err
	}
	fine := hello["pmi_version"] == "1"
	answer := "cmd=singinit_info versionok=yes stdio=no kvsname=" + name["kvsname"] + "\n"
	if !fine {
		answer = "cmd=singinit_info versionok=no stdio=no\n"
	}
	if _, err := io.WriteString(program, answer); err != nil {
		return nil, err
	}
	if !fine {
		return nil, fmt.Errorf("the program speaks PMI %s.%s, not 1.1", hello["pmi_version"], hello["pmi_subversion"])
	}
	return in, nil
}

// ask sends a line and returns the fields of the one that answers it, which must
// be the command named.
func ask(w io.Writer, r *bufio.Reader, line, command string) (map[string]string, error) {
	if _, err := io.WriteString(w, line+"\n"); err != nil {
		return nil, err
	}
	answer, err := r.ReadSlice('\n')
	if err != nil {
		return nil, fmt.Errorf("no answer to %q: %w", line, err)
	}
	fields := map[string]string{}
	for word := range strings.FieldsSeq(string(answer)) {
		key, value, _ := strings.Cut(word, "=")
		fields[key] = value
	}
	if rc, given := fields["rc"]; fields["cmd"] != command || given && rc != "0" {
		return nil, fmt.Errorf("%q is answered %q, not %s", line, answer, command)
	}
	return fields, nil
}

// bridge passes bytes on, both ways, until the program closes its connection
// (nil) or the agent does.
func bridge(program io.Writer, input io.Reader, server io.ReadWriter) error {
	ended := make(chan error, 2)
	go func() { // ends with the program's connection
		_, err := io.Copy(server, input)
		ended <- err
	}()
	go func() { // ends with the agent's, or with the process
		_, err := io.Copy(program, server)
		if err == nil {
			err = errors.New("the agent has closed its connection")
		}
		ended <- err
	}()
	return <-ended
}
