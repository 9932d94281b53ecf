// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files of an event in tracefs.
 *
 * Before 6.6 the inode of such a file points to the event or to its
 * struct trace_event_file. A task that has opened the file, or is about to,
 * keeps the inode after the event is removed.
 *
 * The files "trigger" and "format" check the pointer only for NULL and then use
 * the freed memory, so the pointer is set to NULL. The other files check a flag
 * of the trace_event_file. So that structure, and the event to which it points,
 * are kept while such a file is open.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "port/compat.h"

#if UE_KEEP_EVENT_FILES

#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "events/event.h"
#include "events/event_files.h"
#include "port/kernel_symbols.h"

/* A file of a removed event that is open, or about to be opened. */
struct ue_kept_file {
	struct list_head node;
	struct dentry *file;
	struct trace_event_file *trace_file;
	struct ue_event *event;
};

/* Protected by event_mutex. */
static LIST_HEAD(ue_kept_files);

/* Return: the child of that name, with a reference; or NULL. */
static struct dentry *ue_child(struct dentry *parent, const char *name)
{
	struct qstr key = QSTR_INIT((const unsigned char *)name, strlen(name));
	struct dentry *child = d_hash_and_lookup(parent, &key);

	/* A failed lookup leaves a negative dentry. */
	if (child && d_really_is_negative(child)) {
		dput(child);
		return NULL;
	}
	return child;
}

/* Return: the dentry at the end of @path, with a reference; or NULL. */
static struct dentry *ue_descendant(struct dentry *top,
				    const char * const *path)
{
	struct dentry *at = dget(top);

	for (; at && *path; path++) {
		struct dentry *child = ue_child(at, *path);

		dput(at);
		at = child;
	}
	return at;
}

static void ue_keep_trace_file(struct dentry *file, struct ue_event *event)
{
	struct ue_kept_file *kept = kmalloc(sizeof(*kept),
						 GFP_KERNEL | __GFP_NOFAIL);

	kept->file = dget(file);
	kept->trace_file = d_inode(file)->i_private;
	kept->event = event;
	static_call(ue_event_file_get)(kept->trace_file);
	ue_event_ref(event);
	list_add(&kept->node, &ue_kept_files);
}

/*
 * The file is removed from its directory: every reference other than the
 * caller's belongs to a task that has opened the file, or is about to.
 */
static bool ue_is_open(const struct dentry *file)
{
	return d_count(file) > 1;
}

static void ue_free_closed(void)
{
	struct ue_kept_file *kept, *next;

	list_for_each_entry_safe(kept, next, &ue_kept_files, node) {
		if (ue_is_open(kept->file))
			continue;
		list_del(&kept->node);
		dput(kept->file);
		static_call(ue_event_file_put)(kept->trace_file);
		ue_event_unref(kept->event);
		kfree(kept);
	}
}

/* Removes the file from its directory, so that no task can find it any more. */
static void ue_disconnect_file(struct dentry *file, bool clear_pointer,
			       struct ue_event *event)
{
	static_call(ue_tracefs_remove)(file);
	/* The kernel reads the pointer with event_mutex held. */
	if (clear_pointer)
		WRITE_ONCE(d_inode(file)->i_private, NULL);
	else if (ue_is_open(file))
		ue_keep_trace_file(file, event);
}

static void ue_disconnect_directory(struct dentry *directory,
				    struct ue_event *event)
{
	static const struct {
		const char *name;
		bool clear_pointer;
	} files[] = {
		{ "format",	true },
		{ "trigger",	true },
		{ "enable",	false },
		{ "filter",	false },
		{ "hist",	false },
		{ "hist_debug",	false },
		{ "inject",	false },
	};

	for (int i = 0; i < ARRAY_SIZE(files); i++) {
		struct dentry *file = ue_child(directory, files[i].name);

		if (file)
			ue_disconnect_file(file, files[i].clear_pointer, event);
		dput(file);
	}
}

/*
 * A kernel probe created in the same system may have an event of the same name,
 * and then the directory belongs to the probe.
 */
static bool ue_is_directory_of(struct dentry *directory,
			       const struct ue_event *event)
{
	struct dentry *file = ue_child(directory, "enable");
	const struct trace_event_file *trace_file;
	bool is_of = false;

	if (file) {
		trace_file = d_inode(file)->i_private;
		is_of = trace_file && trace_file->event_call == &event->call;
	}
	dput(file);
	return is_of;
}

/* @tracing: the root of tracefs, or the directory of an instance. */
static void ue_disconnect_in(struct dentry *tracing, struct ue_event *event)
{
	const char * const path[] = { "events", event->class.system,
				      ue_event_name(event), NULL };
	struct dentry *directory = ue_descendant(tracing, path);

	if (directory && ue_is_directory_of(directory, event))
		ue_disconnect_directory(directory, event);
	dput(directory);
}

/*
 * Sets @children to the first @max children, each with a reference.
 * Return: the number of children, which may exceed @max.
 */
static unsigned int ue_children(struct dentry *parent,
				struct dentry **children, unsigned int max)
{
	struct dentry *child;
	unsigned int nr = 0;

	spin_lock(&parent->d_lock);
	list_for_each_entry(child, &parent->d_subdirs, d_child) {
		spin_lock_nested(&child->d_lock, DENTRY_D_LOCK_NESTED);
		if (simple_positive(child)) {
			if (nr < max)
				children[nr] = dget_dlock(child);
			nr++;
		}
		spin_unlock(&child->d_lock);
	}
	spin_unlock(&parent->d_lock);
	return nr;
}

/* event_mutex is held, so no instance is created or removed. */
static void ue_disconnect_in_instances(struct dentry *instances,
				       struct ue_event *event)
{
	unsigned int nr = ue_children(instances, NULL, 0);
	struct dentry **children;

	if (!nr)
		return;
	children = kvcalloc(nr, sizeof(*children), GFP_KERNEL | __GFP_NOFAIL);
	ue_children(instances, children, nr);
	for (unsigned int i = 0; i < nr; i++) {
		ue_disconnect_in(children[i], event);
		dput(children[i]);
	}
	kvfree(children);
}

void ue_event_files_disconnect(struct ue_event *event)
{
	struct dentry *top, *instances;

	lockdep_assert_held(ue_event_mutex);
	ue_free_closed();
	top = (*ue_tracefs_mount)->mnt_root;
	ue_disconnect_in(top, event);
	instances = ue_child(top, "instances");
	if (instances)
		ue_disconnect_in_instances(instances, event);
	dput(instances);
}

void ue_event_files_exit(void)
{
	struct ue_kept_file *kept, *next;

	mutex_lock(ue_event_mutex);
	ue_free_closed();
	list_for_each_entry_safe(kept, next, &ue_kept_files, node) {
		pr_warn("a tracefs file of the removed event %s is still open; its memory is not freed. Close such files before unloading the module.\n",
			ue_event_name(kept->event));
		ue_event_abandon(kept->event);
		kfree(kept);
	}
	mutex_unlock(ue_event_mutex);
}

#endif /* UE_KEEP_EVENT_FILES */
