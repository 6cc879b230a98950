// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What translated functions are made of. `BASE` is the address of the module's first byte of memory.
//
// Each access is made once, in its order, and as wide as WebAssembly says (`volatile`): what is at an address may be another thread's, the
// kernel's or a device's. One that may not be aligned is made of smaller ones, so it touches no byte besides its own.
#include <stdint.h>

// A function may be called what one of these is, so they have other names for the linker.
#define OWN(name) __asm__("translator." #name)
static uint64_t ones64(uint64_t) OWN(ones64);
static uint64_t zeros_before64(uint64_t) OWN(zeros_before64);
static void copy(uint64_t, uint64_t, uint64_t) OWN(copy);
static void fill(uint64_t, uint32_t, uint64_t) OWN(fill);

#define ALWAYS static inline __attribute__((always_inline, unused))
#define AT(type, at) (*(volatile type __attribute__((may_alias)) *)(BASE + (at)))

ALWAYS uint32_t load8_1(uint64_t at) { return AT(uint8_t, at); }
ALWAYS uint32_t load16_2(uint64_t at) { return AT(uint16_t, at); }
ALWAYS uint32_t load32_4(uint64_t at) { return AT(uint32_t, at); }
ALWAYS uint64_t load64_8(uint64_t at) { return AT(uint64_t, at); }
ALWAYS uint32_t load16_1(uint64_t at) { uint32_t low = load8_1(at); return low | load8_1(at + 1) << 8; }
ALWAYS uint32_t load32_2(uint64_t at) { uint32_t low = load16_2(at); return low | load16_2(at + 2) << 16; }
ALWAYS uint32_t load32_1(uint64_t at) { uint32_t low = load16_1(at); return low | load16_1(at + 2) << 16; }
ALWAYS uint64_t load64_4(uint64_t at) { uint64_t low = load32_4(at); return low | (uint64_t)load32_4(at + 4) << 32; }
ALWAYS uint64_t load64_2(uint64_t at) { uint64_t low = load32_2(at); return low | (uint64_t)load32_2(at + 4) << 32; }
ALWAYS uint64_t load64_1(uint64_t at) { uint64_t low = load32_1(at); return low | (uint64_t)load32_1(at + 4) << 32; }

ALWAYS void store8_1(uint64_t at, uint64_t value) { AT(uint8_t, at) = value; }
ALWAYS void store16_2(uint64_t at, uint64_t value) { AT(uint16_t, at) = value; }
ALWAYS void store32_4(uint64_t at, uint64_t value) { AT(uint32_t, at) = value; }
ALWAYS void store64_8(uint64_t at, uint64_t value) { AT(uint64_t, at) = value; }
ALWAYS void store16_1(uint64_t at, uint64_t value) { store8_1(at, value), store8_1(at + 1, value >> 8); }
ALWAYS void store32_2(uint64_t at, uint64_t value) { store16_2(at, value), store16_2(at + 2, value >> 16); }
ALWAYS void store32_1(uint64_t at, uint64_t value) { store16_1(at, value), store16_1(at + 2, value >> 16); }
ALWAYS void store64_4(uint64_t at, uint64_t value) { store32_4(at, value), store32_4(at + 4, value >> 32); }
ALWAYS void store64_2(uint64_t at, uint64_t value) { store32_2(at, value), store32_2(at + 4, value >> 32); }
ALWAYS void store64_1(uint64_t at, uint64_t value) { store32_1(at, value), store32_1(at + 4, value >> 32); }

