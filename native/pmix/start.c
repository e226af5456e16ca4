/* The helper's entry, in place of the compiler's, which asks for the
 * __libc_start_main of its own glibc (x86-64 psABI, section 3.4.1: the contents of
 * registers and stack). The program has no constructors, so none are passed. */
__asm__(".symver __libc_start_main,__libc_start_main@GLIBC_2.2.5\n"
	".globl _start\n"
	".type _start,@function\n"
	"_start:\n"
	"	xor %ebp, %ebp\n"
	"	mov %rdx, %r9\n"    /* function to call at the end */
	"	pop %rsi\n"         /* argc */
	"	mov %rsp, %rdx\n"   /* argv */
	"	and $-16, %rsp\n"
	"	push %rax\n"
	"	push %rsp\n"        /* the stack's end */
	"	xor %r8d, %r8d\n"
	"	xor %ecx, %ecx\n"
	"	lea main(%rip), %rdi\n"
	"	call *__libc_start_main@GOTPCREL(%rip)\n"
	"	hlt\n");
