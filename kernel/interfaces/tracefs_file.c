// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files in tracefs. Their operations can be unloaded while a task has a
 * reference to a file. An O_PATH descriptor or a bind mount refers to a file
 * without opening it, and so without a reference to the module.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dcache.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "interfaces/tracefs_file.h"
#include "port/kernel_symbols.h"

/* Changed only by module init and exit, so no lock is needed. */
static struct dentry *ue_tracefs_files[4];
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

int ue_tracefs_open_lines(struct inode *inode, struct file *file,
			  const struct seq_operations *sequence,
			  size_t private_size, int (*remove_all)(void))
{
	int err = seq_open_private(file, sequence, private_size);

	if (err || !(file->f_mode & FMODE_WRITE) || !(file->f_flags & O_TRUNC))
		return err;
	err = remove_all();
	if (err)
		seq_release_private(inode, file);
	return err;
}

/* One write() takes no more; the program then writes the rest. */
#define UE_WRITE_LINES_MAX	SZ_64K

/* Stops at the first line that fails; the lines before it have their effect. */
static int ue_change_lines(char *text, int (*change)(const char *line))
{
	char *line;
	int err = 0;

	while (!err && (line = strsep(&text, "\n"))) {
		/*
		 * Behind the last newline is an empty rest. An error there would make the
		 * write() fail after all lines had their effect.
		 */
		if (*line)
			err = change(line);
	}
	return err;
}

ssize_t ue_tracefs_write_lines(const char __user *from, size_t size,
			       int (*change)(const char *line))
{
	char *text, *last;
	int err = -EINVAL;

	size = min_t(size_t, size, UE_WRITE_LINES_MAX);
	text = memdup_user_nul(from, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	if (strlen(text) == size) {
		/* A line that does not fit into this write() comes with the next one. */
		last = strrchr(text, '\n');
		if (size == UE_WRITE_LINES_MAX && last) {
			last[1] = '\0';
			size = last + 1 - text;
		}
		err = ue_change_lines(text, change);
	}
	kfree(text);
	return err ?: size;
}

void ue_tracefs_add_parameter(const char *what, char *parameter,
			      int (*change)(const char *line))
{
	char *line;

	while ((line = strsep(&parameter, ";"))) {
		char *text = skip_spaces(line);
		int err = change(text);

		if (err)
			pr_warn("%s %.128s of the parameter is not added: error %d\n",
				what, text, err);
	}
}
