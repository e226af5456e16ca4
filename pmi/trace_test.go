package pmi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/cache"
	"github.com/golaunch/golaunch/internal/job"
	"github.com/golaunch/golaunch/pmi"
)

// traces holds whole conversations between unmodified clients and the servers
// of Hydra 4.0.2 and Slurm 22.05, one file per rank.
const traces = "testdata/traces"

// event is one line of a recorded conversation.
type event struct {
	at     float64 // milliseconds; 0 where the recording has no times
	client bool    // sent by the client
	line   string
	eof    bool
}

// header matches the length of a PMI-2 message, alone.
var header = regexp.MustCompile(`^ *[0-9]+ *$`)

// framed reports whether a recorded text is a PMI-2 message.
func framed(text string) bool { return text[0] == ' ' || text[0] >= '0' && text[0] <= '9' }

// record reads the conversation of one rank; bytes outside the text of a line
// are written \n there.
func record(t testing.TB, dir, file string) []event {
	text, err := os.ReadFile(filepath.Join(traces, dir, file))
	require.NoError(t, err)
	var events []event
	for _, line := range strings.Split(string(text), "\n") {
		for _, from := range []string{"C->S ", "S->C "} {
			before, said, found := strings.Cut(line, from)
			if !found || strings.HasPrefix(line, "#") {
				continue
			}
			said = strings.TrimSuffix(said, `\n`)
			e := event{client: from[0] == 'C', line: said, eof: said == "<EOF>"}
			e.at, _ = strconv.ParseFloat(strings.TrimSpace(before), 64)
			if n := len(events) - 1; n >= 0 && header.MatchString(events[n].line) {
				events[n].line += said // the recorded server wrote length and text apart
			} else {
				events = append(events, e)
			}
			break
		}
	}
	require.NotEmpty(t, events, "%s/%s", dir, file)
	return events
}

// fields reads a reply: its tokens, value reaching to the end of the line.
func fields(line string) map[string]string {
	f := map[string]string{}
	if framed(line) {
		text := strings.ReplaceAll(line[6:], ";;", "\x00")
		for pair := range strings.SplitSeq(text, ";") {
			k, v, _ := strings.Cut(pair, "=")
			f[k] = strings.ReplaceAll(v, "\x00", ";")
		}
		delete(f, "")
		return f
	}
	head, value, found := strings.Cut(line, " value=")
	if found {
		f["value"] = value
	}
	for _, token := range strings.Fields(head) {
		k, v, _ := strings.Cut(token, "=")
		f[k] = v
	}
	return f
}

// sameReply requires that we answered request as the recorded server did,
// except where we differ on purpose.
func sameReply(t *testing.T, request, recorded, ours string) {
	t.Helper()
	msg := fmt.Sprintf("request  %s\nrecorded %s\nours     %s", request, recorded, ours)
	r, o := fields(recorded), fields(ours)
	require.Equal(t, r["cmd"], o["cmd"], msg)
	ok := o["rc"] == "" || o["rc"] == "0"
	recordedOK := r["rc"] == "" || r["rc"] == "0"
	switch {
	case strings.HasSuffix(request, " key=PMI_dead_processes"):
		// Hydra answers with an empty value, which its own later clients
		// cannot parse: "not found" says the same.
		require.False(t, ok, msg)
		return
	}
	require.Equal(t, recordedOK, ok, msg)
	for key, value := range o {
		switch key {
		case "rc", "msg", "info": // absent rc is 0, and texts are free
		case "value":
			// Hydra cuts a value at its first blank, which breaks Open MPI's
			// padding. Ours reaches to the end of the line.
			// The same holds for a semicolon in PMI-2. In a lookup's reply value
			// is for other clients than the one recorded.
			rest, found := strings.CutPrefix(value, r["value"])
			require.True(t, found && (rest == "" || rest[0] == ' ' || rest[0] == ';' || value == o["port"]), msg)
		default:
			require.Equal(t, r[key], value, "%s of\n%s", key, msg)
		}
	}
}

