// SPDX-License-Identifier: GPL-2.0
/* Registers as sets, for PTRACE_GETREGSET and PTRACE_SETREGSET of a stopped task. */
#include <linux/elf.h>
#include <linux/ptrace.h>
#include <linux/regset.h>
#include <linux/sched.h>
#include <registers.h>
#include <sysdep/ptrace_user.h>

static int general_get(struct task_struct *task, const struct user_regset *set, struct membuf to)
{
	unsigned int i;

	for (i = 0; i < set->n; i++)
		membuf_store(&to, getreg(task, i * sizeof(long)));
	return 0;
}

static int general_set(struct task_struct *task, const struct user_regset *set, unsigned int at,
		       unsigned int bytes, const void *from, const void __user *user)
{
	unsigned long value;
	int err = 0;

	while (bytes && !err) {
		int reg = at;

		err = user_regset_copyin(&at, &bytes, &from, &user, &value, reg, reg + sizeof(value));
		if (!err)
			err = putreg(task, reg, value);
	}
	return err;
}

/* What functions of fpu.c read or write; the larger of the two formats. */
union fpu {
	unsigned long fsave[HOST_FP_SIZE], fxsave[HOST_FPX_SIZE];
};

static int fpu_get(struct task_struct *task, const struct user_regset *set, struct membuf to)
{
	int (*save)(int pid, unsigned long *regs) =
		set->core_note_type == NT_PRXFPREG ? save_fpx_registers : save_i387_registers;
	union fpu fpu;
	int err = save(fp_owner(task), (unsigned long *)&fpu);

	if (!err)
		membuf_write(&to, &fpu, set->n * set->size);
	return err;
}

static int fpu_set(struct task_struct *task, const struct user_regset *set, unsigned int at,
		   unsigned int bytes, const void *from, const void __user *user)
{
	bool fxsave = set->core_note_type == NT_PRXFPREG;
	union fpu fpu;
	int err;

	/* What is not given stays. */
	err = (fxsave ? save_fpx_registers : save_i387_registers)(fp_owner(task), (unsigned long *)&fpu);
	if (!err)
		err = user_regset_copyin(&at, &bytes, &from, &user, &fpu, 0, set->n * set->size);
	if (!err)
		err = (fxsave ? restore_fpx_registers : restore_i387_registers)(fp_owner(task), (unsigned long *)&fpu);
	return err;
}

static const struct user_regset sets[] = {
	{
		.core_note_type = NT_PRSTATUS, .n = MAX_REG_OFFSET / sizeof(long), .size = sizeof(long),
		.align = sizeof(long), .regset_get = general_get, .set = general_set,
	},
	{
		.core_note_type = NT_PRFPREG, .n = sizeof(struct user_i387_struct) / sizeof(long),
		.size = sizeof(long), .align = sizeof(long), .regset_get = fpu_get, .set = fpu_set,
	},
	{
		.core_note_type = NT_PRXFPREG, .n = HOST_FPX_SIZE, .size = sizeof(long),
		.align = sizeof(long), .regset_get = fpu_get, .set = fpu_set,
	},
};

static const struct user_regset_view view = {
	.name = "i386", .e_machine = EM_386, .regsets = sets, .n = ARRAY_SIZE(sets),
};

const struct user_regset_view *task_user_regset_view(struct task_struct *task)
{
	return &view;
}
