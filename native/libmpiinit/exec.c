/*
 * Programs that a process executes before its MPI has begun, as scripts and wrappers do,
 * have the library preloaded again. They have not where the dynamic linker would
 * complain: in a program for another platform, or where the library's file is not seen,
 * as in a container.
 *
 * All is done on the stack, and without locks: the process may be a child of vfork.
 */
#include "init.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>

#include "../preload.h"

/* starts_with tells whether a variable has a name. */
static int starts_with(const char *variable, const char *name)
{
	size_t n = strlen(name);

	return strncmp(variable, name, n) == 0 && variable[n] == '=';
}

/* fits tells whether a file is for this library's platform, or a script whose
 * interpreter is; in doubt it is. */
static int fits(const char *file, int script)
{
	unsigned char has[HEAD + MOST_PATH] = {0};
	int fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return 1;
	n = read(fd, has, sizeof has - 1);
	close(fd);
	if (n >= HEAD && memcmp(has, "\177ELF", 4) == 0)
		return has[ELF_CLASS] == head[ELF_CLASS] && has[ELF_DATA] == head[ELF_DATA] &&
		       memcmp(has + ELF_MACHINE, head + ELF_MACHINE, 2) == 0;
	if (n > 2 && memcmp(has, "#!", 2) == 0 && !script) {
		char *interpreter = (char *)has + 2;

		interpreter += strspn(interpreter, " \t");
		interpreter[strcspn(interpreter, " \t\n")] = 0;
		return fits(interpreter, 1);
	}
	return 1;
}

/* fits_in_path is fits for a program that is sought along PATH. */
static int fits_in_path(const char *name)
{
	const char *at = getenv("PATH");
	char file[PATH_MAX];

	if (strchr(name, '/') || !at)
		return fits(name, 0);
	for (;; at++) {
		size_t n = strcspn(at, ":");

		if (n + 1 + strlen(name) < sizeof file) {
			memcpy(file, at, n);
			strcpy(file + n, n > 0 ? "/" : "");
			strcat(file, name);
			if (access(file, X_OK) == 0)
				return fits(file, 0);
		}
		at += n;
		if (!*at)
			return 1;
	}
}

/* room counts the variables, and the length of the text of those that are changed
 * may be; 0 where the library is not to be added. */
static size_t room(char *const envp[], size_t *length)
{
	size_t n = 0;
	int known = 0;

	*length = sizeof PRELOAD_VARIABLE "=:" + sizeof self + sizeof SANITIZER_VARIABLE "=:" SANITIZER_OPTION;
	for (; envp && envp[n]; n++) {
		known |= starts_with(envp[n], PIPE_VARIABLE);
		if (starts_with(envp[n], PRELOAD_VARIABLE)) {
			*length += strlen(envp[n]);
			if (strstr(envp[n], self))
				return 0;
		}
		if (starts_with(envp[n], SANITIZER_VARIABLE))
			*length += strlen(envp[n]);
	}
	return active && known && access(self, R_OK) == 0 ? n : 0;
}

/* append writes what a variable is, with a word behind its own, and tells where the next
 * text may begin. */
static char *append(char *const envp[], const char *name, const char *word, char *text)
{
	strcat(strcpy(text, name), "=");
	for (; *envp; envp++)
		if (starts_with(*envp, name) && (*envp)[strlen(name) + 1])
			strcat(strcpy(text, *envp), ":");
	strcat(text, word);
	return text + strlen(text) + 1;
}

/* add makes list the variables of envp with the library behind what they preload,
 * and with what has ASan take it. New ones are in text. */
static void add(char *const envp[], char **list, char *text)
{
	size_t n = 0;

	list[n++] = text;
	text = append(envp, PRELOAD_VARIABLE, self, text);
	list[n++] = text;
	append(envp, SANITIZER_VARIABLE, SANITIZER_OPTION, text);
	for (; *envp; envp++)
		if (!starts_with(*envp, PRELOAD_VARIABLE) && !starts_with(*envp, SANITIZER_VARIABLE))
			list[n++] = *envp;
	list[n] = NULL;
}

/* WITH_LIBRARY has a call be made with an environment that has the library, in env, if
 * the program is one that it fits. */
#define WITH_LIBRARY(fitting, envp, env, call) \
	size_t length_, room_ = room(envp, &length_); \
	int add_ = room_ > 0 && (fitting); \
	char *list_[add_ ? room_ + 3 : 1], text_[add_ ? length_ : 1]; \
	char *const *env = envp; \
\
	if (add_) { \
		add(envp, list_, text_); \
		env = list_; \
	} \
	return call;

