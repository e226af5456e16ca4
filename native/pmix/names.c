/* Clients' publishing, look-ups and taking back. */
#include <string.h>

#include "infos.h"
#include "keys.h"
#include "upcalls.h"

/* out_range writes the range of a value: where PMIx leaves it to the server, the
 * session. */
static void out_range(struct out *o, const struct px_info *infos, size_t n)
{
	int64_t range = info_number(infos, n, KEY_RANGE, 0);

	out_u8(o, range ? (uint8_t)range : PX_RANGE_SESSION);
}

/* directive says whether an info of a publication is none of the values. */
static bool directive(const struct px_info *info)
{
	static const char *const keys[] = {
		KEY_RANGE, KEY_PERSISTENCE, KEY_TIMEOUT, KEY_USERID, KEY_GRPID, KEY_ACCESS_PERMISSIONS,
		KEY_ACCESS_USERIDS, KEY_ACCESS_GRPIDS,
	};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (info_is(info, keys[i]))
			return true;
	}
	return false;
}

int publish(const struct px_proc *proc, const struct px_info *infos, size_t n, px_op_fn *done, void *with)
{
	struct out o;
	uint32_t request = ask_begin(&o, KIND_PUBLISH, KIND_DONE, (any_fn)done, with), values = 0;
	int status = PX_SUCCESS;

	out_proc(&o, proc);
	out_range(&o, infos, n);
	out_u8(&o, (uint8_t)info_number(infos, n, KEY_PERSISTENCE, PX_PERSIST_SESSION));
	for (size_t i = 0; i < n; i++)
		values += !directive(&infos[i]);
	out_u32(&o, values);
	for (size_t i = 0; i < n && status == PX_SUCCESS; i++) {
		if (directive(&infos[i]))
			continue;
		out_proc(&o, proc);
		out_data(&o, infos[i].key, strnlen(infos[i].key, PX_KEY));
		status = out_packed(&o, (struct px_value *)&infos[i].value);
	}
	return ask_send(&o, request, KIND_DONE, status);
}

int lookup(const struct px_proc *proc, char **keys, const struct px_info *infos, size_t n, px_lookup_fn *done,
	   void *with)
{
	struct out o;
	uint32_t request = ask_begin(&o, KIND_LOOKUP, KIND_FOUND, (any_fn)done, with);
	int64_t wait = info_number(infos, n, KEY_WAIT, -1);

	if (wait < 0 && info_true(infos, n, KEY_WAIT)) /* said without a number */
		wait = 0;
	out_proc(&o, proc);
	out_range(&o, infos, n);
	out_u32(&o, (uint32_t)(int32_t)wait);
	out_u32(&o, ask_timeout(infos, n));
	out_texts(&o, keys);
	return ask_send(&o, request, KIND_FOUND, PX_SUCCESS);
}

int unpublish(const struct px_proc *proc, char **keys, const struct px_info *infos, size_t n, px_op_fn *done,
	      void *with)
{
	struct out o;
	uint32_t request = ask_begin(&o, KIND_UNPUBLISH, KIND_DONE, (any_fn)done, with);

	out_proc(&o, proc);
	out_range(&o, infos, n);
	out_texts(&o, keys);
	return ask_send(&o, request, KIND_DONE, PX_SUCCESS);
}
