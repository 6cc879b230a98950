// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * A client of an X server that speaks the protocol itself: the operations of x11perf that the paper of 2002 has in its table 3. Linked
 * with musl it can be small, which x11perf with its libraries cannot.
 */
#include "x.h"

#define WARM		100
#define INTERVALS	5
/* The rows of bench/sections/2-spaces.toml have these numbers. */
#define REQUESTS	100
#define POINTS		1000
#define POINT_REQUESTS	10

/* x11perf's windows and images. */
enum { WINDOW_SIDE = 600, SIDE = 10, PIXEL_BYTES = 4 };
#define COLOUR		0x123456u
#define TITLE		"a window"

static uint32_t window, context;

static void expect(int is_so, const char *what)
{
	if (!is_so) {
		fprintf(stderr, "not what was asked for: %s\n", what);
		exit(1);
	}
}

/* A window with a name, and with contents that can be recognised. */
static void make_window(void)
{
	struct {
		uint32_t head[6];
		char text[sizeof TITLE - 1];
	} title;
	uint32_t fill[] = { X_HEAD(X_POLY_FILL_RECTANGLE, 0, 5), 0, 0, X_PAIR(0, 0), X_PAIR(SIDE, SIDE) };

	_Static_assert(sizeof title == 8 * 4, "its length is in the request");
	window = x_base;
	context = x_base + 1;
	x_open_window(window, context, WINDOW_SIDE, WINDOW_SIDE, COLOUR);
	fill[1] = window;
	fill[2] = context;
	x_put(fill, sizeof fill);
	memcpy(title.head, (uint32_t[]){ X_HEAD(X_CHANGE_PROPERTY, 0, 8), window, X_WM_NAME, X_STRING, 8, sizeof title.text }, sizeof title.head);
	memcpy(title.text, TITLE, sizeof title.text);
	x_put(&title, sizeof title);
	x_settle();
}

static void query_pointer(int times)
{
	uint32_t request[] = { X_HEAD(X_QUERY_POINTER, 0, 2), window };

	while (times--)
		x_ask(request, sizeof request);
}

static void get_property(int times)
{
	uint32_t request[] = { X_HEAD(X_GET_PROPERTY, 0, 6), window, X_WM_NAME, X_STRING, 0, sizeof TITLE / 4 };

	while (times--)
		x_ask(request, sizeof request);
}

static void get_image(int times)
{
	uint32_t request[] = { X_HEAD(X_GET_IMAGE, X_Z_PIXMAP, 5), window, X_PAIR(0, 0), X_PAIR(SIDE, SIDE), ~0u };

	while (times--)
		x_ask(request, sizeof request);
}

/* Dots, a thousand in a request. */
static uint32_t points[3 + POINTS];

static void place_dots(void)
{
	int i;

	points[0] = X_HEAD(X_POLY_POINT, X_ORIGIN, 3 + POINTS);
	points[1] = window;
	points[2] = context;
	for (i = 0; i < POINTS; i++)
		points[3 + i] = X_PAIR(SIDE + i % (WINDOW_SIDE - SIDE), i / 2);
}

/* Checks at the end that all of them are there. */
static void dots(int times)
{
	while (times--)
		x_put(points, sizeof points);
	x_settle();
}

/* Each operation once, to check that it does what it should. */
static void check(void)
{
	unsigned i;

	query_pointer(1);
	expect(x_in.words[2] == x_root, "the pointer's root");
	get_property(1);
	expect(x_in.words[2] == X_STRING && x_in.words[4] == sizeof TITLE - 1 && !memcmp(x_in.bytes + X_REPLY_BYTES, TITLE, sizeof TITLE - 1),
	       "the window's name");
	get_image(1);
	expect(x_in.words[1] == SIDE * SIDE * PIXEL_BYTES / 4, "an image of that size");
	for (i = 0; i < SIDE * SIDE; i++)
		expect((x_in.words[X_REPLY_BYTES / 4 + i] & 0xffffff) == COLOUR, "the image's colour");
}

/* Prints how large its region is, on a Linux that has regions (docs/small-spaces.md); 0: it has none. */
static void say_region(void)
{
	char line[256];
	FILE *status = fopen("/proc/self/status", "r");

	if (!status)
		die("/proc/self/status");
	while (fgets(line, sizeof line, status))
		if (!strncmp(line, "L4Small:", 8))
			printf("client %s", line);
	fclose(status);
}

int main(void)
{
	x_open();
	make_window();
	place_dots();
	check();
	query_pointer(WARM);
	MEASURE(640, INTERVALS, query_pointer(REQUESTS));
	get_property(WARM);
	MEASURE(641, INTERVALS, get_property(REQUESTS));
	get_image(WARM);
	MEASURE(642, INTERVALS, get_image(REQUESTS));
	dots(POINT_REQUESTS);
	MEASURE(643, INTERVALS, dots(POINT_REQUESTS));
	check();
	say_region();
	return 0;
}
