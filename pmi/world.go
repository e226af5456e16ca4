package pmi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/golaunch/golaunch/internal/job"
)

// Limits of the protocol as get_maxes reports them, in bytes. Each counts a
// terminating NUL that never travels, so that the longest value has
// MaxValue−1 bytes.
const (
	MaxKVSName = 256
	MaxKey     = 64
	MaxValue   = 1024
)

// MaxLine bounds a PMI-1 line, a PMI-2 message, and requests ahead of a reply, in
// bytes.
const MaxLine = 64 << 10

// reservedPrefix begins the keys that only the server may set.
const reservedPrefix = "PMI_"

// mappingKey is the key under which clients look for the ranks of each node.
const mappingKey = "PMI_process_mapping"

// World holds the facts that the server tells the ranks about their world.
type World struct {
	Size    int    // ranks, at least 1
	KVSName string // name of the key-value space: one word, shorter than MaxKVSName
	// UniverseSize is the number of ranks that the resources could hold; -1 if unknown.
	UniverseSize int
	// ProcessMapping is the value of PMI_process_mapping, "(vector,...)". A
	// client is told "not found" where it is empty or too long for a value,
	// and then gathers host names itself.
	ProcessMapping string
	// Version is the highest version of PMI-1 that is granted: "1.1", the default, or
	// "1.2", which adds barriers of groups. Some clients accept 1.1 only, and none says
	// its own (protocols 1.3).
	Version string
	// Spawner is the KVSName of the world whose rank spawned this one; "" for
	// a job's first world.
	Spawner string
	// Preput holds the spawner's puts from before the world began: a get finds them
	// until a rank puts the key itself.
	Preput map[string]string
	// AppNum gives the index of the app a rank belongs to.
	AppNum func(job.Rank) int
	// Attributes are further reserved keys that the ranks may get, such as
	// PMI_hwloc_xmlfile; each begins with "PMI_".
	Attributes map[string]string
}

// validate rejects a world that could not be told to its ranks.
func (w *World) validate() error {
	switch {
	case w.Size < 1:
		return fmt.Errorf("pmi: a world of %d ranks: at least 1 is needed", w.Size)
	case w.KVSName == "" || len(w.KVSName) >= MaxKVSName || !isWord(w.KVSName):
		return fmt.Errorf("pmi: kvsname %q: must be one word of at most %d bytes", w.KVSName, MaxKVSName-1)
	case len(w.Spawner) >= MaxKVSName || !isWord(w.Spawner):
		return fmt.Errorf("pmi: spawner %q: must be one word of at most %d bytes", w.Spawner, MaxKVSName-1)
	case w.UniverseSize < -1 || w.UniverseSize == 0:
		return fmt.Errorf("pmi: universe size %d: must be positive, or -1 if unknown", w.UniverseSize)
	case w.Version != "" && w.Version != "1.1" && w.Version != VersionGroups:
		return fmt.Errorf("pmi: version %q: must be 1.1 or 1.2", w.Version)
	case w.AppNum == nil:
		return errors.New("pmi: the world has no AppNum")
	}
	for key := range w.Attributes {
		if !strings.HasPrefix(key, reservedPrefix) || len(key) >= MaxKey || !isWord(key) {
			return fmt.Errorf("pmi: attribute %q: must be one word that begins with %s", key, reservedPrefix)
		}
	}
	return nil
}

// reserve lets ranks get key, unless value does not fit the protocol.
func (s *Server) reserve(key, value string) error {
	if value == "" || len(value) >= MaxValue {
		return nil // every client copes with "not found"
	}
	if !isWord(value) { // older clients end a value at a blank
		return fmt.Errorf("pmi: value %q of %s: blanks and control characters are not allowed", value, key)
	}
	s.attrs[key] = value
	return nil
}

// isWord reports whether s can be one token of a reply.
func isWord(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f })
}
