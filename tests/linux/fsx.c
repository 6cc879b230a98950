// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Random operations on a file, each checked against a model in memory.
 * `fsx FILE SEED OPERATIONS` prints a line of counts; when the file and the model differ it
 * prints where, the last operations, and the seed, and ends with 2.
 */
#define _GNU_SOURCE
#define _FILE_OFFSET_BITS 64
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT	(512 * 1024)	/* the largest size of the file */
#define SPAN	(48 * 1024)	/* the longest operation */
#define PAGE	4096
#define RECENT	20

static uint8_t model[LIMIT], buffer[LIMIT];
static uint32_t size;		/* the file's, by the model */
static const char *path;
static int fd;
static uint32_t seed, random_state, operation;
static char recent[RECENT][80];

static void note(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(recent[operation % RECENT], sizeof(recent[0]), format, arguments);
	va_end(arguments);
}

static void report(void)
{
	uint32_t i = operation < RECENT ? 0 : operation - RECENT + 1;

	for (; i <= operation; i++)
		fprintf(stderr, "%8u %s\n", i, recent[i % RECENT]);
	fprintf(stderr, "%s, seed %u: operation %u failed\n", path, seed, operation);
	exit(2);
}

static void failed(const char *what)
{
	perror(what);
	report();
}

/* xorshift: the state is never 0. */
static uint32_t below(uint32_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % limit;
}

static void compare(const char *how, const uint8_t *found, uint32_t from, uint32_t length)
{
	uint32_t i, wrong = 0;

	if (!memcmp(found, model + from, length))
		return;
	for (i = 0; i < length; i++) {
		if (found[i] == model[from + i])
			continue;
		if (wrong++ < 4)
			fprintf(stderr, "%s: byte %#x is %#x, not %#x\n", how, from + i, found[i], model[from + i]);
	}
	fprintf(stderr, "%s: %u of %u bytes are wrong\n", how, wrong, length);
	report();
}

/* Some place up to `end`; often at the boundaries of pages. */
static uint32_t place(uint32_t end)
{
	uint32_t at = below(end + 1);

	return below(4) ? at : at & ~(PAGE - 1);
}

static uint32_t length_from(uint32_t from, uint32_t end)
{
	uint32_t most = end - from < SPAN ? end - from : SPAN;

	return below(3) ? below(most + 1) : below((most < 64 ? most : 64) + 1);
}

/* What grows the file leaves zeros between. */
static void grow_model(uint32_t to)
{
	if (to > size)
		size = to;
}

static void fill(uint32_t from, uint32_t length)
{
	uint32_t i;

	for (i = 0; i < length; i++)
		model[from + i] = below(256);
}

static void check_size(void)
{
	struct stat status;

	if (fstat(fd, &status))
		failed("fstat");
	if (status.st_size != size) {
		fprintf(stderr, "the size is %lld, not %u\n", (long long)status.st_size, size);
		report();
	}
}

static void read_some(const char *how, int from_fd, uint32_t from, uint32_t length)
{
	ssize_t count = pread(from_fd, buffer, length, from), expected;

	expected = from >= size ? 0 : size - from < length ? size - from : length;
	if (count < 0)
		failed(how);
	if (count != expected) {
		fprintf(stderr, "%s: %zd bytes came, not %zd\n", how, count, expected);
		report();
	}
	compare(how, buffer, from, count);
}

static void op_read(void)
{
	uint32_t from = place(LIMIT), length = length_from(from, LIMIT);

	note("read %#x %#x of %#x", from, length, size);
	read_some("read", fd, from, length);
}

static void op_write(void)
{
	uint32_t from = place(LIMIT), length = length_from(from, LIMIT);

	note("write %#x %#x of %#x", from, length, size);
	if (!length)
		return;
	fill(from, length);
	if (pwrite(fd, model + from, length, from) != length)
		failed("write");
	grow_model(from + length);
}

static void op_append(void)
{
	uint32_t length = length_from(size, LIMIT);

	note("append %#x to %#x", length, size);
	if (!length)
		return;
	fill(size, length);
	if (lseek(fd, 0, SEEK_END) != size || write(fd, model + size, length) != length)
		failed("append");
	size += length;
}

static void op_truncate(void)
{
	uint32_t to = below(2) ? place(LIMIT) : place(size);

	note("truncate %#x to %#x", size, to);
	if (ftruncate(fd, to))
		failed("truncate");
	if (to < size)
		memset(model + to, 0, size - to);
	size = to;
}

/* Maps what lies in the file; *from is moved into it. */
static uint8_t *map_some(uint32_t *from, uint32_t *length, int protection)
{
	uint8_t *mapped;

	*from = place(size - 1);
	*length = length_from(*from, size);
	mapped = mmap(NULL, *length + *from % PAGE + 1, protection, MAP_SHARED, fd, *from & ~(PAGE - 1));
	if (mapped == MAP_FAILED)
		failed("mmap");
	return mapped;
}

static void unmap(uint8_t *mapped, uint32_t from, uint32_t length)
{
	if (munmap(mapped, length + from % PAGE + 1))
		failed("munmap");
}

