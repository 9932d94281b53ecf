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
 * ue_tracefs_open_lines() - open a file that has a line for each of several things
 * @inode: the inode
 * @file: the open file
 * @sequence: reads the lines
 * @private_size: how many bytes of its own the open file has, zeroed, for @sequence
 * @remove_all: called if the file is opened for writing with O_TRUNC; removes all of the
 *	things; returns 0 or an error
 *
 * The file is released by seq_release_private().
 *
 * Context: the open() of the file; may sleep.
 * Return: 0; -ENOMEM; the error of @remove_all.
 */
int ue_tracefs_open_lines(struct inode *inode, struct file *file,
			  const struct seq_operations *sequence,
			  size_t private_size, int (*remove_all)(void));

/**
 * ue_tracefs_write_lines() - do what the lines of a write() ask for
 * @from: the text, in user space
 * @size: bytes
 * @change: does what a line asks for, without its newline; 0 or an error
 *
 * Stops at the first line that fails.
 *
 * Context: may sleep.
 * Return: how much of the text was used; -EFAULT; -ENOMEM; -EINVAL for a NUL in the
 * text; the error of @change.
 */
ssize_t ue_tracefs_write_lines(const char __user *from, size_t size,
			       int (*change)(const char *line));

/**
 * ue_tracefs_add_parameter() - do what the lines of a module parameter ask for
 * @what: what a line adds, for messages
 * @parameter: lines with semicolons between them; changed. Or NULL
 * @change: as for ue_tracefs_write_lines()
 *
 * Context: module init; may sleep.
 */
void ue_tracefs_add_parameter(const char *what, char *parameter,
			      int (*change)(const char *line));

#endif /* UE_TRACEFS_FILE_H */
