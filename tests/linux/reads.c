// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Random reads of 4 KiB. `reads DEVICE DEPTH READS` makes READS reads, of which DEPTH are in progress at any time,
 * past the cache, and prints how many microseconds all of them took. With a fourth argument, each block is compared
 * with a read through the cache.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define BYTES 4096
#define MOST 64

static aio_context_t context;
static struct iocb blocks[MOST];
static uint32_t state = 1, count;

static void prepare(struct iocb *block, int fd)
{
	state = state * 1664525u + 1013904223u;
	block->aio_fildes = fd;
	block->aio_lio_opcode = IOCB_CMD_PREAD;
	block->aio_nbytes = BYTES;
	block->aio_offset = (int64_t)((uint64_t)state * count >> 32) * BYTES;
	block->aio_data = (uintptr_t)block;
}

int main(int argc, char **argv)
{
	struct iocb *next[MOST];
	struct io_event done[MOST];
	struct timespec begin, end;
	int fd, cached, depth, left, under_way = 0, new, i;
	static char other[BYTES];

	if (argc < 4 || (depth = atoi(argv[2])) < 1 || depth > MOST)
		return 1;
	left = atoi(argv[3]);
	fd = open(argv[1], O_RDONLY | O_DIRECT);
	cached = open(argv[1], O_RDONLY);
	count = lseek(fd, 0, SEEK_END) / BYTES;
	if (fd < 0 || cached < 0 || !count || syscall(SYS_io_setup, MOST, &context)) {
		perror(argv[1]);
		return 1;
	}
	for (i = 0; i < depth; i++) {
		void *data;

		if (posix_memalign(&data, BYTES, BYTES))
			return 1;
		blocks[i].aio_buf = (uintptr_t)data;
		next[i] = &blocks[i];
	}
	new = depth;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	while (new || under_way) {
		if (new > left)
			new = left;
		for (i = 0; i < new; i++)
			prepare(next[i], fd);
		if (new && syscall(SYS_io_submit, context, new, next) != new) {
			perror("io_submit");
			return 1;
		}
		left -= new;
		under_way += new;
		if (!under_way)
			break;
		new = syscall(SYS_io_getevents, context, 1, MOST, done, NULL);
		if (new < 1) {
			perror("io_getevents");
			return 1;
		}
		under_way -= new;
		for (i = 0; i < new; i++) {
			next[i] = (struct iocb *)(uintptr_t)done[i].data;
			if (done[i].res != BYTES) {
				fprintf(stderr, "read: %lld\n", (long long)done[i].res);
				return 1;
			}
			if (argc > 4 && (pread(cached, other, BYTES, next[i]->aio_offset) != BYTES ||
					 memcmp(other, (void *)(uintptr_t)next[i]->aio_buf, BYTES))) {
				fprintf(stderr, "another block than that at %lld\n", (long long)next[i]->aio_offset);
				return 1;
			}
		}
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	printf("%lld\n", (end.tv_sec - begin.tv_sec) * 1000000ll + (end.tv_nsec - begin.tv_nsec) / 1000);
	return 0;
}
