package stage

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/golaunch/golaunch/internal/bootstrap"
)

// conversation is one run of script on a host.
type conversation struct {
	host       bootstrap.Host
	src        Source
	native     Image
	words      []string
	options    Options
	candidates []string // numbers, as script knows them
	skipped    []string // candidates that will not do, "DIR: REASON"
	direct     bool     // the login shell may run an installed agent
	copies     bool     // the script may have made something on the host

	pipe  bootstrap.Pipe
	lines *lineReader
	sent  chan error // result of sending the executable; nil before it begins
}

// run starts the script and leads the conversation to its end. It returns a
// *fullError when another run may do better.
func (c *conversation) run(ctx context.Context, p bootstrap.Piper) (bootstrap.Pipe, error) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	magic := hex.EncodeToString(random[:])
	keep := ""
	if c.options.Keep {
		keep = "keep"
	}
	// The magic goes in halves: a shell that prints its commands must not
	// print it.
	argv := append([]string{
		"/bin/sh", "-c", loader, "golaunch", magic[:16], magic[16:],
		unameOf(c.native.OS, c.native.Arch), c.native.Hash, keep, strings.Join(c.candidates, " "),
		c.options.Installed.Path, c.options.Installed.stamp(),
	}, c.words...)
	if c.options.AgentPath != "" {
		argv = append([]string{c.options.AgentPath, InstalledWord, magic[:16] + " " + magic[16:]}, c.words...)
	}
	pipe, err := c.start(ctx, p, magic, argv)
	if err != nil {
		return nil, err
	}
	c.pipe = pipe
	defer bootstrap.BeginStep(ctx, bootstrap.Stage)()
	c.lines = &lineReader{r: bufio.NewReader(pipe), magic: magic, noise: c.options.Noise}

	ctx, cancel := context.WithTimeout(ctx, c.options.Timeout)
	defer cancel()
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { // ends every wait below
		defer close(over)
		sweep(pipe, magic, c.options.AgentPath) // processes there may be stopped, and would stay
		pipe.Close()
	})
	err = c.lead()
	var ended error
	if !stop() {
		<-over
		ended = ctx.Err()
		err = cmp.Or(err, ended)
	}
	if err == nil {
		return &staged{Pipe: pipe, r: c.lines.r, magic: magic, agentPath: c.options.AgentPath}, nil
	}
	if known := (*bootstrap.Error)(nil); c.copies && ended == nil && !errors.As(err, &known) {
		sweep(pipe, magic, c.options.AgentPath) // else the script lives, and cleans up when its input ends
	}
	pipe.Close()
	if c.sent != nil {
		var image *imageError
		if sendErr := <-c.sent; errors.As(sendErr, &image) {
			err = sendErr // the cause of the other
		}
	}
	return nil, c.explain(err, ended)
}

// start runs the script, argv, or has the host's login shell run an installed
// agent without it.
func (c *conversation) start(ctx context.Context, p bootstrap.Piper, magic string, argv []string) (bootstrap.Pipe, error) {
	shell, ok := p.(bootstrap.LoginSheller)
	if !ok || !c.options.Installed.Owned || c.options.AgentPath != "" {
		return p.Start(ctx, c.host, argv)
	}
	c.direct = true
	line, err := bootstrap.CommandLine(argv)
	if err == nil {
		line, err = c.options.Installed.line(magic, c.words, line)
	}
	if err != nil {
		return nil, stageError(c.host, err, true, "")
	}
	return shell.StartLine(ctx, c.host, line)
}

// lead answers the script line by line. It returns nil when the agent's own
// output begins.
func (c *conversation) lead() error {
	var img Image
	for {
		line, err := c.lines.next()
		if err != nil {
			return err
		}
		verb, rest, _ := strings.Cut(line, " ")
		switch verb {
		case "reads":
			// If that fails the shell has ended, and its last words count.
			_, _ = io.WriteString(c.pipe, script()+"\n")
		case "lacks":
			command, path, _ := strings.Cut(rest, " ")
			return noCommand(c.host, command, path)
		case "here":
			c.copies = true
		case "skip":
			c.skipped = append(c.skipped, rest)
		case "none":
			return noDir(c.host, c.skipped)
		case "have":
			return nil
		case "other":
			return stageError(c.host, fmt.Errorf("%s there is another build", c.options.Installed.Path), false, "")
		case "need":
			if img, err = c.need(rest); err != nil {
				return err
			}
		case "send":
			c.send(img)
		case "deaf":
			return stageError(c.host, errors.New("the shell there has no input, by which the agent would be brought"), true,
				"a command that enters a container has to be asked for it: docker exec -i, kubectl exec -i")
		case "full":
			candidate, reason, _ := strings.Cut(rest, " ")
			return &fullError{candidate, reason}
		case "got":
			if c.sent == nil {
				return errors.New("script says it has what was not sent")
			}
			if err := <-c.sent; err != nil {
				c.sent = nil
				return err
			}
			c.sent = nil
			_, err := io.WriteString(c.pipe, "go\n")
			return err
		default:
			return fmt.Errorf("script says %.60q", line)
		}
	}
}

