/*
 * The way out to the agent: a queue, which a thread empties. Whoever puts something in
 * it never waits, as the library's progress thread must not.
 */
#ifndef GOLAUNCH_PMIX_QUEUE_H
#define GOLAUNCH_PMIX_QUEUE_H

#include "frame.h"

/* queue_start starts the thread, which writes to a descriptor. */
void queue_start(int fd);

/* queue_send sends a frame, which out_begin began. A frame that is too long is left
 * out: false. */
bool queue_send(struct out *o);

/* queue_later has the thread call a function, when all before it has been written. */
void queue_later(void (*call)(void *), void *with);

#endif
