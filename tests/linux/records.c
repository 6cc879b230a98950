// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Records that must survive. `records write FILE` adds records after those in the file, and prints a record's number
 * when fsync has returned; meanwhile other files are created and removed. `records check FILE` prints how many there
 * are, and fails if one is damaged.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS 128

struct record {
	uint32_t word[WORDS];
};

static void fill(struct record *r, uint32_t number)
{
	uint32_t state = number * 2654435761u + 1;
	int i;

	for (i = 0; i < WORDS; i++)
		r->word[i] = state = state * 1664525u + 1013904223u;
	r->word[0] = number;
}

/* Records that are whole, from the first on. */
static uint32_t count(int fd, const char *path)
{
	struct record r, expected;
	uint32_t n = 0;
	ssize_t bytes;

	while ((bytes = read(fd, &r, sizeof(r))) == sizeof(r)) {
		fill(&expected, n);
		if (memcmp(&r, &expected, sizeof(r))) {
			fprintf(stderr, "%s: record %u is damaged\n", path, n);
			exit(2);
		}
		n++;
	}
	return n;
}

/* Other work for the journal: files made, renamed and removed. */
static void churn(const char *path, uint32_t n)
{
	char from[256], to[256];
	int fd;

	snprintf(from, sizeof(from), "%s.%u", path, n % 8);
	snprintf(to, sizeof(to), "%s.%u", path, 8 + n % 5);
	fd = open(from, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || write(fd, from, sizeof(from)) != sizeof(from))
		exit(3);
	close(fd);
	rename(from, to);
	if (n % 3 == 0)
		unlink(to);
}

int main(int argc, char **argv)
{
	struct record r;
	uint32_t n;
	int fd;

	if (argc != 3)
		return 1;
	fd = open(argv[2], O_RDWR | O_CREAT, 0600);
	if (fd < 0) {
		perror(argv[2]);
		return 1;
	}
	n = count(fd, argv[2]);
	if (!strcmp(argv[1], "check")) {
		printf("%u\n", n);
		return 0;
	}
	/* What is after the last whole record was never promised. */
	if (ftruncate(fd, (off_t)n * sizeof(r)) || lseek(fd, 0, SEEK_END) < 0)
		return 1;
	for (;; n++) {
		churn(argv[2], n);
		fill(&r, n);
		if (write(fd, &r, sizeof(r)) != sizeof(r) || fsync(fd)) {
			perror("write");
			return 1;
		}
		printf("%u\n", n);
		fflush(stdout);
	}
}