// need answers that the host, of the platform that uname tells, is ready for
// the executable.
func (c *conversation) need(uname string) (Image, error) {
	goos, arch, err := platform(uname)
	if err != nil {
		return Image{}, stageError(c.host, err, true, "")
	}
	img, err := c.src.Image(goos, arch)
	if err != nil {
		return Image{}, stageError(c.host, err, true, "")
	}
	// The script has already looked for a kept file of our own platform.
	ask := c.options.Keep && img.Hash != c.native.Hash
	how := "push"
	if ask {
		how = "ask"
	}
	// If that fails the script has ended, and its last words count.
	_, _ = fmt.Fprintf(c.pipe, "%d %s %s\n", img.Size, img.Hash, how)
	if !ask {
		c.send(img)
	}
	return img, nil
}

// send starts sending the executable, while the script may already have
// something to say about it.
func (c *conversation) send(img Image) {
	if c.sent != nil || img.Open == nil {
		return
	}
	c.sent = make(chan error, 1)
	go func(done chan<- error) { // ends with the last byte, or with the pipe
		err := copyImage(c.pipe, img)
		var image *imageError
		if errors.As(err, &image) {
			c.pipe.Close() // the script would wait for the rest
		} // else the script has ended, and its last words count
		done <- err
		close(done)
	}(c.sent)
}

// imageError is a fault of the executable here, not of the host.
type imageError struct{ err error }

func (e *imageError) Error() string { return e.err.Error() }
func (e *imageError) Unwrap() error { return e.err }

// copyImage writes exactly img.Size bytes.
func copyImage(w io.Writer, img Image) error {
	r, err := img.Open()
	if err != nil {
		return &imageError{err}
	}
	defer r.Close()
	src := &sourceReader{r: r}
	n, err := io.CopyN(struct{ io.Writer }{w}, src, img.Size)
	if src.err != nil && n < img.Size {
		return &imageError{fmt.Errorf("agent executable: %d of %d bytes: %w", n, img.Size, src.err)}
	}
	return err
}

// sourceReader remembers how reading failed, to tell it from writing.
type sourceReader struct {
	r   io.Reader
	err error
}

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil {
		s.err = err
	}
	return n, err
}

// explain makes a *bootstrap.Error of the end of the conversation. Ended is the
// context's error at that time.
func (c *conversation) explain(err, ended error) error {
	var known *bootstrap.Error
	var full *fullError
	var image *imageError
	switch {
	case errors.As(err, &known), errors.As(err, &full):
		return err
	case errors.Is(ended, context.DeadlineExceeded):
		return stageError(c.host, fmt.Errorf("not done within %v: %w", c.options.Timeout, ended), false,
			"the host's shell start-up files may wait for input, or the line is slow")
	case ended != nil:
		return stageError(c.host, ended, false, "")
	case errors.As(err, &image):
		return stageError(c.host, err, true, "is it being replaced? start again")
	case errors.Is(err, errWordy):
		return stageError(c.host, err, true, "")
	case errors.Is(err, errNoise):
		return stageError(c.host, err, true, "the login shell's start-up files must be silent when there is no terminal")
	}
	if c.direct && !c.lines.begun {
		return stageError(c.host, fmt.Errorf("%s there ended before it said a word", c.options.Installed.Path), false, "")
	}
	said := strings.TrimSpace(c.pipe.Diagnostics())
	if said == "" {
		said = c.lines.last
	}
	if e, ok := c.pipe.(bootstrap.Explainer); ok && !c.lines.begun {
		known := e.Explain(said)
		if c.options.AgentPath != "" && (known.Permanent && known.Hint == "" || strings.HasPrefix(known.Hint, "try ")) {
			known.Hint = "is golaunch, or nla, at " + c.options.AgentPath + " there (--agent-path), and may it be executed?"
		}
		return known
	}
	if said != "" {
		said = ": " + said
	}
	switch {
	case c.options.AgentPath != "":
		return stageError(c.host, fmt.Errorf("%s there ended before it said a word%s", c.options.AgentPath, said), said != "",
			"is it golaunch, or nla, of this build (--agent-path)?")
	case !c.lines.begun:
		// A shell that says why it ended will end so again.
		return stageError(c.host, fmt.Errorf("the login shell ended before it ran /bin/sh%s", said), said != "",
			"can the account run commands there? its shell may be nologin, or its start-up files call exit")
	case errors.Is(err, io.EOF):
		return stageError(c.host, fmt.Errorf("connection lost while copying the agent%s", said), false, "")
	}
	return stageError(c.host, fmt.Errorf("copying the agent: %w%s", err, said), false, "")
}

// staged is the agent's pipe: first the bytes read ahead, then the rest.
type staged struct {
	bootstrap.Pipe
	r     *bufio.Reader
	magic string
	// agentPath is Options.AgentPath.
	agentPath string
	swept     sync.Once
}

// Inspect implements bootstrap.Inspector where the pipe below does.
func (s *staged) Inspect(ctx context.Context) string {
	if i, ok := s.Pipe.(bootstrap.Inspector); ok {
		return i.Inspect(ctx)
	}
	return ""
}

// Also implements bootstrap.Companion where the pipe below does.
func (s *staged) Also(ctx context.Context, argv []string) error {
	if c, ok := s.Pipe.(bootstrap.Companion); ok {
		return c.Also(ctx, argv)
	}
	return errors.ErrUnsupported
}

func (s *staged) Read(p []byte) (int, error) {
	if s.r.Buffered() > 0 {
		return s.r.Read(p)
	}
	return s.Pipe.Read(p)
}
