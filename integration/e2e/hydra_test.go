package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	init11 = "cmd=init pmi_version=1 pmi_subversion=1"
	myName = "cmd=get_my_kvsname"
)

// conversation holds the lines of every rank of a raw client, one after the other; %d
// stands for the rank and K for the name of the key-value space. A line that ends with
// a semicolon is a message of PMI-2. A reply is awaited to each but abort.
type conversation struct {
	name  string
	ranks int
	lines []string
	// fatal says that one of the servers ends the job before all is said:
	// then how much of it was said is chance, and only exit statuses compare.
	fatal bool
}

var conversations = []conversation{
	{"keys", 2, []string{
		init11, "cmd=get_maxes", "cmd=get_appnum", "cmd=get_universe_size", myName,
		"cmd=get kvsname=K key=PMI_process_mapping", "cmd=get kvsname=K key=PMI_hwloc_xmlfile", "cmd=get kvsname=K key=PMI_dead_processes",
		`cmd=put kvsname=K key=k%d value=a=%d\b`, "cmd=get kvsname=K key=k%d", "cmd=barrier_in",
		"cmd=get kvsname=K key=k0", "cmd=get kvsname=K key=k1", "cmd=get kvsname=K key=nosuch", "cmd=barrier_in",
		"cmd=put kvsname=K key=b%d value=with blanks  -", "cmd=put kvsname=K key=k%d value=again", "cmd=put kvsname=K key=PMI_mine value=x",
		"cmd=put kvsname=K key=" + strings.Repeat("l", 64) + " value=x", "cmd=put kvsname=K key=long%d value=" + strings.Repeat("v", 900),
		"cmd=barrier_in", "cmd=get kvsname=K key=b0", "cmd=get kvsname=K key=k1", "cmd=get kvsname=K key=PMI_mine", "cmd=get kvsname=K key=long1",
		"cmd=get kvsname=K key=" + strings.Repeat("l", 64),
		"cmd=barrier_in", "cmd=finalize",
	}, false},
	{"PMI-2", 2, []string{
		"cmd=init pmi_version=2 pmi_subversion=0", "cmd=fullinit;pmirank=%d;threaded=FALSE;", "cmd=job-getid;thrid=0x7f;",
		"cmd=info-getjobattr;key=PMI_process_mapping;", "cmd=info-getjobattr;key=universeSize;",
		"cmd=kvs-put;key=k%d;value=a=%d b;;c;", "cmd=kvs-fence;thrid=1;",
		"cmd=kvs-get;jobid=;srcid=-1;key=k0;", "cmd=kvs-get;jobid=;srcid=1;key=k1;", "cmd=kvs-get;jobid=;srcid=-1;key=nosuch;",
		"cmd=kvs-fence;", "cmd=info-getnodeattr;key=nosuch;wait=FALSE;",
		"cmd=info-putnodeattr;key=n%d;value=v%d;", "cmd=info-getnodeattr;key=n0;wait=TRUE;", "cmd=info-getnodeattr;key=n1;wait=TRUE;",
		"cmd=kvs-fence;", "cmd=finalize;",
	}, false},
	{"names", 1, []string{
		init11, "cmd=publish_name service=s port=p", "cmd=publish_name service=s port=q", "cmd=lookup_name service=s",
		"cmd=unpublish_name service=s", "cmd=unpublish_name service=s", "cmd=lookup_name service=s", "cmd=finalize",
	}, false},
	{"finalize twice", 1, []string{init11, "cmd=finalize", "cmd=finalize"}, false},
	{"init again", 1, []string{init11, "cmd=finalize", init11, "cmd=finalize"}, false},
	{"asked for 1.0", 1, []string{"cmd=init pmi_version=1 pmi_subversion=0", "cmd=finalize"}, false},
	{"asked for 1.2", 1, []string{"cmd=init pmi_version=1 pmi_subversion=2", "cmd=finalize"}, true},
	{"asked for 3.0", 1, []string{"cmd=init pmi_version=3 pmi_subversion=0"}, true},
	{"no PMI at all", 2, nil, false},
	{"no finalize", 1, []string{init11}, true},
	{"abort", 2, []string{init11, "cmd=abort exitcode=7"}, true},
	{"abort with -1", 2, []string{init11, "cmd=abort exitcode=-1"}, true},
	{"before init", 1, []string{"cmd=get_maxes"}, true},
	{"unknown command", 2, []string{init11, "cmd=nonsense"}, true},
	{"no PMI command", 2, []string{"hello"}, true},
	{"put without a key", 1, []string{init11, myName, "cmd=put kvsname=K value=x", "cmd=finalize"}, true},
	{"put without a value", 1, []string{init11, myName, "cmd=put kvsname=K key=x", "cmd=finalize"}, true},
	{"another key-value space", 1, []string{init11, "cmd=put kvsname=other key=x value=y", "cmd=get kvsname=other key=x", "cmd=finalize"}, true},
}

