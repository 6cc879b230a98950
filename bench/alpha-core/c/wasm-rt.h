// SPDX-License-Identifier: MIT OR Apache-2.0
//
// What C by wasm2c 1.0.32 has to know of its surroundings, and no more: one module, whose memory is the machine's from its first address
// on, without floating point and exceptions.
#ifndef WASM_RT_H_
#define WASM_RT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define wasm_rt_memcpy __builtin_memcpy
#define WASM_RT_NO_RETURN __attribute__((noreturn))
#define WASM_RT_USE_STACK_DEPTH_COUNT 0
#ifndef WASM_RT_MEMCHECK_SIGNAL_HANDLER
#define WASM_RT_MEMCHECK_SIGNAL_HANDLER 0
#endif

typedef enum {
    WASM_RT_TRAP_NONE,
    WASM_RT_TRAP_OOB,
    WASM_RT_TRAP_INT_OVERFLOW,
    WASM_RT_TRAP_DIV_BY_ZERO,
    WASM_RT_TRAP_INVALID_CONVERSION,
    WASM_RT_TRAP_UNREACHABLE,
    WASM_RT_TRAP_CALL_INDIRECT,
    WASM_RT_TRAP_EXHAUSTION,
} wasm_rt_trap_t;

typedef enum { WASM_RT_I32, WASM_RT_I64, WASM_RT_F32, WASM_RT_F64, WASM_RT_FUNCREF, WASM_RT_EXTERNREF } wasm_rt_type_t;

typedef void (*wasm_rt_function_ptr_t)(void);

typedef struct {
    uint32_t func_type;
    wasm_rt_function_ptr_t func;
    void *module_instance;
} wasm_rt_funcref_t;

typedef struct {
    wasm_rt_funcref_t *data;
    uint32_t max_size;
    uint32_t size;
} wasm_rt_funcref_table_t;

typedef void *wasm_rt_externref_t;

typedef struct {
    wasm_rt_externref_t *data;
    uint32_t max_size;
    uint32_t size;
} wasm_rt_externref_table_t;

typedef struct {
    uint8_t *data;
    uint32_t pages;
    uint32_t max_pages;
    uint32_t size;
} wasm_rt_memory_t;

static const wasm_rt_funcref_t wasm_rt_funcref_null_value = {0, NULL, NULL};
static const wasm_rt_externref_t wasm_rt_externref_null_value = NULL;

static inline bool wasm_rt_is_initialized(void) { return true; }
static inline void wasm_rt_free_memory(wasm_rt_memory_t *memory) { (void)memory; }
static inline void wasm_rt_free_funcref_table(wasm_rt_funcref_table_t *table) { (void)table; }

WASM_RT_NO_RETURN void wasm_rt_trap(wasm_rt_trap_t why);
uint32_t wasm_rt_register_func_type(uint32_t parameters, uint32_t results, ...);
void wasm_rt_allocate_memory(wasm_rt_memory_t *memory, uint32_t pages, uint32_t most);
uint32_t wasm_rt_grow_memory(wasm_rt_memory_t *memory, uint32_t pages);
void wasm_rt_allocate_funcref_table(wasm_rt_funcref_table_t *table, uint32_t elements, uint32_t most);

#endif