#define NEXT(name) \
	__typeof__(&name) next = (__typeof__(next))dlsym(RTLD_NEXT, #name); \
	if (!next) { \
		errno = ENOSYS; \
		return -1; \
	}

VISIBLE int execve(const char *path, char *const argv[], char *const envp[])
{
	NEXT(execve)
	WITH_LIBRARY(fits(path, 0), envp, env, next(path, argv, env))
}

VISIBLE int execv(const char *path, char *const argv[]) { return execve(path, argv, environ); }

VISIBLE int execvpe(const char *name, char *const argv[], char *const envp[])
{
	NEXT(execvpe)
	WITH_LIBRARY(fits_in_path(name), envp, env, next(name, argv, env))
}

VISIBLE int execvp(const char *name, char *const argv[])
{
	return execvpe(name, argv, environ);
}

VISIBLE int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
			char *const argv[], char *const envp[])
{
	__typeof__(&posix_spawn) next = (__typeof__(next))dlsym(RTLD_NEXT, "posix_spawn");

	if (!next)
		return ENOSYS;
	WITH_LIBRARY(fits(path, 0), envp, env, next(pid, path, actions, attr, argv, env))
}

VISIBLE int posix_spawnp(pid_t *pid, const char *name, const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr,
			 char *const argv[], char *const envp[])
{
	__typeof__(&posix_spawnp) next = (__typeof__(next))dlsym(RTLD_NEXT, "posix_spawnp");

	if (!next)
		return ENOSYS;
	WITH_LIBRARY(fits_in_path(name), envp, env, next(pid, name, actions, attr, argv, env))
}

/* quoted_size is the size of a text as a word of the shell. */
static size_t quoted_size(const char *text)
{
	size_t n = sizeof "''";

	for (; *text; text++)
		n += *text == '\'' ? sizeof "'\\''" - 1 : 1;
	return n;
}

/* quote adds a text as a word of the shell, of which it leaves a variable's name and
 * = as they are. It returns the end of the word. */
static char *quote(char *to, const char *text, size_t name)
{
	memcpy(to, text, name);
	to += name;
	*to++ = '\'';
	for (text += name; *text; text++)
		if (*text == '\'')
			to = (char *)memcpy(to, "'\\''", 4) + 4;
		else
			*to++ = *text;
	strcpy(to, "'");
	return to + 1;
}

/* shell_command is the command of a shell that becomes a shell with the library,
 * which runs a command: commands that the C library starts by itself do not pass
 * here. */
static void shell_command(const char *command, char *const added[], char *to)
{
	to = quote(to, added[0], sizeof PRELOAD_VARIABLE);
	*to++ = ' ';
	to = quote(to, added[1], sizeof SANITIZER_VARIABLE);
	to = strcpy(to, " exec /bin/sh -c -- ") + sizeof " exec /bin/sh -c -- " - 1;
	strcpy(quote(to, command, 0), " sh");
}

/* AS_COMMAND has a call be made with a command that has the library, in its place. */
#define AS_COMMAND(command, call) \
	size_t length_, room_ = command ? room(environ, &length_) : 0; \
	int add_ = room_ > 0 && fits("/bin/sh", 0); \
	char *list_[add_ ? room_ + 3 : 1], text_[add_ ? length_ : 1]; \
	size_t size_ = 1; \
\
	if (add_) { \
		add(environ, list_, text_); \
		size_ = quoted_size(list_[0]) + quoted_size(list_[1]) + quoted_size(command) + MORE_COMMAND; \
		add_ = size_ <= MOST_COMMAND; \
	} \
	char command_[add_ ? size_ : 1]; \
	if (add_) { \
		shell_command(command, list_, command_); \
		command = command_; \
	} \
	return call;

/* MOST_COMMAND is for the stack, and for what a program may be given as one word. */
enum { MOST_COMMAND = 32 << 10, MORE_COMMAND = 64 };

VISIBLE int system(const char *command)
{
	NEXT(system)
	AS_COMMAND(command, next(command))
}

VISIBLE FILE *popen(const char *command, const char *type)
{
	__typeof__(&popen) next = (__typeof__(next))dlsym(RTLD_NEXT, "popen");

	if (!next) {
		errno = ENOSYS;
		return NULL;
	}
	AS_COMMAND(command, next(command, type))
}

/* The words of a list of arguments, and where what follows them is. */
#define WORDS(first) \
	va_list ap_; \
	size_t n_ = 1; \
\
	va_start(ap_, first); \
	while (va_arg(ap_, char *)) \
		n_++; \
	va_end(ap_); \
	char *argv[n_ + 1]; \
	va_start(ap_, first); \
	argv[0] = (char *)(uintptr_t)first; \
	for (size_t i = 1; i <= n_; i++) \
		argv[i] = va_arg(ap_, char *);

VISIBLE int execl(const char *path, const char *first, ...)
{
	WORDS(first)
	va_end(ap_);
	return execve(path, argv, environ);
}

VISIBLE int execlp(const char *name, const char *first, ...)
{
	WORDS(first)
	va_end(ap_);
	return execvpe(name, argv, environ);
}

VISIBLE int execle(const char *path, const char *first, ...)
{
	WORDS(first)
	char *const *envp = va_arg(ap_, char *const *);

	va_end(ap_);
	return execve(path, argv, envp);
}