// difference is one between the servers that we know and want: in the answer to
// a request or, where that is "exit", in the job's status.
type difference struct {
	talk            string // conversation, "" for any
	request         string
	hydra, golaunch string // all three are regular expressions for the whole
	reason          string
}

var differences = []difference{
	{"", `cmd=(get .*|info-getjobattr;)key=PMI_process_mapping;?`, `.*\(0,1,1\)\)`, `.*\(0,1,2\)\)`,
		"Hydra gives a pattern that repeats; not every client repeats it, so golaunch's list covers all ranks"},
	{"", `cmd=get .* key=PMI_dead_processes`, `cmd=get_result rc=0 value=`, `cmd=get_result rc=4 msg=key_not_found`,
		"golaunch ends the job when a process dies, and older clients cannot read an empty value"},
	{"", `cmd=get .* key=(nosuch|PMI_.*|l{64})`, `cmd=get_result rc=-1 msg=key_\w+_not_found value=unknown`, `cmd=get_result rc=4 msg=key_not_found`,
		"Hydra sends a value beside the failure, which a client that reads value= first takes for one"},
	{"", `cmd=get .* key=k[01]`, `cmd=get_result rc=-1 msg=key_k\d_not_found value=unknown`, `cmd=get_result rc=0 value=a=.*`,
		"before the barrier: golaunch's ranks find at once what was put on their node, Hydra sends it away in batches"},
	{"", `cmd=get .* key=b0`, `cmd=get_result rc=0 value=with`, `cmd=get_result rc=0 value=with blanks  -`,
		"Hydra cuts values at the first blank; Flux and Open MPI use them"},
	{"", `cmd=put .* key=PMI_mine .*`, `cmd=put_result rc=0`, `cmd=put_result rc=1 msg=keys_that_begin_with_PMI__are_reserved`,
		"the server's keys are the server's, as in Hydra since 4.1"},
	{"", `cmd=put .* key=l{64} .*`, `cmd=put_result rc=0`, `cmd=put_result rc=-1 msg=key_longer_than_63_bytes`,
		"keylen_max is kept"},
	{"", `cmd=get .* key=PMI_mine`, `cmd=get_result rc=0 value=x`, `cmd=get_result rc=4 msg=key_not_found`,
		"so that key was not put"},
	{"PMI-2", `cmd=kvs-get;.*key=k\d;`, `cmd=kvs-get-response;found=TRUE;rc=0;value=a=\d b`, `cmd=kvs-get-response;found=TRUE;rc=0;value=a=\d b;;c`,
		"Hydra cuts values at a doubled semicolon; client libraries write it for a single one"},
	{"names", `cmd=(publish_name .* port=q|unpublish_name .*)`, `cmd=\w+_result info=ok rc=1 msg=\w+`, `cmd=\w+_result info=fail rc=1 msg=\w+`,
		"both refuse, but with Hydra info says that all is well"},
	{"names", `cmd=lookup_name .*`, `cmd=lookup_result port=p info=ok rc=0`, `cmd=lookup_result info=ok rc=0 port=p`,
		"golaunch puts what may hold blanks last"},
	{"names", `cmd=lookup_name .*`, `cmd=lookup_result rc=1 msg=service_not_found`, `cmd=lookup_result info=fail rc=1 msg=service_not_found`,
		"some clients read info, others rc"},
	{"finalize twice|init again", `cmd=(finalize|init .*)`, `<EOF>`, `cmd=(finalize_ack|response_to_init .*)`,
		"golaunch keeps the connection: MPICH 4.2 and later may init again"},
	{"asked for .*", `exit`, `255`, `0`,
		"a version that is not served ends Hydra's job; golaunch offers 1.1, and says so where the client has to give up"},
	{"before init", `exit`, `0|1|9`, `125`, "Hydra answers; golaunch sees a client that was not promised a version"},
	{"unknown command|no PMI command", `exit`, `255`, `125`, "golaunch's status for itself and for a broken protocol is 125"},
	{"put without a .*", `exit`, `255`, `0`, "golaunch answers what is wrong with rc=-1"},
	{"another key-value space", `exit`, `255`, `0`, "a rank has one space, so golaunch ignores the name, as other servers do"},
}