func TestTraces(t *testing.T) {
	cases := []struct {
		dir, files string
		nodes, ppn int
		preput     string
		cut        bool // the recording ends in mid-conversation
	}{
		{dir: "hello.n4", files: "rank", nodes: 1, ppn: 4},
		{dir: "hello.2nodes.x2", files: "rank", nodes: 2, ppn: 2},
		{dir: "hello.4nodes.x1", files: "rank", nodes: 4, ppn: 1},
		{dir: "hello.pmiport.n2", files: "rank", nodes: 1, ppn: 2, cut: true},
		{dir: "slurm-pmi2.hello.2x2", files: "rank", nodes: 2, ppn: 2},
		{dir: "ompi-flux-pmi1.n2", files: "rank", nodes: 1, ppn: 2},
		{dir: "abort.n2", files: "rank", nodes: 1, ppn: 2},
		{dir: "pmi2.n2", files: "rank", nodes: 1, ppn: 2},
		{dir: "publish.n2", files: "rank", nodes: 1, ppn: 2},
		{dir: "raw.n2", files: "raw", nodes: 1, ppn: 2},
		{dir: "raw.n2", files: "raw.spawned", nodes: 1, ppn: 2, preput: "tag=0 port=1234"},
	}
	for _, tc := range cases {
		t.Run(tc.dir+"/"+tc.files, func(t *testing.T) {
			var ranks [][]event
			for r := range tc.nodes * tc.ppn {
				ranks = append(ranks, record(t, tc.dir, fmt.Sprintf("%s.%d.txt", tc.files, r)))
			}
			w := newWorld(t, tc.nodes, tc.ppn, func(w *pmi.World) { asRecorded(w, ranks) })
			if tc.preput != "" {
				require.NoError(t, w.nodes[0].board.Put([]byte("PARENT_ROOT_PORT_NAME"), []byte(tc.preput), new(cache.Effects)))
			}
			replay(t, w, ranks)
			require.Empty(t, w.violations)
			require.Empty(t, w.hangups)
			if tc.dir == "abort.n2" {
				require.Equal(t, []pmi.Abort{{Rank: 0, Code: 7}}, w.aborts)
				return
			}
			require.Empty(t, w.aborts)
			for r := range ranks {
				if !tc.cut {
					require.Empty(t, w.replies[job.Rank(r)], "rank %d was sent more than was recorded", r)
					require.True(t, w.node(job.Rank(r)).server.Finalised(job.Rank(r)), "rank %d", r)
				}
			}
		})
	}
}

// asRecorded takes over what the recorded server said of its world.
func asRecorded(w *pmi.World, ranks [][]event) {
	for r, events := range ranks {
		for i, e := range events {
			switch f := fields(e.line); {
			case e.client || e.eof:
			case f["cmd"] == "my_kvsname":
				w.KVSName = f["kvsname"]
			case f["cmd"] == "job-getid-response":
				w.KVSName = f["jobid"]
			case f["cmd"] == "appnum" && r == 0 && f["appnum"] != "0":
				w.AppNum = func(job.Rank) int { return -1 } // Slurm has no apps
			case strings.HasSuffix(strings.TrimSuffix(events[max(i-1, 0)].line, ";"), "key=PMI_process_mapping"):
				w.ProcessMapping = f["value"]
			}
		}
	}
}

// replay lets the recorded clients speak again, each waiting for its replies.
// Of those that can go on, the one whose turn came first in the recording does:
// ranks may have agreed on an order by other means.
func replay(t *testing.T, w *world, ranks [][]event) {
	requests := make([]string, len(ranks)) // the last one of each rank
	for {
		next := -1
		for i, events := range ranks {
			switch {
			case len(events) == 0:
			case !events[0].client && !events[0].eof && w.replies[job.Rank(i)] == "":
				// waits
			case next < 0 || events[0].at < ranks[next][0].at:
				next = i
			}
		}
		if next < 0 {
			break
		}
		r, e := job.Rank(next), ranks[next][0]
		ranks[next] = ranks[next][1:]
		switch {
		case e.eof && e.client:
			w.eof(r)
		case e.eof:
			// Hydra and Slurm close the connection after finalize. We leave
			// it to the client, which may init again.
		case e.client && framed(e.line):
			requests[next] = e.line
			w.send(r, e.line)
		case e.client:
			requests[next] = e.line
			w.send(r, e.line+"\n")
		case framed(w.replies[r]):
			got := w.replies[r]
			n, err := strconv.Atoi(strings.TrimSpace(got[:6]))
			require.NoError(t, err)
			w.replies[r] = got[6+n:]
			sameReply(t, requests[next], e.line, got[:6+n])
		default:
			line, rest, _ := strings.Cut(w.replies[r], "\n")
			w.replies[r] = rest
			sameReply(t, requests[next], e.line, line)
		}
	}
	for r, events := range ranks {
		require.Empty(t, events, "rank %d waits for this reply to %q", r, requests[r])
	}
}
