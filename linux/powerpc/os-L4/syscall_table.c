// SPDX-License-Identifier: GPL-2.0
/* The functions of system calls, by number, and those that differ from the generic ones. */
#include <linux/cache.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/mman.h>
#include <linux/syscalls.h>
#include <sysdep/ptrace.h>
#include <sysdep/syscalls.h>

/* 64-bit arguments: the upper half first, in a register with an odd number (arch/powerpc/kernel/sys_ppc32.c). */
static u64 both(u32 high, u32 low)
{
	return (u64)high << 32 | low;
}

static long sys_mmap_bytes(unsigned long at, unsigned long bytes, unsigned long prot, unsigned long flags, unsigned long fd,
			   unsigned long offset)
{
	return offset & ~PAGE_MASK ? -EINVAL : ksys_mmap_pgoff(at, bytes, prot, flags, fd, offset >> PAGE_SHIFT);
}

static long sys_mmap2(unsigned long at, unsigned long bytes, unsigned long prot, unsigned long flags, unsigned long fd,
		      unsigned long page)
{
	return ksys_mmap_pgoff(at, bytes, prot, flags, fd, page);
}

static long sys_ppc_pread64(unsigned int fd, char __user *to, size_t n, u32 unused, u32 high, u32 low)
{
	return ksys_pread64(fd, to, n, both(high, low));
}

static long sys_ppc_pwrite64(unsigned int fd, const char __user *from, size_t n, u32 unused, u32 high, u32 low)
{
	return ksys_pwrite64(fd, from, n, both(high, low));
}

static long sys_ppc_readahead(int fd, u32 unused, u32 high, u32 low, u32 n)
{
	return ksys_readahead(fd, both(high, low), n);
}

static long sys_ppc_truncate64(const char __user *path, u32 unused, u32 high, u32 low)
{
	return ksys_truncate(path, both(high, low));
}

static long sys_ppc_ftruncate64(unsigned int fd, u32 unused, u32 high, u32 low)
{
	return ksys_ftruncate(fd, both(high, low));
}

static long sys_ppc_fallocate(int fd, int mode, u32 high, u32 low, u32 n_high, u32 n_low)
{
	return ksys_fallocate(fd, mode, both(high, low), both(n_high, n_low));
}

static long sys_ppc_fadvise64_64(int fd, int advice, u32 high, u32 low, u32 n_high, u32 n_low)
{
	return ksys_fadvise64_64(fd, both(high, low), both(n_high, n_low), advice);
}

static long sys_ppc32_fadvise64(int fd, u32 unused, u32 high, u32 low, size_t n, int advice)
{
	return ksys_fadvise64_64(fd, both(high, low), n, advice);
}

static long sys_ppc_sync_file_range2(int fd, unsigned int flags, u32 high, u32 low, u32 n_high, u32 n_low)
{
	return ksys_sync_file_range(fd, both(high, low), both(n_high, n_low), flags);
}

asmlinkage long sys_sigreturn(void);
asmlinkage long sys_rt_sigreturn(void);
struct ucontext;
asmlinkage long sys_swapcontext(struct ucontext __user *old, struct ucontext __user *new, long bytes);

/* Calls of other machines, or of a debugger that is no longer used. */
#define sys_debug_setcontext	sys_ni_syscall
#define sys_pciconfig_iobase	sys_ni_syscall
#define sys_pciconfig_read	sys_ni_syscall
#define sys_pciconfig_write	sys_ni_syscall
#define sys_rtas		sys_ni_syscall
#define sys_spu_create		sys_ni_syscall
#define sys_spu_run		sys_ni_syscall
#define sys_subpage_prot	sys_ni_syscall
#define sys_switch_endian	sys_ni_syscall

#define sys_mmap		sys_mmap_bytes
#define __SYSCALL_WITH_COMPAT(nr, native, compat)	__SYSCALL(nr, native)
#define __SYSCALL(nr, function)		[nr] = (void *)function,

syscall_handler_t *const sys_call_table[__NR_syscalls] ____cacheline_aligned = {
	[0 ... __NR_syscalls - 1] = (void *)sys_ni_syscall,
#include <asm/syscall_table_32.h>
};

long l4_execute_syscall(unsigned int nr, struct uml_pt_regs *regs)
{
	/* A debugger may have changed the arguments. */
	return sys_call_table[nr](regs->gp[HOST_R3], UPT_SYSCALL_ARG2(regs), UPT_SYSCALL_ARG3(regs),
				  UPT_SYSCALL_ARG4(regs), UPT_SYSCALL_ARG5(regs), UPT_SYSCALL_ARG6(regs));
}