// chances are differences that Hydra shows on some runs only.
var chances = []difference{
	{"keys", `cmd=get .* key=k1`, `cmd=get_result rc=0 value=a=1.b`, `cmd=get_result rc=0 value=again`,
		"a key that was put again: with golaunch the later put wins, with Hydra now the one, now the other"},
	{"no finalize", `exit`, `0|9`, `1`,
		"golaunch says which rank exited without finalize; Hydra kills what is left of it, if it comes in time"},
}

// conversationClient is a rank that has one of the conversations and prints it.
func conversationClient(c *rawClient, talk conversation) {
	kvsname := "K"
	for _, line := range talk.lines {
		line = strings.ReplaceAll(line, "%d", fmt.Sprint(c.rank))
		if strings.HasSuffix(line, ";") {
			fmt.Fprintf(c.fd, "%6d%s", len(line), line)
			fmt.Printf("%d %s\t%s\n", c.rank, line, c.message())
			continue
		}
		fmt.Fprintln(c.fd, strings.ReplaceAll(line, "kvsname=K", "kvsname="+kvsname)) // a broken pipe shows as the end of file
		if strings.HasPrefix(line, "cmd=abort") {
			c.line() // until the server ends this process
		}
		reply := c.line()
		if name, found := strings.CutPrefix(reply, "cmd=my_kvsname kvsname="); found {
			kvsname, reply = name, "cmd=my_kvsname kvsname=K"
		}
		fmt.Printf("%d %s\t%s\n", c.rank, line, reply)
	}
}

// transcript returns the output, by rank and in order, and the exit status.
func transcript(t *testing.T, talk conversation, launcher ...string) []string {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	argv := append(append(launcher, "-n", fmt.Sprint(talk.ranks)), raw(talk.name)...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	r := finish(t, cmd, cmd, "")
	require.NoError(t, ctx.Err(), "%s hangs", launcher[0])
	exit := fmt.Sprintf("exit\t%d", r.code)
	if talk.fatal {
		return []string{exit}
	}
	var lines []string
	for _, line := range r.lines() {
		if strings.Contains(line, "\t") {
			lines = append(lines, line)
		}
	}
	slices.SortStableFunc(lines, func(a, b string) int { return int(a[0]) - int(b[0]) })
	return append(lines, exit)
}

// The same client under Hydra's mpiexec and ours: every difference is one that
// we can explain, and every explanation is of one that is there.
func TestSameClientUnderHydra(t *testing.T) {
	hydra, err := exec.LookPath("mpiexec.hydra")
	if err != nil {
		t.Skip("skipped: no mpiexec.hydra to compare with; apt-get install mpich")
	}
	version, err := exec.Command(hydra, "--version").Output()
	require.NoError(t, err)
	if !strings.Contains(string(version), " 4.0.") {
		t.Skip("skipped: the differences explained are those to Hydra 4.0")
	}
	used := make([]bool, len(differences))
	for _, talk := range conversations {
		t.Run(talk.name, func(t *testing.T) {
			theirs, ours := transcript(t, talk, hydra), transcript(t, talk, bin("golaunch"))
			for tries := 0; theirs[len(theirs)-1] == "exit\t-1" && tries < 3; tries++ {
				t.Log("Hydra was ended by a signal: it crashes at times when a version is refused")
				theirs = transcript(t, talk, hydra)
			}
			require.Equal(t, len(theirs), len(ours), "%q\n%q", theirs, ours)
			require.Len(t, ours, map[bool]int{false: talk.ranks*len(talk.lines) + 1, true: 1}[talk.fatal])
			for i := range ours {
				request, reply, _ := strings.Cut(ours[i], "\t")
				asked, theirReply, _ := strings.Cut(theirs[i], "\t")
				require.Equal(t, asked, request)
				// Hydra says twice that all is well. Nobody reads the second.
				theirReply = strings.Replace(theirReply, " rc=0 msg=success", " rc=0", 1)
				if theirReply == reply {
					continue
				}
				explains := func(d difference) bool {
					return d.explains(talk.name, strings.TrimLeft(request, "01 "), theirReply, reply)
				}
				if d := slices.IndexFunc(differences, explains); d >= 0 {
					used[d] = true
					continue
				}
				assert.True(t, slices.ContainsFunc(chances, explains),
					"not explained: %q is answered\n%q by Hydra and\n%q by golaunch", request, theirReply, reply)
			}
		})
	}
	for i, d := range differences {
		assert.True(t, used[i], "no longer there: %+v", d)
	}
}

// explains tells whether d is about these answers.
func (d difference) explains(talk, request, hydra, golaunch string) bool {
	whole := func(pattern, text string) bool { return regexp.MustCompile("^(" + pattern + ")$").MatchString(text) }
	return (d.talk == "" || whole(d.talk, talk)) && whole(d.request, request) && whole(d.hydra, hydra) && whole(d.golaunch, golaunch)
}
