// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The core's surroundings on clipper: what it calls, and the one call of the core's. What is asked, and what came of it, are in memory,
// which is a file of the host.
#include <stdint.h>

// Where the kernel sees physical addresses, of which WebAssembly's are the lowest.
#define KSEG 0xfffffc0000000000ul
// Physical addresses: the seed and the number of events, and where the outcome goes.
#define ASKED 0x01800000u
#define OUTCOME 0x01800040u
// After the outcome: why it ended.
#define WHY ((volatile uint64_t *)(KSEG + OUTCOME + 128))
#define RIGHT 64

void core_run(uint64_t seed, uint32_t events, uint32_t outcome);

// Ends the machine, by the PALcode of `start.S`.
static void end(uint64_t why) {
    *WHY = why;
    for (;;)
        __asm__ volatile("call_pal 0" ::: "memory");
}

void failed(void) { end(1); }

void main(void) {
    const volatile uint64_t *asked = (const uint64_t *)(KSEG + ASKED);
    core_run(asked[0], asked[1], OUTCOME);
    end(RIGHT);
}
