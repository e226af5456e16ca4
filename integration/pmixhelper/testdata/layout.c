/* Compares native/pmix/library.h with the headers of a PMIx: it is compiled, not run. */
#include <pmix_server.h>

#include "keys.h"
#include "library.h"

#define SAME_SIZE(mine, theirs) _Static_assert(sizeof(struct mine) == sizeof(theirs), #mine)
#define SAME_PLACE(mine, m, theirs, t) _Static_assert(offsetof(struct mine, m) == offsetof(theirs, t), #mine "." #m)
#define SAME(mine, theirs) _Static_assert((mine) == (theirs), #mine)

SAME_SIZE(px_proc, pmix_proc_t);
SAME_PLACE(px_proc, rank, pmix_proc_t, rank);
SAME_SIZE(px_bytes, pmix_byte_object_t);
SAME_PLACE(px_bytes, size, pmix_byte_object_t, size);
SAME_SIZE(px_array, pmix_data_array_t);
SAME_PLACE(px_array, size, pmix_data_array_t, size);
SAME_PLACE(px_array, array, pmix_data_array_t, array);
SAME_SIZE(px_envar, pmix_envar_t);
SAME_PLACE(px_envar, value, pmix_envar_t, value);
SAME_SIZE(px_value, pmix_value_t);
SAME_PLACE(px_value, data, pmix_value_t, data);
SAME_SIZE(px_info, pmix_info_t);
SAME_PLACE(px_info, flags, pmix_info_t, flags);
SAME_PLACE(px_info, value, pmix_info_t, value);
SAME_SIZE(px_pdata, pmix_pdata_t);
SAME_PLACE(px_pdata, key, pmix_pdata_t, key);
SAME_PLACE(px_pdata, value, pmix_pdata_t, value);
SAME_SIZE(px_app, pmix_app_t);
SAME_PLACE(px_app, cwd, pmix_app_t, cwd);
SAME_PLACE(px_app, maxprocs, pmix_app_t, maxprocs);
SAME_PLACE(px_app, info, pmix_app_t, info);
SAME_SIZE(px_query, pmix_query_t);
SAME_PLACE(px_query, qualifiers, pmix_query_t, qualifiers);
SAME_SIZE(px_buffer, pmix_data_buffer_t);
SAME_PLACE(px_buffer, unpack, pmix_data_buffer_t, unpack_ptr);
SAME_PLACE(px_buffer, used, pmix_data_buffer_t, bytes_used);
SAME_SIZE(px_cpuset, pmix_cpuset_t);
SAME_SIZE(px_topology, pmix_topology_t);

#define PLACE(mine, theirs) SAME(mine, offsetof(pmix_server_module_t, theirs) / sizeof(void *))
PLACE(PX_CLIENT_CONNECTED, client_connected);
PLACE(PX_CLIENT_FINALIZED, client_finalized);
PLACE(PX_ABORT, abort);
PLACE(PX_FENCE, fence_nb);
PLACE(PX_DIRECT_MODEX, direct_modex);
PLACE(PX_PUBLISH, publish);
PLACE(PX_LOOKUP, lookup);
PLACE(PX_UNPUBLISH, unpublish);
PLACE(PX_SPAWN, spawn);
PLACE(PX_CONNECT, connect);
PLACE(PX_DISCONNECT, disconnect);
PLACE(PX_REGISTER_EVENTS, register_events);
PLACE(PX_DEREGISTER_EVENTS, deregister_events);
PLACE(PX_NOTIFY_EVENT, notify_event);
PLACE(PX_QUERY, query);
PLACE(PX_LOG, log);
PLACE(PX_JOB_CONTROL, job_control);
PLACE(PX_GROUP, group);
PLACE(PX_CLIENT_CONNECTED2, client_connected2);
_Static_assert(sizeof(pmix_server_module_t) <= PX_PLACES * sizeof(void *), "the module is too small");

SAME(PX_SUCCESS, PMIX_SUCCESS);
SAME(PX_ERROR, PMIX_ERROR);
SAME(PX_ERR_BAD_PARAM, PMIX_ERR_BAD_PARAM);
SAME(PX_ERR_OUT_OF_RESOURCE, PMIX_ERR_OUT_OF_RESOURCE);
SAME(PX_ERR_NOT_SUPPORTED, PMIX_ERR_NOT_SUPPORTED);
SAME(PX_ERR_PARTIAL_SUCCESS, PMIX_ERR_PARTIAL_SUCCESS);
SAME(PX_OPERATION_SUCCEEDED, PMIX_OPERATION_SUCCEEDED);
SAME(PX_BOOL, PMIX_BOOL);
SAME(PX_BYTE, PMIX_BYTE);
SAME(PX_STRING, PMIX_STRING);
SAME(PX_SIZE, PMIX_SIZE);
SAME(PX_PID, PMIX_PID);
SAME(PX_INT, PMIX_INT);
SAME(PX_UINT16, PMIX_UINT16);
SAME(PX_UINT32, PMIX_UINT32);
SAME(PX_UINT64, PMIX_UINT64);
SAME(PX_STATUS, PMIX_STATUS);
SAME(PX_VALUE, PMIX_VALUE);
SAME(PX_PROC, PMIX_PROC);
SAME(PX_INFO, PMIX_INFO);
SAME(PX_BYTE_OBJECT, PMIX_BYTE_OBJECT);
SAME(PX_PERSIST, PMIX_PERSIST);
SAME(PX_DATA_RANGE, PMIX_DATA_RANGE);
SAME(PX_DATA_ARRAY, PMIX_DATA_ARRAY);
SAME(PX_PROC_RANK, PMIX_PROC_RANK);
SAME(PX_ENVAR, PMIX_ENVAR);
SAME(PX_REGEX, PMIX_REGEX);
SAME(PX_GROUP_CONSTRUCT, PMIX_GROUP_CONSTRUCT);
SAME(PX_GROUP_DESTRUCT, PMIX_GROUP_DESTRUCT);
SAME(PX_RANGE_SESSION, PMIX_RANGE_SESSION);
SAME(PX_PERSIST_SESSION, PMIX_PERSIST_SESSION);

/* Package pmix's numbers, which the test gives. */
#define STATUS(name, n) SAME(name, n);
STATUSES
SAME(PMIX_RANGE_LOCAL, 2);
SAME(PMIX_RANGE_NAMESPACE, 3);
SAME(PMIX_RANGE_GLOBAL, 5);
SAME(PMIX_PERSIST_INDEF, 0);
SAME(PMIX_PERSIST_FIRST_READ, 1);
SAME(PMIX_PERSIST_PROC, 2);
SAME(PMIX_PERSIST_APP, 3);

/* Names: keys.h defines KEY_X where PMIx has PMIX_X. */
KEYS
