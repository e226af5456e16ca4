package fakeagent

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/internal/link"
	"github.com/golaunch/golaunch/internal/overlay"
	"github.com/golaunch/golaunch/tree"
)

// Sizes that are far beyond the needs of any part of golaunch, and well within the
// memory of this machine.
const (
	bombElements = 1<<24 - 1 // one byte each on the wire
	unfinished   = 64        // MiB on each stream
	stagingBytes = 128 << 20
)

// bomb is a CBOR map of one key, whose value is an array of empty maps.
func bomb(key byte) []byte {
	head := []byte{0xa1, key, 0x9a, bombElements >> 24, bombElements >> 16 & 0xff, bombElements >> 8 & 0xff, bombElements & 0xff}
	return append(head, bytes.Repeat([]byte{0xa0}, bombElements)...)
}

// frames are messages whose form is wrong, or that grow when they are read.
func frames() []Forgery {
	raw := func(name string, at moment, s link.Stream, frame ...byte) Forgery {
		return Forgery{Name: "frame: " + name, Root: true, at: at, commit: func(n *node) error {
			_ = n.link.Send(s, frame) // a lost link shows elsewhere
			return nil
		}}
	}
	explode := func(name string, at moment, s link.Stream, kind tree.Kind, key byte) Forgery {
		return Forgery{Name: "bomb: " + name, Root: true, at: at, commit: func(n *node) error {
			n.send(s, n.header(kind), bomb(key))
			return nil
		}}
	}
	return []Forgery{
		raw("shorter than its header", running, link.Control, 1, 2, 3),
		raw("shorter than its header, while the launch is under way", up, link.Service, 1, 2, 3),
		raw("flags that are none", running, link.KVS, byte(overlay.KindBoard), 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
		raw("garbage for a message", running, link.Control, append([]byte{byte(overlay.KindDone), 0}, bytes.Repeat([]byte{0xff}, 40)...)...),
		raw("destination -9", running, link.Service, append([]byte{byte(overlay.KindNote), 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xf7}, make([]byte, 40)...)...),
		{Name: "frame: none, but noise in the link", Root: true, at: running, commit: func(*node) error {
			_, err := os.Stdout.Write(bytes.Repeat([]byte("what is this? "), 1000))
			return err
		}},
		{Name: "frame: fragments of two messages", Root: true, at: running, commit: func(n *node) error {
			h := n.header(overlay.KindDone)
			h.More = true
			_ = n.link.Send(link.Control, tree.AppendHeader(nil, h))
			_ = n.link.Send(link.Control, tree.AppendHeader(nil, n.header(overlay.KindNote)))
			return nil
		}},
		{Name: "frame: a job that does not exist", Root: true, at: running, commit: func(n *node) error {
			h := n.header(overlay.KindDone)
			h.Job = job.Cold + 1
			n.send(link.Control, h, overlay.Encode(overlay.Done{}))
			return nil
		}},
		explode("ready", ranged, link.Service, overlay.KindReady, 2),
		explode("died", ranged, link.Service, overlay.KindDied, 1),
		explode("started", launched, link.Control, overlay.KindStarted, 2),
		explode("counters", running, link.Service, overlay.KindCollected, 2),
		{Name: "unfinished messages on four streams", Root: true, at: running, commit: flood},
	}
}

// flood begins a message on each of four streams, and never ends it.
func flood(n *node) error {
	var streams sync.WaitGroup
	for s, kind := range map[link.Stream]tree.Kind{
		link.KVS: overlay.KindBoard, link.Data: overlay.KindRecords, link.Stdio: overlay.KindOutput, link.Service: overlay.KindReady,
	} {
		h := n.header(kind)
		h.More = true
		frame := append(tree.AppendHeader(nil, h), make([]byte, 1<<20)...)
		streams.Go(func() {
			for range unfinished {
				if n.link.Send(s, frame) != nil {
					return
				}
			}
		})
	}
	streams.Wait()
	return nil
}

// leave ends the process when the starter hangs up.
func leave() {
	_, _ = io.Copy(io.Discard, os.Stdin) // waits for its end
	os.Exit(1)
}

// stagings talk to the starter in the place of the script that brings the agent.
// They write until the starter has had enough, or was sent all.
func stagings() []Forgery {
	endless := func(name, begin string, line func(n *node) string) Forgery {
		return Forgery{Name: "staging: " + name, at: staging, commit: func(n *node) error {
			go leave()
			text := strings.ReplaceAll(begin, "MAGIC", n.magic) + line(n)
			for sent := 0; sent < stagingBytes; sent += len(text) {
				if _, err := os.Stdout.WriteString(text); err != nil {
					return fmt.Errorf("after %d bytes: %w", sent, err)
				}
			}
			n.log("all %d bytes were taken", stagingBytes)
			select {} // until the starter hangs up
		}}
	}
	long := strings.Repeat("x", 60<<10)
	return []Forgery{
		endless("directories that will not do, without end", "MAGIC skip ", func(*node) string { return long + "\n" }),
		endless("one line without end", "MAGIC skip ", func(*node) string { return "" }),
		endless("noise without end", "", func(*node) string { return long + "\n" }),
		endless("asks for the agent without end", strings.Repeat("MAGIC need Linux x86_64\n", 1000), func(*node) string { return "" }),
		{Name: "staging: the agent is there, and says nothing", at: staging, commit: func(n *node) error {
			go leave()
			if _, err := fmt.Fprintf(os.Stdout, "%s have\n", n.magic); err != nil {
				return err
			}
			select {} // until the starter hangs up
		}},
	}
}
