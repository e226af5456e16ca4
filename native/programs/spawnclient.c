/*
 * spawnclient: a PMI-1 client without a library that spawns worlds, and is what
 * they run, for tests.
 *
 *   spawnclient [-r RANK] [-t TIMES] [-w] [-k KEY=VALUE]... [-g KEY]... [-G KEY]...
 *               [-P NAME] [-L NAME] [-x CODE] [-s] [COMMAND [+ COMMAND]...]
 *
 *   COMMAND is PROCS [KEY=VALUE]... -- PROGRAM [ARG]...; KEY=VALUE are hints.
 *   A + that belongs to a PROGRAM of a COMMAND is written ++.
 *
 *   -r   which rank spawns (0)
 *   -t   how many times, one after the other (1)
 *   -w   try again while there is no free slot
 *   -k   put KEY into the new world before it begins
 *   -g   print what is found under KEY before the first barrier
 *   -G   the same, after putting another value there and a barrier
 *   -P   publish NAME; its port is "at:" and the name
 *   -L   print the port of NAME
 *   -x   PMI abort with CODE if a spawn is refused
 *   -s   say nothing more once a spawn is answered, as a rank that waits for its
 *        new world
 *
 * Prints "rank R of S app A spawned X mapping M", with "hello ARG..." where its
 * arguments ask for no spawn, and a line for each spawn: its reply but for cmd.
 * Every rank of a world puts a value, enters a barrier and reads its neighbour's.
 */
#include "pmi1.h"

enum { MAX_PAIRS = 16 };

static const char *preput[MAX_PAIRS];
static int preputs;

/* line sends one "key=value" line of a spawn request. */
static void line(const char *format, ...)
{
	char text[LINE];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(text, sizeof text - 1, format, ap);
	va_end(ap);
	if (n < 0 || n >= (int)sizeof text - 1)
		die("request too long");
	text[n] = '\n';
	send_all(text, (size_t)n + 1);
}

/* pairs sends KEY=VALUE words as what keys and values are called. */
static void pairs(const char *count, const char *key, const char *value, const char *words[], int n)
{
	line("%s=%d", count, n);
	for (int i = 0; i < n; i++) {
		const char *eq = strchr(words[i], '=');

		if (!eq)
			die("\"%s\" is not KEY=VALUE", words[i]);
		line("%s%d=%.*s", key, i, (int)(eq - words[i]), words[i]);
		line("%s%d=%s", value, i, eq + 1);
	}
}

static int is(const char *word, const char *what)
{
	return strcmp(word, what) == 0;
}

/* command sends one command's block and returns how many words it took. */
static int command(char **words, int sofar, int total)
{
	const char *hints[MAX_PAIRS];
	int at = 1, n = 0, args = 0;

	for (; words[at] && !is(words[at], "--"); at++) {
		if (n == MAX_PAIRS)
			die("more than %d hints", MAX_PAIRS);
		hints[n++] = words[at];
	}
	if (!words[at] || !words[at + 1])
		die("a command without a program");
	at++;
	line("mcmd=spawn");
	line("nprocs=%s", words[0]);
	line("execname=%s", words[at++]);
	line("totspawns=%d", total);
	line("spawnssofar=%d", sofar);
	for (; words[at] && !is(words[at], "+"); at++)
		line("arg%d=%s", ++args, is(words[at], "++") ? "+" : words[at]);
	line("argcnt=%d", args);
	pairs("preput_num", "preput_key_", "preput_val_", preput, preputs);
	pairs("info_num", "info_key_", "info_val_", hints, n);
	line("endcmd");
	return at;
}

/* spawn asks for the worlds that words describe. It returns 1 if they are there,
 * 0 if not, and -1, silently, where again is set and there was no free slot. */
static int spawn(char **words, int again)
{
	int total = 1, sofar = 0;
	char *r;

	for (char **w = words; *w; w++)
		total += is(*w, "+");
	while (*words) {
		words += command(words, ++sofar, total);
		if (*words)
			words++;
	}
	r = reply();
	if (again && strstr(r, "not_enough_free_slots"))
		return -1;
	if (!field(r, "cmd") || !is(field(r, "cmd"), "spawn_result"))
		die("asked for a spawn, got \"%s\"", r);
	printf("%s\n", strchr(r, ' ') + 1);
	fflush(stdout);
	return field(r, "rc") && is(field(r, "rc"), "0");
}

