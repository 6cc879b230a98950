// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The core's surroundings on clipper: what C by wasm2c calls, and the one call of the core's. What is asked, and what came of it, are in
// memory, which is a file of the host.
#include <stdarg.h>
#include <string.h>

#include "core.h"

// Where the kernel sees physical addresses, of which WebAssembly's are the lowest 32 MiB.
#define KSEG 0xfffffc0000000000ul
#define BYTES (32u << 20)
// Physical addresses: the seed and the number of events, and where the outcome goes.
#define ASKED 0x01800000u
#define OUTCOME 0x01800040u
// After the outcome: why it ended.
#define WHY ((volatile uint64_t *)(KSEG + OUTCOME + 128))
#define RIGHT 64

enum { TYPES = 128, WORDS = 24, ELEMENTS = 1024 };

static Z_core_instance_t core;
static uint32_t types[TYPES][WORDS];
static uint32_t types_known;
static wasm_rt_funcref_t elements[ELEMENTS];

// Ends the machine, by the PALcode of `start.S`.
static WASM_RT_NO_RETURN void end(uint64_t why) {
    *WHY = why;
    for (;;)
        __asm__ volatile("call_pal 0" ::: "memory");
}

WASM_RT_NO_RETURN void wasm_rt_trap(wasm_rt_trap_t why) { end(128 + why); }

void Z_envZ_failed(struct Z_env_instance_t *environment) {
    (void)environment;
    end(1);
}

uint32_t wasm_rt_register_func_type(uint32_t parameters, uint32_t results, ...) {
    uint32_t type[WORDS] = {parameters, results};
    va_list list;
    if (2 + parameters + results > WORDS || types_known == TYPES)
        end(2);
    va_start(list, results);
    for (uint32_t i = 0; i < parameters + results; i++)
        type[2 + i] = va_arg(list, int);
    va_end(list);
    for (uint32_t i = 0; i < types_known; i++)
        if (!memcmp(types[i], type, sizeof type))
            return i + 1;
    memcpy(types[types_known], type, sizeof type);
    return ++types_known;
}

void wasm_rt_allocate_memory(wasm_rt_memory_t *memory, uint32_t pages, uint32_t most) {
    (void)pages, (void)most;
    *memory = (wasm_rt_memory_t){(uint8_t *)KSEG, BYTES >> 16, BYTES >> 16, BYTES};
}

uint32_t wasm_rt_grow_memory(wasm_rt_memory_t *memory, uint32_t pages) {
    (void)memory, (void)pages;
    return -1;
}

void wasm_rt_allocate_funcref_table(wasm_rt_funcref_table_t *table, uint32_t count, uint32_t most) {
    (void)most;
    if (count > ELEMENTS)
        end(3);
    *table = (wasm_rt_funcref_table_t){elements, count, count};
}

void *memcpy(void *to, const void *from, size_t bytes) {
    char *t = to;
    const char *f = from;
    if ((((uintptr_t)t | (uintptr_t)f) & 7) == 0)
        for (; bytes >= 8; bytes -= 8, t += 8, f += 8)
            *(uint64_t *)t = *(const uint64_t *)f;
    while (bytes--)
        *t++ = *f++;
    return to;
}

void *memmove(void *to, const void *from, size_t bytes) {
    char *t = to;
    const char *f = from;
    if (t <= f)
        return memcpy(to, from, bytes);
    while (bytes--)
        t[bytes] = f[bytes];
    return to;
}

void *memset(void *to, int byte, size_t bytes) {
    char *t = to;
    uint64_t word = (byte & 0xff) * 0x0101010101010101ul;
    for (; bytes && ((uintptr_t)t & 7); bytes--)
        *t++ = byte;
    for (; bytes >= 8; bytes -= 8, t += 8)
        *(uint64_t *)t = word;
    while (bytes--)
        *t++ = byte;
    return to;
}

int memcmp(const void *one, const void *other, size_t bytes) {
    const unsigned char *a = one, *b = other;
    for (; bytes--; a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}

void main(void) {
    const uint64_t *asked = (const uint64_t *)(KSEG + ASKED);
    Z_core_init_module();
    Z_core_instantiate(&core, NULL);
    Z_coreZ_core_run(&core, asked[0], asked[1], OUTCOME);
    end(RIGHT);
}
