package hostlist

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
)

// maxLine is the longest line of a host file, in bytes.
const maxLine = 1 << 20

// File is the content of a host file.
type File struct {
	Hosts []job.Host
	// Names are those of the lines' hosts: a host is there as often as it is named,
	// with any slots.
	Names []string
	// Capped is the "file:line" of the first max_slots, empty without any.
	// Such a file forbids oversubscription.
	Capped string
}

// LineError is an error in a line of a host file.
type LineError struct {
	Line int // counted from 1
	err  error
}

// Error names the line and the error.
func (e *LineError) Error() string { return e.err.Error() }

// Unwrap returns the error of the line.
func (e *LineError) Unwrap() error { return e.err }

// ParseFile reads a host file; name is its name in errors, which begin with
// "name:line:" and are a LineError where a line is at fault. Each line names hosts
// as Parse does, followed by settings:
//
//	host[:n]                      Hydra
//	host slots=n max_slots=n      Open MPI
//	host user=NAME port=N         both
//
// Comments begin with #; blank lines, a byte order mark and CRLF line ends are skipped
// over. Hydra's binding= and ifname= are refused with a hint, since ignoring them would
// change the job.
func ParseFile(r io.Reader, name string) (File, error) {
	return parseFile(r, name, MaxHosts)
}

func parseFile(r io.Reader, name string, limit int) (File, error) {
	var f File
	err := eachLine(r, name, func(pos, line string) error {
		start := len(f.Hosts)
		// "slots = 4" is one setting to Open MPI.
		terms := strings.Split(line, "=")
		for i := range terms {
			terms[i] = strings.TrimSpace(terms[i])
		}
		fields := strings.Fields(strings.Join(terms, "="))
		if strings.Contains(fields[0], "=") {
			return fmt.Errorf("%s: %s: a line begins with the host", pos, quote(line))
		}
		var err error
		if f.Hosts, err = parseList(f.Hosts, fields[0], pos, limit); err != nil {
			return err
		}
		capped, err := applySettings(f.Hosts[start:], fields[1:])
		if err != nil {
			return fmt.Errorf("%s: %w", pos, err)
		}
		if capped && f.Capped == "" {
			f.Capped = pos
		}
		return nil
	})
	if err != nil {
		return File{}, err
	}
	if len(f.Hosts) == 0 {
		return File{}, fmt.Errorf("%s: names no host", name)
	}
	f.Names = namesOf(f.Hosts)
	f.Hosts, err = merge(f.Hosts)
	if err != nil {
		return File{}, err
	}
	return f, nil
}

// applySettings gives the hosts of one line its key=value settings.
func applySettings(hosts []job.Host, fields []string) (capped bool, err error) {
	seen := make(map[string]bool, len(fields))
	maxSlots := 0
	for _, field := range fields {
		key, value, ok := strings.Cut(field, "=")
		key = strings.ReplaceAll(key, "-", "_")
		if !ok {
			return false, fmt.Errorf("%s is not key=value; put one host on a line", quote(field))
		}
		if seen[key] {
			return false, fmt.Errorf("%s: given twice", quote(field))
		}
		seen[key] = true
		var n int
		switch key {
		case "slots", "max_slots":
			n, err = parseSlots(value)
		case "port":
			n, err = parsePort(value)
		case "user":
			err = checkUser(value)
		case "binding":
			err = errors.New("a host has no binding of its own; remove it, and use --bind-to")
		case "ifname":
			err = errors.New("name the host by its address on that network instead")
		default:
			err = errors.New("unknown setting; known are slots, max_slots, user and port")
		}
		if err != nil {
			return false, fmt.Errorf("%s: %w", quote(field), err)
		}
		if key == "max_slots" {
			if maxSlots = n; n == noSlots {
				return false, fmt.Errorf("%s: leave the host out instead", quote(field))
			}
		}
		for i := range hosts {
			h := &hosts[i]
			switch {
			case key == "slots" && h.Slots != 0:
				return false, fmt.Errorf("%s: host %s has its slots from :%d already", quote(field), h.Name, max(h.Slots, 0))
			case key == "slots":
				h.Slots = n
			case key == "port":
				h.Port = n
			case key == "user" && h.User != "":
				return false, fmt.Errorf("%s: host %s has its user from %s@ already", quote(field), h.Name, h.User)
			case key == "user":
				h.User = value
			}
		}
	}
	for _, h := range hosts {
		if maxSlots > 0 && h.Slots > maxSlots {
			return false, fmt.Errorf("host %s: slots=%d is above max_slots=%d", h.Name, h.Slots, maxSlots)
		}
	}
	return maxSlots > 0, nil
}

func parsePort(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil || n == 0 {
		return 0, errors.New("not a port; 1 to 65535 are")
	}
	return int(n), nil
}

// eachLine calls do with every line that has content, stripped of comment and
// blanks, and with its "name:line".
func eachLine(r io.Reader, name string, do func(pos, line string) error) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	number := 0
	for lines.Scan() {
		number++
		line := lines.Text()
		if number == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		if err := do(fmt.Sprintf("%s:%d", name, number), line); err != nil {
			return &LineError{number, err}
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return &LineError{number + 1, fmt.Errorf("%s:%d: line longer than %d bytes", name, number+1, maxLine)}
	case err != nil:
		if e, ok := errors.AsType[*fs.PathError](err); ok {
			err = e.Err // without naming the file twice
		}
		return fmt.Errorf("%s: read: %w", name, err)
	}
	return nil
}