static void show(const char *key)
{
	const char *v = field(ask("get_result", "cmd=get kvsname=%s key=%s\n", kvs, key), "value");

	printf("%s is %s\n", key, v ? v : "not there");
}

/* exchange has every rank put, and read its neighbour's value. */
static void exchange(void)
{
	char want[64];
	const char *got;

	check_rc("put", ask("put_result", "cmd=put kvsname=%s key=k%d value=%s-%d\n", kvs, rank, kvs, rank));
	barrier();
	snprintf(want, sizeof want, "%s-%d", kvs, (rank + 1) % size);
	got = field(ask("get_result", "cmd=get kvsname=%s key=k%d\n", kvs, (rank + 1) % size), "value");
	if (!got || !is(got, want))
		die("the neighbour's value is \"%s\", expected \"%s\"", got ? got : "", want);
}

static void hello(char **args)
{
	const char *spawned = getenv("PMI_SPAWNED");
	char app[32];

	snprintf(app, sizeof app, "%s", field(ask("appnum", "cmd=get_appnum\n"), "appnum"));
	printf("rank %d of %d app %s spawned %s mapping %s", rank, size, app, spawned ? spawned : "0",
	       field(ask("get_result", "cmd=get kvsname=%s key=PMI_process_mapping\n", kvs), "value"));
	if (*args && strspn(*args, "0123456789") == 0)
		printf(" hello");
	for (; *args && strspn(*args, "0123456789") == 0; args++)
		printf(" %s", *args);
	printf("\n");
}

int main(int argc, char **argv)
{
	const char *get[MAX_PAIRS], *over[MAX_PAIRS], *published = NULL, *wanted = NULL, *v;
	int gets = 0, overs = 0, who = 0, times = 1, again = 0, code = -1, silent = 0, c;

	while ((c = getopt(argc, argv, "+r:t:wk:g:G:P:L:x:s")) != -1) {
		if (gets == MAX_PAIRS || overs == MAX_PAIRS || preputs == MAX_PAIRS)
			die("more than %d keys", MAX_PAIRS);
		switch (c) {
		case 'r': who = number("-r", optarg); break;
		case 't': times = number("-t", optarg); break;
		case 'w': again = 1; break;
		case 'k': preput[preputs++] = optarg; break;
		case 'g': get[gets++] = optarg; break;
		case 'G': over[overs++] = optarg; break;
		case 'P': published = optarg; break;
		case 'L': wanted = optarg; break;
		case 'x': code = number("-x", optarg); break;
		case 's': silent = 1; break;
		default: return 2;
		}
	}
	init();
	hello(argv + optind);
	for (int i = 0; i < gets; i++)
		show(get[i]);
	if (wanted) {
		v = field(ask("lookup_result", "cmd=lookup_name service=%s\n", wanted), "port");
		printf("%s is published %s\n", wanted, v ? v : "nowhere");
	}
	if (published && rank == who)
		check_rc("publish", ask("publish_result", "cmd=publish_name service=%s port=at:%s\n", published, published));
	for (int i = 0; i < overs; i++)
		check_rc("put", ask("put_result", "cmd=put kvsname=%s key=%s value=own\n", kvs, over[i]));
	exchange();
	for (int i = 0; i < overs; i++)
		show(over[i]);
	if (argv[optind] && strspn(argv[optind], "0123456789") > 0 && rank == who) {
		for (int i = 0; i < times; i++) {
			int there;

			while ((there = spawn(argv + optind, again)) < 0)
				usleep(1000);
			if (!there && code >= 0) {
				line("cmd=abort exitcode=%d", code);
				pause();
			}
			if (silent)
				pause();
		}
	}
	barrier();
	ask("finalize_ack", "cmd=finalize\n");
	return 0;
}
