/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The checks of i386. */
#define CHECKS_HERE(one) \
	one(hwcap) one(int80) one(registers) one(sysenter) one(vdso) one(exceptions) \
	one(handler_entry) one(frame_size) one(exception_frames) one(fpu_exceptions) one(sse_exceptions) one(changed_frames) one(last_return) \
	one(fpu_signals) one(fpu_frames) one(x87) one(sse2) one(fpu_fork) one(fpu_exec) \
	one(debugging) one(own_steps) one(emulation) one(breakpoints) one(tls) one(privileges) \
	one(vdso_clocks) one(moved_vdso) one(core_dump) one(cpuinfo)
#define KERNELS_PAGE "[vdso]"
