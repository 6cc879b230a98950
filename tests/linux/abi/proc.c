// SPDX-License-Identifier: MIT OR Apache-2.0
/* What /proc says of a process. */
#include "abi.h"

int proc(void)
{
	char line[256], exe[PATH_MAX];
	int stack = 0, beside = 0;
	FILE *maps = fopen("/proc/self/maps", "r");

	CHECK(maps);
	while (fgets(line, sizeof(line), maps)) {
		stack += !!strstr(line, "[stack]");
		beside += !!strstr(line, KERNELS_PAGE);
	}
	fclose(maps);
	CHECK(stack == 1 && beside == 1);
	CHECK(readlink("/proc/self/exe", exe, sizeof(exe)) > 0);
	return 1;
}
