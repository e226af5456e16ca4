/*
 * Has the helper ask for the oldest versions of glibc's functions, as the glibc that it
 * runs with is that of the ranks' program, which may be older than the one that it is
 * linked with. Every source includes it (scripts/native.sh, for x86-64 alone).
 *
 * glibc 2.34 moved these from libdl and libpthread, under a new version.
 */
__asm__(".symver dladdr,dladdr@GLIBC_2.2.5");
__asm__(".symver dlerror,dlerror@GLIBC_2.2.5");
__asm__(".symver dlopen,dlopen@GLIBC_2.2.5");
__asm__(".symver dlsym,dlsym@GLIBC_2.2.5");
__asm__(".symver pthread_create,pthread_create@GLIBC_2.2.5");
__asm__(".symver pthread_detach,pthread_detach@GLIBC_2.2.5");
