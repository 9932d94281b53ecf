/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module's files in tracefs, and what those that take lines of text share.
 */
#ifndef UE_TRACEFS_FILE_H
#define UE_TRACEFS_FILE_H

#include <linux/fs.h>
#include <linux/seq_file.h>
#include <linux/types.h>

/**
 * ue_tracefs_file_create() - create a file in tracefs
 * @name: name of the file
 * @mode: its permissions
 * @operations: its operations, owned by this module. Their open() must fail
 *	until ue_module_is_ready().
 *
 * Context: module init; may sleep.
 * Return: 0, or -ENODEV if tracefs can't create the file.
 */
int ue_tracefs_file_create(const char *name, umode_t mode,
			   const struct file_operations *operations);

/**
 * ue_tracefs_files_remove() - remove all files
 *
 * Afterwards opening a file fails with EIO, even through an O_PATH descriptor
 * or a bind mount. A task may be inside open() already, and take its reference
 * to the module only after this returns; synchronize_rcu_tasks() waits for
 * such tasks. While the module is being unloaded, taking that reference fails,
 * and the kernel prints a warning.
 *
 * Context: module init or exit; may sleep.
 */
void ue_tracefs_files_remove(void);

/**
 * ue_tracefs_files_wait() - wait for tasks that open a file during a failed load
 *
 * Such a task has a reference to the module until its open() has failed. The
 * kernel frees a module that has failed to load even if there are references.
 *
 * Context: module init, after ue_tracefs_files_remove() and
 * synchronize_rcu_tasks(); may sleep.
 */
void ue_tracefs_files_wait(void);

/**
 * struct ue_lines_file - a file that has a line for each of several things
 * @sequence: reads the lines
 * @private_size: how many bytes of its own an open file has, zeroed, for @sequence
 * @change: does what a line asks for, without its newline; 0 or an error
 * @remove_all: called if the file is opened for writing with O_TRUNC; removes all of the
 *	things; returns 0 or an error
 */
struct ue_lines_file {
	const struct seq_operations *sequence;
	size_t private_size;
	int (*change)(const char *line);
	int (*remove_all)(void);
};

/**
 * ue_lines_open() - open such a file
 * @inode: the inode
 * @file: the open file
 * @lines: the file
 *
 * Context: the open() of the file; may sleep.
 * Return: 0; -ENOMEM; the error of @lines->remove_all.
 */
int ue_lines_open(struct inode *inode, struct file *file, const struct ue_lines_file *lines);

/**
 * ue_lines_write() - do what the lines of a write() ask for
 * @file: the open file
 * @from: the text, in user space
 * @size: bytes
 * @lines: the file
 *
 * Stops at the first line that fails. The text behind the last newline is kept for the next
 * write(), or for ue_lines_release(). But a write() without any newline, while no text is
 * kept, is a line of its own, so that its error can be returned.
 *
 * Context: the write() of the file; may sleep.
 * Return: how much of the text was used; -EFAULT; -ENOMEM; -EINVAL for a NUL in the
 * text, or for a line that is too long; the error of @change. After an error, no text is kept.
 */
ssize_t ue_lines_write(struct file *file, const char __user *from, size_t size,
		       const struct ue_lines_file *lines);

/**
 * ue_lines_release() - close such a file
 * @inode: the inode
 * @file: the open file
 * @lines: the file
 *
 * Text that is kept is a line, whose error is only logged.
 *
 * Context: the release() of the file; may sleep.
 * Return: 0.
 */
int ue_lines_release(struct inode *inode, struct file *file, const struct ue_lines_file *lines);

/**
 * ue_tracefs_add_parameter() - do what the lines of a module parameter ask for
 * @what: what a line adds, for messages
 * @parameter: lines with semicolons between them; changed. Or NULL
 * @change: as in struct ue_lines_file
 *
 * Context: module init; may sleep.
 */
void ue_tracefs_add_parameter(const char *what, char *parameter,
			      int (*change)(const char *line));

#endif /* UE_TRACEFS_FILE_H */
