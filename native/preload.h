/* Common parts of the libraries that golaunch preloads: they leave LD_PRELOAD, and
 * the variables that go with it, in the process that they are for, so that its
 * children are without them. */
#ifndef PRELOAD_H
#define PRELOAD_H

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* is_separator tells whether c stands between names in LD_PRELOAD. */
static inline int is_separator(char c) { return c == ':' || c == ' ' || c == '\0'; }

/* ASan ends a program before whose runtime something is preloaded, unless its options
 * have this at their end. */
#define SANITIZER_VARIABLE "ASAN_OPTIONS"
#define SANITIZER_OPTION "verify_asan_link_order=no"

/* leave_sanitizer takes the option back. A program's ASan has seen it by then. */
static inline void leave_sanitizer(void)
{
	char *value = getenv(SANITIZER_VARIABLE);
	size_t length = value ? strlen(value) : 0, n = sizeof SANITIZER_OPTION - 1;

	if (length < n || strcmp(value + length - n, SANITIZER_OPTION) != 0)
		return;
	if (length == n)
		unsetenv(SANITIZER_VARIABLE);
	else if (value[length - n - 1] == ':')
		value[length - n - 1] = 0;
}

/* leave_preload takes the library that has an address out of LD_PRELOAD, where it
 * stands, so that main's third argument shows it gone, too. */
static inline void leave_preload(const void *address)
{
	char *value = getenv("LD_PRELOAD"), *at = value;
	Dl_info self;
	size_t length;

	leave_sanitizer();
	if (!value || !dladdr(address, &self) || !self.dli_fname || !*self.dli_fname)
		return;
	length = strlen(self.dli_fname);
	while ((at = strstr(at, self.dli_fname)) != NULL) {
		char *end = at + length;

		if ((at > value && !is_separator(at[-1])) || !is_separator(*end)) {
			at = end;
			continue;
		}
		if (at > value)
			at--;
		else if (*end)
			end++;
		memmove(at, end, strlen(end) + 1);
		break;
	}
	if (!*value)
		unsetenv("LD_PRELOAD");
}

#endif
