package pmixhelper

import (
	"encoding/binary"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/golaunch/golaunch/internal/pmix"
)

// ends waits for the end of a helper that says nothing more than some frames.
func ends(t *testing.T, h *helper, messages chan told) error {
	t.Helper()
	for told := range messages {
		if told.err != nil {
			break
		}
	}
	return <-h.ended
}

// A helper says in one line why it cannot serve.
func TestRefusals(t *testing.T) {
	k := openMPI4(t)
	for text, test := range map[string]struct {
		library string
		send    func(h *helper)
	}{
		"golaunch-pmix: libpmix can't be loaded: libnone.so: cannot open shared object file: No such file or directory\n": {
			library: "libnone.so",
		},
		"golaunch-pmix: /lib/x86_64-linux-gnu/libdl.so.2 has no PMIx_Get_version, so it is no PMIx 4 or newer\n": {
			library: "/lib/x86_64-linux-gnu/libdl.so.2",
		},
		"golaunch-pmix: the agent sent a frame that can't be: its kind is unknown\n": {
			send: func(h *helper) { h.send(0, pmix.Ready{}) },
		},
		"golaunch-pmix: the agent sent a frame that can't be: its length cannot be\n": {
			send: func(h *helper) { _, _ = h.conn.Write([]byte{255, 255, 255, 255, 1, 0, 0, 0, 0}) },
		},
		"golaunch-pmix: the agent sent a frame of kind 6 that can't be: it answers nothing that was asked\n": {
			send: func(h *helper) { h.send(99, pmix.Data{}) },
		},
		"golaunch-pmix: the agent sent a frame of kind 3 that can't be: it ends within a field\n": {
			send: func(h *helper) { _, _ = h.conn.Write([]byte{6, 0, 0, 0, 3, 0, 0, 0, 0, 7}) },
		},
	} {
		t.Run(text, func(t *testing.T) {
			k := k
			if test.library != "" {
				if _, err := os.Stat(test.library); err != nil && test.library[0] == '/' {
					t.Skipf("skipped: no %s", test.library)
				}
				k.library = test.library
			}
			messages := make(chan told, 100)
			h := startHelper(t, k, 0, messages)
			if test.send != nil {
				require.IsType(t, pmix.Ready{}, (<-messages).frame.Body)
				test.send(h)
			}
			require.EqualError(t, ends(t, h, messages), "exit status 1")
			require.Equal(t, text, h.stderr.String())
			require.Empty(t, h.left(t))
		})
	}
}

// A helper that golaunch was not built with says so, even where Init has other fields there.
func TestHelperOfAnotherVersion(t *testing.T) {
	k := openMPI4(t)
	theirs := []byte{6, 0, 0, 0, byte(pmix.KindInit), 1, 0, 0, 0}
	for name, frame := range map[string][]byte{
		"the same fields": pmix.Append(nil, 1, pmix.Init{Version: pmix.Version + 1, Dir: t.TempDir()}),
		"other fields":    append(binary.LittleEndian.AppendUint32(theirs, pmix.Version+1), 7),
	} {
		t.Run(name, func(t *testing.T) {
			binary.LittleEndian.PutUint32(frame, uint32(len(frame)-4))
			messages := make(chan told, 100)
			h := launchHelper(t, k, 0, messages)
			_, err := h.conn.Write(frame)
			require.NoError(t, err)
			require.EqualError(t, ends(t, h, messages), "exit status 1")
			require.Equal(t, fmt.Sprintf("golaunch-pmix: %s is of another version (%d of the messages) than golaunch (%d): build or install both together\n",
				k.helper, pmix.Version, pmix.Version+1), h.stderr.String())
		})
	}
}

// A world that cannot be is refused, and the helper goes on.
func TestBadWorlds(t *testing.T) {
	k := openMPI4(t)
	messages := make(chan told, 100)
	h := startHelper(t, k, 0, messages)
	require.IsType(t, pmix.Ready{}, (<-messages).frame.Body)
	good := pmix.World{
		Namespace: "w", Hosts: []string{"a", "b"}, Apps: []pmix.App{{Size: 2, Argv: []string{"x"}}}, Self: -1,
		Blocks: []pmix.Block{{First: 0, Count: 1, Host: 0}, {First: 1, Count: 1, Host: 1}},
	}
	for text, spoil := range map[string]func(w *pmix.World){
		"a host holds no rank":             func(w *pmix.World) { w.Hosts = append(w.Hosts, "c") },
		"a block is on no host":            func(w *pmix.World) { w.Hosts = w.Hosts[:1] },
		"a block is of no app":             func(w *pmix.World) { w.Apps = nil },
		"it has no ranks":                  func(w *pmix.World) { w.Blocks = nil },
		"it has too many ranks":            func(w *pmix.World) { w.Blocks = []pmix.Block{{Count: 1 << 31}} },
		"blocks are not in rank order":     func(w *pmix.World) { w.Blocks = w.Blocks[1:] },
		"a host's name has a comma":        func(w *pmix.World) { w.Hosts = []string{"a,", "b"} },
		"this node is none of its hosts":   func(w *pmix.World) { w.Self = 2 },
		"a local rank is not on this node": func(w *pmix.World) { w.Locals = []pmix.Local{{Rank: 1}} },
	} {
		w := good
		spoil(&w)
		request := h.ask(w)
		answer := (<-messages).frame
		require.Equal(t, request, answer.Request)
		registered := answer.Body.(pmix.Registered)
		require.Equal(t, pmix.BadParameter, registered.Status)
		require.Contains(t, registered.Text, "world w: "+text)
	}
	h.ask(good)
	require.Equal(t, pmix.Success, (<-messages).frame.Body.(pmix.Registered).Status)
	h.ask(good)
	require.Contains(t, (<-messages).frame.Body.(pmix.Registered).Text, "it is registered already")
	request := h.ask(pmix.Ping{})
	require.Equal(t, pmix.Frame{Kind: pmix.KindPong, Request: request, Body: pmix.Pong{}}, (<-messages).frame)
	h.send(0, pmix.End{})
	require.NoError(t, ends(t, h, messages))
}

// A helper leaves when its agent has gone, without its files.
func TestAgentGone(t *testing.T) {
	each(t, func(t *testing.T, k kit) {
		messages := make(chan told, 100)
		h := startHelper(t, k, 0, messages)
		require.IsType(t, pmix.Ready{}, (<-messages).frame.Body)
		require.Len(t, h.left(t), 1)
		require.NoError(t, h.conn.Close())
		require.NoError(t, <-h.ended)
		require.Empty(t, h.left(t))
	})
}
