package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// mapsBoard is a rank that puts a value, fences, and prints what it finds in the
// bulletin board's file, and whether it can change it.
const mapsBoard = `say() { printf '%s\n' "$1" >&$PMI_FD; IFS= read -r reply <&$PMI_FD; }
say 'cmd=init pmi_version=1 pmi_subversion=1'
say "cmd=put kvsname=any key=k$PMI_RANK value=v$PMI_RANK-end"
say cmd=barrier_in
say cmd=golaunch_map
case $reply in *rc=0*) ;; *) echo "none: $reply"; say cmd=finalize; exit;; esac
path=${reply##*path=} size=${reply##*size=}
echo "$(head -c 8 "$path") $(($(wc -c <"$path") - ${size%% *})) $(grep -a -o 'v[0-9]*-end' "$path" | sort -u | wc -l)"
echo x 2>/dev/null >>"$path" && echo "it can be changed"
say cmd=finalize`

func TestBoardAsAFile(t *testing.T) {
	r := local(t, "", "-n", "12", "--nodes", "3", "bash", "-c", mapsBoard)
	require.Zero(t, r.code, r.stderr)
	lines := r.lines()
	require.Len(t, lines, 12, r.stdout)
	for _, line := range lines {
		require.Equal(t, "golaunch 0 12", line, "magic, no difference in size, every rank's value")
	}
	r = local(t, "", "-n", "2", "--nodes", "2", "--cache", "hcs", "bash", "-c", mapsBoard)
	require.Zero(t, r.code, r.stderr)
	require.Contains(t, r.stdout, "none: cmd=golaunch_map_result rc=-1 msg=this_cache_policy_leaves_most_keys_on_other_nodes\n")
}
