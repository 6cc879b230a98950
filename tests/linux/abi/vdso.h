/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the checks of vDSOs share. */
#ifndef VDSO_H
#define VDSO_H

#include "abi.h"
#include <link.h>

/* Where the vDSO that lies at `base` has a function; NULL: nowhere. */
static void *vdso_function(unsigned long base, const char *name)
{
	const ElfW(Ehdr) *file = (void *)base;
	const ElfW(Phdr) *part = (void *)(base + file->e_phoff);
	const ElfW(Dyn) *entry = NULL;
	const ElfW(Sym) *symbols = NULL;
	const Elf32_Word *hash = NULL;
	const char *names = NULL;
	unsigned int i;

	for (i = 0; i < file->e_phnum; i++)
		if (part[i].p_type == PT_DYNAMIC)
			entry = (void *)(base + part[i].p_offset);
	for (; entry && entry->d_tag != DT_NULL; entry++) {
		void *at = (void *)(base + entry->d_un.d_ptr);

		if (entry->d_tag == DT_SYMTAB)
			symbols = at;
		else if (entry->d_tag == DT_STRTAB)
			names = at;
		else if (entry->d_tag == DT_HASH)
			hash = at;
	}
	for (i = 0; symbols && names && hash && i < hash[1]; i++)
		if (!strcmp(names + symbols[i].st_name, name))
			return (void *)(base + symbols[i].st_value);
	return NULL;
}

/* Finds a mapping by its name. */
static int find(const char *name, unsigned long *start, unsigned long *end)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[300];
	int found = 0;

	while (!found && fgets(line, sizeof(line), maps))
		found = strstr(line, name) && sscanf(line, "%lx-%lx", start, end) == 2;
	fclose(maps);
	return found;
}

/* From now on a system call kills the process, but for exit(). */
static int forbid_calls(void)
{
	struct sock_filter allow_exit[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_exit, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
	};
	struct sock_fprog filter = { sizeof(allow_exit) / sizeof(allow_exit[0]), allow_exit };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
}

#endif