// The old value of an atomic operation.
#define ATOMIC(type, what, at, value) ((type)__atomic_##what(&AT(type, at), (type)(value), __ATOMIC_SEQ_CST))
#define COMPARE(type, at, expected, value) \
    ({ type old = (type)(expected); \
       __atomic_compare_exchange_n(&AT(type, at), &old, (type)(value), 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
       old; })

// Division. That by zero Rust has excluded, and the smallest number by -1, too.
ALWAYS uint32_t divide32(uint32_t a, uint32_t b) {
    uint32_t quotient = ((int32_t)a < 0 ? -a : a) / ((int32_t)b < 0 ? -b : b);
    return (int32_t)(a ^ b) < 0 ? -quotient : quotient;
}
ALWAYS uint32_t remainder32(uint32_t a, uint32_t b) {
    uint32_t remainder = ((int32_t)a < 0 ? -a : a) % ((int32_t)b < 0 ? -b : b);
    return (int32_t)a < 0 ? -remainder : remainder;
}
ALWAYS uint64_t divide64(uint64_t a, uint64_t b) {
    uint64_t quotient = ((int64_t)a < 0 ? -a : a) / ((int64_t)b < 0 ? -b : b);
    return (int64_t)(a ^ b) < 0 ? -quotient : quotient;
}
ALWAYS uint64_t remainder64(uint64_t a, uint64_t b) {
    uint64_t remainder = ((int64_t)a < 0 ? -a : a) % ((int64_t)b < 0 ? -b : b);
    return (int64_t)a < 0 ? -remainder : remainder;
}

ALWAYS uint32_t rotate32(uint32_t a, uint32_t by) { return a << (by & 31) | a >> (-by & 31); }
ALWAYS uint64_t rotate64(uint64_t a, uint64_t by) { return a << (by & 63) | a >> (-by & 63); }

// Bits: a 21164 has no instruction for them.
static uint64_t __attribute__((unused)) ones64(uint64_t a) {
    a -= a >> 1 & 0x5555555555555555;
    a = (a & 0x3333333333333333) + (a >> 2 & 0x3333333333333333);
    return (a + (a >> 4) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101 >> 56;
}
static uint64_t __attribute__((unused)) zeros_before64(uint64_t a) {
    uint64_t zeros = 64;
#define HALVE(by) if (a >> by) { zeros -= by; a >>= by; }
    HALVE(32) HALVE(16) HALVE(8) HALVE(4) HALVE(2) HALVE(1)
    return zeros - a;
}
ALWAYS uint64_t zeros_after64(uint64_t a) { return ones64((a & -a) - 1); }
ALWAYS uint32_t zeros_before32(uint32_t a) { return zeros_before64(a) - 32; }
ALWAYS uint32_t zeros_after32(uint32_t a) { return zeros_after64(a | (uint64_t)1 << 32); }

// Copies of memory, by words if both begin at one; forwards by 16 words in a round, as they are long: a page, a table.
#define WORD(n, does) { const uint64_t at = 8 * (n); does; }
#define FOUR(n, does) WORD(n, does) WORD(n + 1, does) WORD(n + 2, does) WORD(n + 3, does)
#define ROUND(does) do { FOUR(0, does) FOUR(4, does) FOUR(8, does) FOUR(12, does) } while (0)
static void __attribute__((unused)) copy(uint64_t to, uint64_t from, uint64_t bytes) {
    if (to - from >= bytes) {
        if (!((to | from) & 7)) {
            for (; bytes >= 128; bytes -= 128, to += 128, from += 128)
                ROUND(store64_8(to + at, load64_8(from + at)));
            for (; bytes >= 8; bytes -= 8, to += 8, from += 8)
                store64_8(to, load64_8(from));
        }
        for (; bytes; bytes--, to++, from++)
            store8_1(to, load8_1(from));
    } else {
        if (!((to | from) & 7))
            for (; bytes & 7; bytes--)
                store8_1(to + bytes - 1, load8_1(from + bytes - 1));
        if (!((to | from) & 7))
            for (; bytes; bytes -= 8)
                store64_8(to + bytes - 8, load64_8(from + bytes - 8));
        for (; bytes; bytes--)
            store8_1(to + bytes - 1, load8_1(from + bytes - 1));
    }
}
static void __attribute__((unused)) fill(uint64_t to, uint32_t byte, uint64_t bytes) {
    uint64_t word = (byte & 0xff) * 0x0101010101010101ul;
    for (; bytes && to & 7; bytes--, to++)
        store8_1(to, byte);
    for (; bytes >= 128; bytes -= 128, to += 128)
        ROUND(store64_8(to + at, word));
    for (; bytes >= 8; bytes -= 8, to += 8)
        store64_8(to, word);
    for (; bytes; bytes--, to++)
        store8_1(to, byte);
}

// A function that is called by its number.
struct element {
    void (*code)(void);
    uint32_t type;
};
