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

/* One write() takes no more; the program then writes the rest. No line is longer. */
#define UE_WRITE_LINES_MAX	SZ_64K

/*
 * Behind the bytes for its sequence, an open file has a pointer to the beginning of a line, or
 * NULL.
 */
static size_t ue_kept_offset(const struct ue_lines_file *lines)
{
	return ALIGN(lines->private_size, sizeof(void *));
}

int ue_lines_open(struct inode *inode, struct file *file, const struct ue_lines_file *lines)
{
	const size_t offset = ue_kept_offset(lines);
	int err = seq_open_private(file, lines->sequence,
				   offset + sizeof(char *));

	if (err || !(file->f_mode & FMODE_WRITE) || !(file->f_flags & O_TRUNC))
		return err;
	err = lines->remove_all();
	if (err)
		seq_release_private(inode, file);
	return err;
}

/* An empty line asks for nothing. */
static int ue_change_line(const struct ue_lines_file *lines, const char *line)
{
	return *line ? lines->change(line) : 0;
}

/*
 * @text: changed
 * Return: the error of the first line that fails; the lines before it have their effect.
 */
static int ue_change_lines(const struct ue_lines_file *lines, char *text, char **kept)
{
	const bool is_line = !*kept && !strchr(text, '\n');
	char *rest = text, *whole = NULL, *end;
	int err = 0;

	if (*kept) {
		whole = kasprintf(GFP_KERNEL, "%s%s", *kept, text);
		kfree(*kept);
		*kept = NULL;
		rest = whole;
		if (!whole)
			return -ENOMEM;
	}
	while (!err && (end = strchr(rest, '\n'))) {
		*end = '\0';
		err = ue_change_line(lines, rest);
		rest = end + 1;
	}
	if (!err && is_line) {
		err = ue_change_line(lines, rest);
	} else if (!err && *rest) {
		if (strlen(rest) > UE_WRITE_LINES_MAX)
			err = -EINVAL;
		else
			*kept = kstrdup(rest, GFP_KERNEL);
		if (!err && !*kept)
			err = -ENOMEM;
	}
	kfree(whole);
	return err;
}

ssize_t ue_lines_write(struct file *file, const char __user *from, size_t size,
		       const struct ue_lines_file *lines)
{
	struct seq_file *seq = file->private_data;
	char **kept = seq->private + ue_kept_offset(lines);
	char *text;
	int err = -EINVAL;

	size = min_t(size_t, size, UE_WRITE_LINES_MAX);
	text = memdup_user_nul(from, size);
	mutex_lock(&seq->lock);
	if (IS_ERR(text))
		err = PTR_ERR(text);
	else if (strlen(text) == size)
		err = ue_change_lines(lines, text, kept);
	if (err) {
		kfree(*kept);
		*kept = NULL;
	}
	mutex_unlock(&seq->lock);
	if (!IS_ERR(text))
		kfree(text);
	return err ?: size;
}

int ue_lines_release(struct inode *inode, struct file *file, const struct ue_lines_file *lines)
{
	struct seq_file *seq = file->private_data;
	char *kept = *(char **)(seq->private + ue_kept_offset(lines));
	const struct cred *cred = override_creds(file->f_cred);
	int err = kept ? ue_change_line(lines, kept) : 0;

	revert_creds(cred);
	if (err)
		pr_warn("the last line, which has no newline, has failed with error %d: %.128s\n",
			err, kept);
	kfree(kept);
	return seq_release_private(inode, file);
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
