// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Asks the web server for the responder's page over the loopback interface: first over one connection, then with a
 * new connection for each request.
 */
#include "web.h"
#include "../measure.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/random.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define WARM		40
#define INTERVALS	5
/* The rows of bench/sections/2-spaces.toml have this number. */
#define REQUESTS	20

/*
 * A Linux that has not enough entropy hashes its pool for each random number, of which a connection takes several. The emulated
 * machine has none to give, Macadamia's Linux is given some: here both get as much.
 */
static void be_random(void)
{
	struct {
		struct rand_pool_info info;
		char bytes[64];
	} given = { .info = { .entropy_count = 8 * sizeof given.bytes, .buf_size = sizeof given.bytes } };
	int fd = checked(open("/dev/urandom", O_WRONLY), "/dev/urandom");

	checked(ioctl(fd, RNDADDENTROPY, &given), "RNDADDENTROPY");
	close(fd);
}

static int open_server(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(80), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = checked(socket(AF_INET, SOCK_STREAM, 0), "socket"), on = 1;

	checked(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
	checked(connect(fd, (struct sockaddr *)&to, sizeof to), "connect");
	return fd;
}

/* One request. The answer is there as soon as the body's last byte is; nothing else ends in these two lines. */
static void ask(int fd, const char *question)
{
	static const char end[] = "\r\n" BODY;
	static char page[4096];
	int bytes = 0;

	if (write(fd, question, strlen(question)) != (int)strlen(question))
		die("write");
	do {
		int n = checked(read(fd, page + bytes, sizeof page - 1 - bytes), "read");

		if (!n) {
			fprintf(stderr, "the server ended its answer: %s\n", page);
			exit(1);
		}
		bytes += n;
		page[bytes] = 0;
	} while (!strstr(page, end));
	if (strncmp(page, "HTTP/1.1 200 ", 13)) {
		fprintf(stderr, "not what was asked for: %s\n", page);
		exit(1);
	}
}

static void ask_kept(int fd, int times)
{
	while (times--)
		ask(fd, "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n");
}

static void ask_new(int times)
{
	while (times--) {
		int fd = open_server();

		ask(fd, "GET /hello HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
		close(fd);
	}
}

int client(void)
{
	int fd;

	be_random();
	fd = open_server();
	ask_kept(fd, WARM);
	MEASURE(630, INTERVALS, ask_kept(fd, REQUESTS));
	close(fd);
	ask_new(WARM);
	MEASURE(631, INTERVALS, ask_new(REQUESTS));
	return 0;
}
