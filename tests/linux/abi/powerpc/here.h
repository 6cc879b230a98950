/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The checks of PowerPC, and what the portable ones do here in another way. */
#include <limits.h>

/* A thread's stack is larger, at least. */
static inline int set_stack_size(pthread_attr_t *attributes, size_t bytes)
{
	return pthread_attr_setstacksize(attributes, bytes < PTHREAD_STACK_MIN ? PTHREAD_STACK_MIN : bytes);
}
#define pthread_attr_setstacksize set_stack_size

#define CHECKS_HERE(one) \
	one(hwcap) one(cpuinfo) one(registers) one(wide_arguments) one(restarts) one(version) one(fixed_layout) one(written_code) one(reservations) one(contexts) \
	one(exceptions) one(frames) one(changed_frames) one(all_restored) one(last_return) one(fpu_of_tasks) one(fpu_in_handlers) one(fpu_exceptions) \
	one(debugging) one(debuggers_code) one(steps) one(core_dump) \
	one(vdso_clocks) one(vdso_tells) one(moved_vdso) one(debugged_vdso)
#define KERNELS_PAGE "[vdso]"
