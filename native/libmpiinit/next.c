/*
 * The function that a caller would have without this library is found as the dynamic
 * linker does: first in what all see, behind this library, which tools are in, too; then
 * in the caller's library and what that needs, which an interpreter may have loaded for
 * a module alone, under any name and beside others with functions of these names.
 */
#define _GNU_SOURCE
#include "next.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <string.h>

/* is_in finds the object of an address, which data has as its beginning. */
static int is_in(struct dl_phdr_info *info, size_t size, void *data)
{
	struct object *o = data;
	uintptr_t address = o->from, from = UINTPTR_MAX, to = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + part->p_vaddr;

		if (part->p_type != PT_LOAD)
			continue;
		from = at < from ? at : from;
		to = at + part->p_memsz > to ? at + part->p_memsz : to;
	}
	if (address < from || address >= to)
		return 0;
	*o = (struct object){from, to, info->dlpi_name};
	return 1;
}

struct object object_of(const void *address)
{
	struct object o = {(uintptr_t)address, (uintptr_t)address + 1, NULL};

	dl_iterate_phdr(is_in, &o);
	return o;
}

/* found_in returns the symbol of a name in a library, or in those that it needs,
 * which is then kept; NULL for none but this library's own. The program's is no
 * answer: it sees this library first. Nor is that of a library that is preloaded
 * in front, which calls this one. */
static void *found_in(const char *file, const char *name)
{
	void *library = dlopen(file, RTLD_LAZY | RTLD_NOLOAD), *f = NULL;

	if (library && library != dlopen(NULL, RTLD_LAZY))
		f = dlsym(library, name);
	if (f && (f == dlsym(RTLD_DEFAULT, name) || object_of(f).from == object_of((void *)next_of).from))
		f = NULL;
	if (library && !f)
		dlclose(library);
	return f;
}

/* search is for the next of the objects that are loaded. */
struct search {
	int from, seen; /* those before were tried */
	char file[PATH_MAX];
};

static int look(struct dl_phdr_info *info, size_t size, void *data)
{
	struct search *s = data;

	(void)size;
	if (s->seen++ < s->from)
		return 0;
	s->file[0] = 0;
	if (info->dlpi_name && strlen(info->dlpi_name) < sizeof s->file)
		strcpy(s->file, info->dlpi_name);
	return 1;
}

void *next_of(const char *name, const void *caller)
{
	void *f = dlsym(RTLD_NEXT, name);
	struct search s = {0, 0, ""};
	const char *file;

	if (!f && (file = object_of(caller).file))
		f = found_in(file, name);
	/* A library that ends with the call is not seen: its own caller is. */
	for (; !f && dl_iterate_phdr(look, &s); s.from++, s.seen = 0)
		if (s.file[0])
			f = found_in(s.file, name);
	return f;
}
