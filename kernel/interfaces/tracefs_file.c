// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files in tracefs. Their operations can be unloaded while a task has a
 * reference to a file. An O_PATH descriptor or a bind mount refers to a file
 * without opening it, and so without a reference to the module.
 */
#include <linux/dcache.h>
#include <linux/delay.h>
#include <linux/module.h>

#include "interfaces/tracefs_file.h"
#include "port/kernel_symbols.h"

/* Changed only by module init and exit, so no lock is needed. */
static struct dentry *ue_tracefs_files[3];
static int ue_nr_tracefs_files;

int ue_tracefs_file_create(const char *name, umode_t mode,
			   const struct file_operations *operations)
{
	struct dentry *file;

	if (WARN_ON_ONCE(ue_nr_tracefs_files == ARRAY_SIZE(ue_tracefs_files)))
		return -ENODEV;
	file = static_call(ue_tracefs_create_file)(name, mode, NULL, NULL,
						   operations);
	if (!file)
		return -ENODEV;
	ue_tracefs_files[ue_nr_tracefs_files++] = file;
	return 0;
}

/*
 * Disables all files before the first one is removed, because removing one may
 * have to wait for tasks that list the directory.
 */
static void ue_tracefs_files_disable(void)
{
	for (int i = 0; i < ue_nr_tracefs_files; i++) {
		ihold(d_inode(ue_tracefs_files[i]));
		make_bad_inode(d_inode(ue_tracefs_files[i]));
	}
}

void ue_tracefs_files_remove(void)
{
	ue_tracefs_files_disable();
	while (ue_nr_tracefs_files) {
		struct dentry *file = ue_tracefs_files[--ue_nr_tracefs_files];
		struct inode *inode = d_inode(file);

		static_call(ue_tracefs_remove)(file);
		iput(inode);
	}
}

void ue_tracefs_files_wait(void)
{
	/* One reference belongs to the task that loads the module. */
	while (module_refcount(THIS_MODULE) > 1)
		msleep(20);
}