static void op_mapread(void)
{
	uint32_t from, length, end;
	uint8_t *mapped;

	note("mapread of %#x", size);
	if (!size)
		return;
	mapped = map_some(&from, &length, PROT_READ);
	note("mapread %#x %#x of %#x", from, length, size);
	compare("mapread", mapped + from % PAGE, from, length);
	/* The rest of the last page is zeros. */
	end = (from + length + PAGE - 1) & ~(PAGE - 1);
	if (length && from + length == size && end <= LIMIT)
		compare("mapread beyond the end", mapped + from % PAGE + length, size, end - size);
	unmap(mapped, from, length);
}

static void op_mapwrite(void)
{
	uint32_t from, length;
	uint8_t *mapped;

	note("mapwrite of %#x", size);
	if (!size)
		return;
	mapped = map_some(&from, &length, PROT_READ | PROT_WRITE);
	note("mapwrite %#x %#x of %#x", from, length, size);
	fill(from, length);
	memcpy(mapped + from % PAGE, model + from, length);
	if (below(4) == 0 && msync(mapped, length + from % PAGE + 1, MS_SYNC))
		failed("msync");
	unmap(mapped, from, length);
}

static void op_punch(void)
{
	uint32_t from = place(size), length = length_from(from, size);

	note("punch %#x %#x of %#x", from, length, size);
	if (!length)
		return;
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, from, length))
		failed("fallocate");
	memset(model + from, 0, length);
}

static void op_zero(void)
{
	uint32_t from = place(LIMIT), length = length_from(from, LIMIT);

	note("zero %#x %#x of %#x", from, length, size);
	if (!length)
		return;
	if (fallocate(fd, FALLOC_FL_ZERO_RANGE, from, length))
		failed("fallocate");
	memset(model + from, 0, length);
	grow_model(from + length);
}

static void op_allocate(void)
{
	uint32_t from = place(LIMIT), length = length_from(from, LIMIT);

	note("allocate %#x %#x of %#x", from, length, size);
	if (!length)
		return;
	if (fallocate(fd, 0, from, length))
		failed("fallocate");
	grow_model(from + length);
}

static void op_sync(void)
{
	int whole = below(2);

	note(whole ? "fsync" : "fdatasync");
	if (whole ? fsync(fd) : fdatasync(fd))
		failed("fsync");
}

/* Everything is written and dropped from memory: later reads come from the disk. */
static void op_reread(void)
{
	note("reread %#x", size);
	if (fsync(fd))
		failed("fsync");
	errno = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	if (errno)
		failed("posix_fadvise");
	read_some("reread", fd, 0, LIMIT);
}

/* Past the cache of pages. */
static void op_direct(void)
{
	uint32_t from = place(LIMIT) & ~(PAGE - 1);
	uint8_t *aligned;
	ssize_t count, expected;
	int direct;

	note("direct read %#x of %#x", from, size);
	direct = open(path, O_RDONLY | O_DIRECT);
	aligned = mmap(NULL, SPAN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (direct < 0 || aligned == MAP_FAILED)
		failed("open with O_DIRECT");
	count = pread(direct, aligned, SPAN, from);
	expected = from >= size ? 0 : size - from < SPAN ? size - from : SPAN;
	if (count < 0)
		failed("direct read");
	if (count != expected) {
		fprintf(stderr, "direct read: %zd bytes came, not %zd\n", count, expected);
		report();
	}
	compare("direct read", aligned, from, count);
	munmap(aligned, SPAN);
	close(direct);
}

static void op_reopen(void)
{
	note("close and open");
	if (close(fd))
		failed("close");
	fd = open(path, O_RDWR);
	if (fd < 0)
		failed("open");
}

static const struct {
	const char *name;
	void (*act)(void);
	unsigned int weight;
} operations[] = {
	{ "read", op_read, 20 },
	{ "write", op_write, 20 },
	{ "append", op_append, 6 },
	{ "truncate", op_truncate, 8 },
	{ "mapread", op_mapread, 12 },
	{ "mapwrite", op_mapwrite, 14 },
	{ "punch", op_punch, 4 },
	{ "zero", op_zero, 4 },
	{ "allocate", op_allocate, 3 },
	{ "sync", op_sync, 3 },
	{ "reread", op_reread, 2 },
	{ "direct", op_direct, 2 },
	{ "reopen", op_reopen, 2 },
};

#define KINDS (sizeof(operations) / sizeof(operations[0]))

int main(int argc, char **argv)
{
	uint32_t last, pick, weights = 0, counts[KINDS] = { 0 };
	size_t kind;

	if (argc != 4) {
		fprintf(stderr, "fsx FILE SEED OPERATIONS\n");
		return 1;
	}
	path = argv[1];
	seed = strtoul(argv[2], NULL, 0);
	last = strtoul(argv[3], NULL, 0);
	random_state = seed * 2654435761u + 1;
	if (!random_state)
		random_state = 1;
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0) {
		perror(path);
		return 1;
	}
	for (kind = 0; kind < KINDS; kind++)
		weights += operations[kind].weight;
	for (operation = 0; operation < last; operation++) {
		pick = below(weights);
		for (kind = 0; pick >= operations[kind].weight; kind++)
			pick -= operations[kind].weight;
		operations[kind].act();
		counts[kind]++;
		check_size();
	}
	operation = last;
	op_reread();
	printf("seed %u:", seed);
	for (kind = 0; kind < KINDS; kind++)
		printf(" %u %s%s", counts[kind], operations[kind].name, kind + 1 < KINDS ? "," : "\n");
	return 0;
}
