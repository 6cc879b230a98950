// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * What a compiler in Linux is given (docs/linux.md, *On PowerPC*): some of everything that C has, so that most parts
 * of a compiler work. It says what it calculated; what another compiler made of it must say the same. It includes no
 * headers, so it is the same source on each machine.
 */
int printf(const char *format, ...);
void *malloc(__SIZE_TYPE__ size);
void free(void *memory);

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

/* Random numbers, by multiplication of 64 bits. */
static u64 seed = 20261201;

static u32 drawn(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 33;
}

/* Sorting by pointers to functions. */
typedef int compare(const void *a, const void *b);

static void swapped(u8 *a, u8 *b, u32 size)
{
	while (size--) {
		u8 byte = *a;

		*a++ = *b;
		*b++ = byte;
	}
}

static void sorted(void *base, u32 count, u32 size, compare *is_after)
{
	u8 *items = base;
	u32 last = 0, i;

	if (count < 2)
		return;
	swapped(items, items + count / 2 * size, size);
	for (i = 1; i < count; i++)
		if (is_after(items + i * size, items) < 0)
			swapped(items + ++last * size, items + i * size, size);
	swapped(items, items + last * size, size);
	sorted(items, last, size, is_after);
	sorted(items + (last + 1) * size, count - last - 1, size, is_after);
}

static int by_number(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;

	return x < y ? -1 : x > y;
}

static u32 sorts(void)
{
	u32 numbers[500], i, wrong = 0;

	for (i = 0; i < 500; i++)
		numbers[i] = drawn() % 10000;
	sorted(numbers, 500, sizeof(*numbers), by_number);
	for (i = 1; i < 500; i++)
		wrong += numbers[i - 1] > numbers[i];
	return wrong;
}

/* A tree in memory that is given out. */
struct node {
	struct node *left, *right;
	u32 key, times;
};

static struct node *inserted(struct node *node, u32 key)
{
	if (!node) {
		node = malloc(sizeof(*node));
		*node = (struct node){ .key = key, .times = 1 };
	} else if (key == node->key) {
		node->times++;
	} else if (key < node->key) {
		node->left = inserted(node->left, key);
	} else {
		node->right = inserted(node->right, key);
	}
	return node;
}

static u32 depth(const struct node *node)
{
	u32 left, right;

	if (!node)
		return 0;
	left = depth(node->left);
	right = depth(node->right);
	return 1 + (left > right ? left : right);
}

static u64 emptied(struct node *node)
{
	u64 sum;

	if (!node)
		return 0;
	sum = emptied(node->left) * 31 + (u64)node->key * node->times;
	sum ^= emptied(node->right) << 1;
	free(node);
	return sum;
}

/* A machine with a stack, by a switch. */
enum operation { PUSH, ADD, SUBTRACT, MULTIPLY, DIVIDE, DUPLICATE, EXCHANGE, JUMP_UNLESS, NEGATE, END };

struct instruction {
	enum operation operation;
	int value;
};

static int executed(const struct instruction *code)
{
	int stack[32], top = 0, at = 0, other;

	for (;;) {
		const struct instruction *now = &code[at++];

		switch (now->operation) {
		case PUSH:
			stack[top++] = now->value;
			break;
		case ADD:
			top--;
			stack[top - 1] += stack[top];
			break;
		case SUBTRACT:
			top--;
			stack[top - 1] -= stack[top];
			break;
		case MULTIPLY:
			top--;
			stack[top - 1] *= stack[top];
			break;
		case DIVIDE:
			top--;
			stack[top - 1] = stack[top] ? stack[top - 1] / stack[top] : 0;
			break;
		case DUPLICATE:
			stack[top] = stack[top - 1];
			top++;
			break;
		case EXCHANGE:
			other = stack[top - 1];
			stack[top - 1] = stack[top - 2];
			stack[top - 2] = other;
			break;
		case JUMP_UNLESS:
			if (!stack[--top])
				at = now->value;
			break;
		case NEGATE:
			stack[top - 1] = -stack[top - 1];
			break;
		case END:
			return stack[top - 1];
		}
	}
}

/* ((3 + 4) * 5 - 1) / 2, and what it is again with the other sign. */
static const struct instruction program[] = {
	{ PUSH, 3 }, { PUSH, 4 }, { ADD }, { PUSH, 5 }, { MULTIPLY }, { PUSH, 1 }, { SUBTRACT }, { PUSH, 2 }, { DIVIDE },
	{ DUPLICATE }, { NEGATE }, { PUSH, 1000 }, { EXCHANGE }, { SUBTRACT }, { ADD }, { PUSH, 0 }, { JUMP_UNLESS, 18 },
	{ NEGATE }, { END },
};

