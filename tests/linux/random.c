// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What Linux's random pool has when the first programs run: the bits that it counts, what getrandom() gives at
 * once; and what this program got of it, the bytes of its auxiliary vector.
 */
#include <stdio.h>
#include <sys/auxv.h>
#include <sys/random.h>

int main(void)
{
	const unsigned char *own = (void *)getauxval(AT_RANDOM);
	FILE *file = fopen("/proc/sys/kernel/random/entropy_avail", "r");
	unsigned char bytes[16];
	int bits = -1, i;

	if (!file || fscanf(file, "%d", &bits) != 1 || !own)
		return 1;
	if (getrandom(bytes, sizeof(bytes), GRND_NONBLOCK) != sizeof(bytes)) {
		perror("getrandom");
		return 2;
	}
	printf("%d ", bits);
	for (i = 0; i < 16; i++)
		printf("%02x", own[i]);
	printf("\n");
	return bits < 256;
}
