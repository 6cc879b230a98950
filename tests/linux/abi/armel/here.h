/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The checks of ARM's EABI. */
#define CHECKS_HERE(one) \
	one(hwcap) one(cpuinfo) one(registers) one(restarts) one(processors_calls) one(helpers) one(vectors) one(written_code) one(far_code) one(thumb) one(alignment) \
	one(exceptions) one(frames) one(changed_frames) one(last_return) one(debugging) one(debuggers_code) one(core_dump)
#define KERNELS_PAGE "[sigpage]"