/* Floating point, in both precisions, and a matrix. */
#define SIDE 12

static double product(void)
{
	static double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];
	double trace = 0;
	int i, j, k;

	for (i = 0; i < SIDE; i++)
		for (j = 0; j < SIDE; j++) {
			a[i][j] = i + j / 4.0;
			b[i][j] = (i - j) * 0.5f;
			c[i][j] = 0;
		}
	for (i = 0; i < SIDE; i++)
		for (j = 0; j < SIDE; j++)
			for (k = 0; k < SIDE; k++)
				c[i][j] += a[i][k] * b[k][j];
	for (i = 0; i < SIDE; i++)
		trace += c[i][i];
	return trace;
}

static float root(float square)
{
	float guess = square;
	int i;

	for (i = 0; i < 12; i++)
		guess = (guess + square / guess) / 2;
	return guess;
}

/* Structures as arguments and as results, fields of bits, unions. */
struct pair {
	long long large;
	short small;
};

struct packed {
	u32 three : 3, ten : 10, rest : 19;
};

union word {
	u32 word;
	u8 bytes[4];
	struct packed fields;
};

static struct pair crossed(struct pair a, struct pair b)
{
	return (struct pair){ a.large * b.small - b.large, a.small ^ b.small };
}

static u32 fields(u32 word)
{
	union word both = { .word = word };

	both.fields.ten += both.fields.three;
	both.fields.rest ^= both.bytes[0] | both.bytes[3] << 8;
	return both.word;
}

/* Arguments whose number is not known. */
static long sum(int count, ...)
{
	__builtin_va_list arguments;
	long total = 0;

	__builtin_va_start(arguments, count);
	while (count--) {
		total += __builtin_va_arg(arguments, int);
		total -= (long)__builtin_va_arg(arguments, double);
	}
	__builtin_va_end(arguments);
	return total;
}

/* A sum over bytes by a table. */
static u32 check(const char *text)
{
	static u32 table[256];
	u32 crc = ~0u, i, j;

	if (!table[1])
		for (i = 0; i < 256; i++) {
			u32 value = i;

			for (j = 0; j < 8; j++)
				value = value & 1 ? 0xedb88320 ^ value >> 1 : value >> 1;
			table[i] = value;
		}
	for (; *text; text++)
		crc = table[(crc ^ *text) & 0xff] ^ crc >> 8;
	return ~crc;
}

/* Moves of a tower, by recursion. */
static u32 moves(u32 height, int from, int to)
{
	return height ? moves(height - 1, from, 6 - from - to) + 1 + moves(height - 1, 6 - from - to, to) : 0;
}

/* How many numbers below a limit have no divisor. */
static u32 primes(u32 limit)
{
	u8 *composite = malloc(limit);
	u32 i, j, found = 0;

	for (i = 0; i < limit; i++)
		composite[i] = 0;
	for (i = 2; i < limit; i++) {
		if (composite[i])
			continue;
		found++;
		for (j = 2 * i; j < limit; j += i)
			composite[j] = 1;
	}
	free(composite);
	return found;
}

int main(void)
{
	struct pair pair = crossed((struct pair){ 1ll << 40, 7 }, (struct pair){ -3, 1000 });
	struct node *tree = 0;
	u32 i;

	printf("sorted: %u out of order\n", sorts());
	for (i = 0; i < 1000; i++)
		tree = inserted(tree, drawn() % 700);
	printf("tree: depth %u", depth(tree));
	printf(", sum %llu\n", emptied(tree));
	printf("machine: %d\n", executed(program));
	printf("matrix: %.3f, root: %.5f\n", product(), root(2));
	printf("pair: %lld, %d; fields: %08x\n", pair.large, pair.small, fields(0x12345678));
	printf("arguments: %ld\n", sum(3, 10, 1.5, 20, 2.5, 30, 3.5));
	printf("check: %08x\n", check("123456789"));
	printf("tower: %u, primes: %u\n", moves(10, 1, 3), primes(10000));
	printf("wide: %lld, %llu\n", (long long)seed / 1000003 % 77, seed % 1000000007);
	return 0;
}
