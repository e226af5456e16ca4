package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeUCX is a UCX that knows its own workers from another's, as the real one, which
// would crash, does not.
const fakeUCX = `
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>
struct worker { int of, process; sem_t served; };
static void check(const struct worker *w) { if (w->of != NUMBER) abort(); }
int ucp_worker_create(void *context, const void *params, struct worker **worker)
{
	(void)context, (void)params;
	*worker = malloc(sizeof **worker);
	(*worker)->of = NUMBER;
	(*worker)->process = gettid();
	return sem_init(&(*worker)->served, 0, 0);
}
unsigned ucp_worker_progress(struct worker *w)
{
	check(w);
	if (gettid() != w->process)
		sem_post(&w->served);
	return 0;
}
void *ucp_disconnect_nb(struct worker *w) { check(w); return w; }
void ucp_request_release(struct worker *w) { check(w); }
void ucp_worker_destroy(struct worker *w) { check(w); free(w); }
void wait_until_served(struct worker *w) { sem_wait(&w->served); }
`

// module is an interpreter's module with a UCX of its own.
const module = `
int ucp_worker_create(void *, const void *, void **);
unsigned ucp_worker_progress(void *);
void *ucp_disconnect_nb(void *);
void ucp_request_release(void *);
void ucp_worker_destroy(void *);
void wait_until_served(void *);
static void *worker;
void begin(void) { ucp_worker_create(0, 0, &worker); ucp_worker_progress(worker); }
void leave(int served)
{
	void *request = ucp_disconnect_nb(worker);
	if (served)
		wait_until_served(worker);
	ucp_request_release(request);
}
void end(void) { ucp_worker_destroy(worker); }
`

// several uses two modules at the same time; with an argument a thread is to serve them.
const several = `
#include <dlfcn.h>
#include <stdio.h>
static void call(void *module, const char *name, int served) { ((void (*)(int))dlsym(module, name))(served); }
int main(int argc, char **argv)
{
	void *first = dlopen(MODULE "1.so", RTLD_NOW | RTLD_LOCAL), *second = dlopen(MODULE "2.so", RTLD_NOW | RTLD_LOCAL);
	const char *const steps[] = {"begin", "leave", "end"};
	(void)argv;
	for (int i = 0; i < 3; i++) {
		call(first, steps[i], argc > 1);
		call(second, steps[i], argc > 1);
	}
	puts("done");
}
`

// ownMPI is a library with an MPI of its own, as programs have that run without one.
const ownMPI = `
#include <stdio.h>
int PMPI_Init(int *argc, char ***argv) { (void)argc, (void)argv; return NUMBER; }
int MPI_Init(int *argc, char ***argv) { return PMPI_Init(argc, argv); }
`

const usesMPI = `
int MPI_Init(int *, char ***);
int begin(void) { return MPI_Init(0, 0); }
`

const severalMPI = `
#include <dlfcn.h>
#include <stdio.h>
#pragma weak MPI_Session_init
int MPI_Session_init(int, int, void *);
static int call(const char *file) { return ((int (*)(void))dlsym(dlopen(file, RTLD_NOW | RTLD_LOCAL), "begin"))(); }
int main(void)
{
	printf("%d\n", call(MODULE "1.so"));
#ifndef ONE
	printf("%d\n", call(MODULE "2.so"));
#endif
	if (MPI_Session_init)
		printf("%d\n", MPI_Session_init(0, 0, 0));
}
`

// compile makes a file of C with gcc's flags.
func compile(t *testing.T, file, source string, flags ...string) {
	t.Helper()
	cc := exec.Command("gcc", append([]string{"-D_GNU_SOURCE", "-O1", "-x", "c", "-", "-x", "none", "-o", file}, flags...)...)
	cc.Stdin = strings.NewReader(source)
	out, err := cc.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// loading makes a program that loads two modules, each with a library of its own under a
// name that tells nothing, as tools that pack modules give it.
func loading(t *testing.T, library, module, program string, flags ...string) (file string) {
	t.Helper()
	needShell(t, "gcc")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, n := range []string{"1", "2"} {
		packed := at("libpacked-" + n + "a2b.so")
		compile(t, packed, library, append(flags, "-shared", "-fPIC", "-DNUMBER="+n)...)
		compile(t, at("module"+n+".so"), module, append(flags, "-shared", "-fPIC", packed, "-Wl,-rpath,"+dir)...)
	}
	compile(t, at("program"), program, append(flags, `-DMODULE="`+at("module")+`"`, "-ldl")...)
	return at("program")
}

// Modules that have each a UCX, under any name, keep it for themselves, also where a
// thread serves their workers.
func TestUCXOfModules(t *testing.T) {
	t.Parallel()
	needBuilt(t, "lib/golaunch/libmpichfinalize.so", "gcc")
	program := loading(t, fakeUCX, module, several)
	r := local(t, "", "-n", "2", program)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "done\ndone\n", r.stdout)
	for _, args := range [][]string{{program}, {program, "served"}} {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+bin("lib/golaunch/libmpichfinalize.so"))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, "done\n", string(out))
	}
}

// Modules that have each an MPI of their own begin that, whatever its name; one that is
// nowhere is said to be.
func TestMPIOfModules(t *testing.T) {
	t.Parallel()
	needBuilt(t, "lib/golaunch/libmpiinit.so", "gcc")
	program := loading(t, ownMPI, usesMPI, severalMPI)
	r := local(t, "", "-n", "1", program)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "1\n2\n-1\n", r.stdout)
	require.Contains(t, r.stderr, "libmpiinit: MPI_Session_init is in no library of this program; golaunch --mpi none runs it without libmpiinit\n")
	r = local(t, "", "--mpi", "none", "-n", "1", program)
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "1\n2\n", r.stdout)
	require.Empty(t, r.stderr)
	t.Run("jumping there", func(t *testing.T) { // so that who calls is not seen
		r := local(t, "", "-n", "1", loading(t, ownMPI, usesMPI, severalMPI, "-foptimize-sibling-calls", "-DONE"))
		require.Zero(t, r.code, r.stderr)
		require.Equal(t, "1\n-1\n", r.stdout)
	})
}
