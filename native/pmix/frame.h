/*
 * Frames between golaunch-pmix and the agent. Kinds and fields are those of package
 * pmix (internal/pmix/messages.go), the encoding is in internal/pmix/doc.go.
 */
#ifndef GOLAUNCH_PMIX_FRAME_H
#define GOLAUNCH_PMIX_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VERSION = 2 }; /* of the messages */

enum {
	FRAME_HEAD = 9,         /* length, kind, request */
	FRAME_COUNTED = 5,      /* kind and request: these the length counts */
	FRAME_MOST = 256 << 20, /* bytes that a length may say */
};

enum kind {
	KIND_INIT = 1,
	KIND_WORLD,
	KIND_FORGET,
	KIND_GONE,
	KIND_DONE,
	KIND_DATA,
	KIND_FOUND,
	KIND_SPAWNED,
	KIND_GROUPED,
	KIND_ASK,
	KIND_NOTIFY,
	KIND_END,
	KIND_PING,
	KIND_READY = 32,
	KIND_REGISTERED,
	KIND_FENCE,
	KIND_MODEX,
	KIND_TOLD,
	KIND_PUBLISH,
	KIND_LOOKUP,
	KIND_UNPUBLISH,
	KIND_SPAWN,
	KIND_CONNECT,
	KIND_DISCONNECT,
	KIND_GROUP,
	KIND_ABORT,
	KIND_CLIENT,
	KIND_EVENT,
	KIND_LOG,
	KIND_PONG,
};

/* A frame from the agent. Its body belongs to it. */
struct frame {
	uint8_t kind;
	uint32_t request;
	unsigned char *body;
	uint32_t length; /* of the body */
};

/* frame_head reads the nine bytes before a body. It returns NULL, or what is wrong. */
const char *frame_head(struct frame *f, const unsigned char head[FRAME_HEAD]);

/* frame_check checks that a body is one of its kind: it returns NULL, or an error. A
 * checked body may be read by the functions below, field by field in their order. */
const char *frame_check(const struct frame *f);

/* A place in a checked body. */
struct reader {
	unsigned char *at;
};

uint8_t read_u8(struct reader *r);
uint32_t read_u32(struct reader *r);
uint64_t read_u64(struct reader *r);

/* read_text returns a text that lies in the body: it is terminated there. */
char *read_text(struct reader *r);

/* read_data returns bytes that lie in the body. */
unsigned char *read_data(struct reader *r, uint32_t *length);

/* A frame for the agent, that is being written. */
struct out {
	unsigned char *bytes;
	size_t n, room;
};

void out_begin(struct out *o, enum kind kind, uint32_t request);
void out_u8(struct out *o, uint8_t v);
void out_u32(struct out *o, uint32_t v);
void out_text(struct out *o, const char *text); /* NULL is "" */
void out_data(struct out *o, const void *data, size_t n);
void out_bytes(struct out *o, const void *bytes, size_t n); /* without their length */

/* out_end completes a frame whose bytes are to be sent, and freed afterwards. It says
 * whether the frame is short enough; if not it is freed. */
bool out_end(struct out *o);

/* Memory that is there, or the end of the program. */
void *take(size_t items, size_t bytes);
char *take_text(const char *text, size_t n);

/* die ends the helper with a line on stderr. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
