/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The checks of x86-64. */
#define CHECKS_HERE(one) \
	one(hwcap) one(cpuinfo) one(registers) one(restarts) one(thread_pointer) one(base_of_gs) one(debuggers_gs) one(privileges) one(exceptions) \
	one(handler_entry) one(frame_size) one(exception_frames) one(changed_frames) one(all_restored) one(red_zone) \
	one(fpu_signals) one(fpu_frames) one(avx) one(avx_frames) one(avx512) one(fpu_fork) one(fpu_exec) one(fpu_exceptions) \
	one(debugging) one(debuggers_code) one(steps) one(own_steps) one(emulation) one(breakpoints) one(breakpoints_of_exec) \
	one(register_sets) one(core_dump) one(vdso_clocks) one(vsyscalls) one(moved_vdso) one(not_executed) one(terabytes)
/* The portable check looks for the end of the addresses below 4 GiB; the one here takes its place. */
#define last_page(nothing) last_page_below_4_gib(nothing)
/* A portable check makes an address of an int. */
#pragma GCC diagnostic ignored "-Wint-to-pointer-cast"
#define KERNELS_PAGE "[vdso]"
