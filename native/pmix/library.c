/* Opens libpmix. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library.h"

struct px_library px;

enum { OLDEST = 4 };

/* release finds the number of a version, as "4.2.2", in what PMIx_Get_version says:
 * "OpenPMIx 4.2.2rc1 (PMIx Standard: 4.2, ...)". */
static int release(const char *text, char *version, size_t room)
{
	int major = 0, minor = 0, patch = 0;

	text += strcspn(text, "0123456789");
	sscanf(text, "%d.%d.%d", &major, &minor, &patch);
	snprintf(version, room, "%d.%d.%d", major, minor, patch);
	return major;
}

const char *px_open(const char *name)
{
	static char why[512];
	void *library = dlopen(name, RTLD_NOW | RTLD_GLOBAL); /* its components look for its symbols */
	Dl_info file;

	if (!library) {
		snprintf(why, sizeof why, "libpmix can't be loaded: %s", dlerror());
		return why;
	}
#define FIND(result, name, args) px.name = (result(*) args)dlsym(library, "PMIx_" #name);
	PX_FUNCTIONS(FIND)
	PX_OPTIONAL(FIND)
	px.file = name;
	if (px.Get_version && dladdr((void *)px.Get_version, &file) && file.dli_fname)
		px.file = file.dli_fname;
	/* Before 4 it has the same soname, and smaller structs. */
	if (px.Get_version && release(px.Get_version(), px.version, sizeof px.version) < OLDEST) {
		snprintf(why, sizeof why, "%s is PMIx %s, golaunch needs %d or newer", px.file, px.version, OLDEST);
		return why;
	}
#define NEED(result, name, args) \
	if (!px.name) { \
		snprintf(why, sizeof why, "%s has no PMIx_" #name ", so it is no PMIx %d or newer", px.file, OLDEST); \
		return why; \
	}
	PX_FUNCTIONS(NEED)
	return NULL;
}

void px_free_value(struct px_value *v)
{
	if (px.Value_destruct)
		px.Value_destruct(v);
	else if (v->type == PX_STRING)
		free(v->data.string);
	else if (v->type == PX_BYTE_OBJECT)
		free(v->data.bo.bytes);
}
