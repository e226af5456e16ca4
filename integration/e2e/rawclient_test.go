package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// rawWord makes the test binary a PMI-1 client, the one named by the next word.
const rawWord = "raw-pmi-client"

// raw is the command line of such a client: "groups", or a conversation.
func raw(name string) []string {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return []string{self, rawWord, name}
}

// rawClient speaks PMI-1 over PMI_FD, line by line, without a library. A failure ends
// the process with status 1.
type rawClient struct {
	rank, size int
	fd         *os.File
	in         *bufio.Reader
}

func rawMain(name string) {
	c := &rawClient{rank: rawNumber("PMI_RANK"), size: rawNumber("PMI_SIZE"), fd: os.NewFile(uintptr(rawNumber("PMI_FD")), "PMI")}
	c.in = bufio.NewReader(c.fd)
	if i := slices.IndexFunc(conversations, func(x conversation) bool { return x.name == name }); i >= 0 {
		conversationClient(c, conversations[i])
		return
	}
	groupsClient(c)
	fmt.Printf("rank %d of %d ok\n", c.rank, c.size)
}

func rawNumber(name string) int {
	n, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	return n
}

func (c *rawClient) die(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "rank %d of %d: %s\n", c.rank, c.size, fmt.Sprintf(format, args...))
	os.Exit(1)
}

func (c *rawClient) say(format string, args ...any) {
	if _, err := fmt.Fprintf(c.fd, format+"\n", args...); err != nil {
		c.die("write: %v", err)
	}
}

func (c *rawClient) line() string {
	line, err := c.in.ReadString('\n')
	switch {
	case err == io.EOF || errors.Is(err, syscall.ECONNRESET): // the server is gone
		return "<EOF>"
	case err != nil:
		c.die("read: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

// must sends a line and checks the answer.
func (c *rawClient) must(want, format string, args ...any) {
	c.say(format, args...)
	if got := c.line(); got != want {
		c.die("%q is answered %q, expected %q", fmt.Sprintf(format, args...), got, want)
	}
}

// message reads one of PMI-2. The order of its fields means nothing.
func (c *rawClient) message() string {
	head := make([]byte, 6)
	if _, err := io.ReadFull(c.in, head); err != nil {
		return "<EOF>"
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(head)))
	if err != nil {
		c.die("a message of PMI-2 begins %q", head)
	}
	body := make([]byte, n)
	if _, err := io.ReadFull(c.in, body); err != nil {
		return "<EOF>"
	}
	// A doubled semicolon belongs to its value.
	text := strings.ReplaceAll(strings.TrimSuffix(string(body), ";"), ";;", "\x00")
	fields := strings.Split(text, ";")
	slices.Sort(fields)
	for i, f := range fields {
		if strings.HasPrefix(f, "jobid=") {
			fields[i] = "jobid=K" // differs from job to job
		}
	}
	return strings.ReplaceAll(strings.Join(fields, ";"), "\x00", ";;")
}
