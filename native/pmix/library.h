/* Declarations of libpmix for golaunch-pmix: one program serves versions 4 to 6,
 * which it opens when it runs, and is built without PMIx's headers. Layouts and
 * numbers are those of pmix_common.h and pmix_server.h, in which they are the same
 * from version 4.0 to 6.1; layout.c compares them with headers that are there. */
#ifndef GOLAUNCH_PMIX_LIBRARY_H
#define GOLAUNCH_PMIX_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { PX_NAMESPACE = 255, PX_KEY = 511 }; /* longest, without the NUL */

enum { /* pmix_status_t */
	PX_SUCCESS = 0,
	PX_ERROR = -1,
	PX_ERR_BAD_PARAM = -27,
	PX_ERR_OUT_OF_RESOURCE = -29,
	PX_ERR_NOT_SUPPORTED = -47,
	PX_ERR_PARTIAL_SUCCESS = -52,
	PX_OPERATION_SUCCEEDED = -157,
};

enum { /* pmix_data_type_t */
	PX_BOOL = 1,
	PX_BYTE = 2,
	PX_STRING = 3,
	PX_SIZE = 4,
	PX_PID = 5,
	PX_INT = 6,
	PX_INT8 = 7,
	PX_INT16 = 8,
	PX_INT32 = 9,
	PX_INT64 = 10,
	PX_UINT = 11,
	PX_UINT8 = 12,
	PX_UINT16 = 13,
	PX_UINT32 = 14,
	PX_UINT64 = 15,
	PX_STATUS = 20,
	PX_VALUE = 21,
	PX_PROC = 22,
	PX_INFO = 24,
	PX_BYTE_OBJECT = 27,
	PX_PERSIST = 30,
	PX_DATA_RANGE = 33,
	PX_DATA_ARRAY = 39,
	PX_PROC_RANK = 40,
	PX_ENVAR = 46,
	PX_REGEX = 49,
};

enum { PX_GROUP_CONSTRUCT, PX_GROUP_DESTRUCT }; /* pmix_group_operation_t */

enum { PX_RANGE_SESSION = 4, PX_PERSIST_SESSION = 4 };

struct px_proc {
	char nspace[PX_NAMESPACE + 1];
	uint32_t rank;
};

struct px_bytes {
	char *bytes;
	size_t size;
};

struct px_array {
	uint16_t type;
	size_t size;
	void *array;
};

struct px_envar {
	char *name, *value;
	char separator;
};

struct px_value {
	uint16_t type;
	union {
		bool flag;
		char *string;
		size_t size;
		int integer;
		int8_t int8;
		int16_t int16;
		int32_t int32;
		int64_t int64;
		uint8_t uint8; /* pmix_data_range_t, pmix_persistence_t and bytes too */
		uint16_t uint16;
		uint32_t uint32; /* pmix_rank_t too */
		uint64_t uint64;
		struct px_proc *proc;
		struct px_bytes bo; /* a PX_REGEX too */
		struct px_array *array;
		struct px_envar envar;
	} data;
};

struct px_info {
	char key[PX_KEY + 1];
	uint32_t flags;
	struct px_value value;
};

struct px_pdata {
	struct px_proc proc;
	char key[PX_KEY + 1];
	struct px_value value;
};

struct px_app {
	char *cmd, **argv, **env, *cwd;
	int maxprocs;
	struct px_info *info;
	size_t ninfo;
};

struct px_query {
	char **keys;
	struct px_info *qualifiers;
	size_t nqual;
};

struct px_buffer { /* pmix_data_buffer_t */
	char *base, *pack, *unpack;
	size_t allocated, used;
};

struct px_cpuset {
	char *source;
	void *bitmap;
};

struct px_topology {
	char *source;
	void *topology;
};

typedef void px_release_fn(void *);
typedef void px_op_fn(int status, void *);
typedef void px_modex_fn(int status, const char *data, size_t n, void *, px_release_fn *, void *);
typedef void px_spawn_fn(int status, char *nspace, void *);
typedef void px_lookup_fn(int status, struct px_pdata *data, size_t n, void *);
typedef void px_info_fn(int status, struct px_info *info, size_t n, void *, px_release_fn *, void *);
typedef void px_dmodex_fn(int status, char *data, size_t n, void *);

/* Members of pmix_server_module_t, by their places. */
enum px_place {
	PX_CLIENT_CONNECTED,
	PX_CLIENT_FINALIZED,
	PX_ABORT,
	PX_FENCE,
	PX_DIRECT_MODEX,
	PX_PUBLISH,
	PX_LOOKUP,
	PX_UNPUBLISH,
	PX_SPAWN,
	PX_CONNECT,
	PX_DISCONNECT,
	PX_REGISTER_EVENTS,
	PX_DEREGISTER_EVENTS,
	PX_NOTIFY_EVENT = 14,
	PX_QUERY,
	PX_LOG = 17,
	PX_JOB_CONTROL = 19,
	PX_GROUP = 25,
	PX_CLIENT_CONNECTED2 = 27,
	PX_PLACES = 128, /* more than any version has: the library copies as many as it has */
};

/* Functions that every version has. */
#define PX_FUNCTIONS(F) \
	F(const char *, Get_version, (void)) \
	F(const char *, Error_string, (int)) \
	F(int, server_init, (void *module, struct px_info *, size_t)) \
	F(int, server_finalize, (void)) \
	F(int, generate_regex, (const char *, char **)) \
	F(int, generate_ppn, (const char *, char **)) \
	F(int, server_register_nspace, (const char *, int nlocal, struct px_info *, size_t, px_op_fn *, void *)) \
	F(void, server_deregister_nspace, (const char *, px_op_fn *, void *)) \
	F(int, server_register_client, (const struct px_proc *, uid_t, gid_t, void *, px_op_fn *, void *)) \
	F(void, server_deregister_client, (const struct px_proc *, px_op_fn *, void *)) \
	F(int, server_setup_fork, (const struct px_proc *, char ***)) \
	F(int, server_dmodex_request, (const struct px_proc *, px_dmodex_fn *, void *)) \
	F(int, Notify_event, \
	  (int, const struct px_proc *, uint8_t range, const struct px_info *, size_t, px_op_fn *, void *)) \
	F(int, Data_pack, (const struct px_proc *, struct px_buffer *, void *, int32_t, uint16_t type)) \
	F(int, Data_unpack, (const struct px_proc *, struct px_buffer *, void *, int32_t *, uint16_t type))

/* Functions that some versions have; null where they are missing. */
#define PX_OPTIONAL(F) \
	F(void, Value_destruct, (struct px_value *)) \
	F(int, Load_topology, (struct px_topology *)) \
	F(int, Parse_cpuset_string, (const char *, struct px_cpuset *)) \
	F(int, server_generate_locality_string, (const struct px_cpuset *, char **)) \
	F(void, Cpuset_destruct, (struct px_cpuset *))

#define PX_MEMBER(result, name, args) result(*name) args;
struct px_library {
	PX_FUNCTIONS(PX_MEMBER)
	PX_OPTIONAL(PX_MEMBER)
	const char *file; /* that was loaded */
	char version[32]; /* major.minor.release */
};

extern struct px_library px;

/* px_open opens a library: a file, or a name that the dynamic linker finds. It returns
 * NULL, or why it could not. */
const char *px_open(const char *name);

/* px_free_value frees what a value that Data_unpack made refers to. */
void px_free_value(struct px_value *v);

#endif
