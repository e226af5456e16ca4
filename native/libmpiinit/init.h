/* The common declarations of libmpiinit's parts. */
#ifndef INIT_H
#define INIT_H

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "next.h"

#define VISIBLE __attribute__((visibility("default")))

#define PIPE_VARIABLE "GOLAUNCH_MPI_PIPE" /* the agent's end of a pipe */
#define PRELOAD_VARIABLE "LD_PRELOAD"

/* HEAD is the size of a file's beginning that shows its kind: of ELF all that ELF_CLASS, ELF_DATA and
 * ELF_MACHINE are in. */
enum { MOST_PATH = 256, HEAD = 20, ELF_CLASS = 4, ELF_DATA = 5, ELF_MACHINE = 18 };

extern HIDDEN char self[MOST_PATH];	 /* this library's file */
extern HIDDEN unsigned char head[HEAD]; /* its first bytes */
extern HIDDEN int active;		 /* it is to be in what this process executes */

/* finalize_needed is the answer to what finalize.c asks. */
HIDDEN int finalize_needed(void);

#endif
