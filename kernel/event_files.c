// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files of an event in tracefs.
 *
 * Before 6.6 a file in tracefs stands for an inode that points to the event or
 * to its place in an instance (struct trace_event_file), and whoever has opened
 * it, or has found it and is about to, keeps the pointer when the event has gone.
 * "trigger" and "format" do not look whether it has, and follow the pointer to
 * what has been freed: a trigger set in this way lands on whichever event is
 * there by then. Both take no pointer for an event that has gone; so the pointer
 * is taken away. The others do look, at their place: this is kept for them, and
 * the event with it, to which the place leads.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include "compat.h"

#if UE_EVENT_FILES_DANGLE

#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "event.h"
#include "event_files.h"
#include "kernel_symbols.h"

/* A file that is open, or about to be, of an event that has gone. */
struct ue_open_file {
	struct list_head node;
	struct dentry *file;
	struct trace_event_file *place;
	struct ue_event *event;
};

/* Protected by event_mutex. */
static LIST_HEAD(ue_open_files);

/* Return: the child with a reference, or NULL. */
static struct dentry *ue_child(struct dentry *parent, const char *name)
{
	struct qstr key = QSTR_INIT((const unsigned char *)name, strlen(name));
	struct dentry *child = d_hash_and_lookup(parent, &key);

	/* Somebody may just have looked for what there is not. */
	if (child && d_really_is_negative(child)) {
		dput(child);
		return NULL;
	}
	return child;
}

/* The same, at the end of a path. */
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

static void ue_keep_for(struct dentry *file, struct ue_event *event)
{
	struct ue_open_file *open_file = kmalloc(sizeof(*open_file),
						 GFP_KERNEL | __GFP_NOFAIL);

	open_file->file = dget(file);
	open_file->place = d_inode(file)->i_private;
	open_file->event = event;
	static_call(ue_event_file_get)(open_file->place);
	refcount_inc(&event->references);
	list_add(&open_file->node, &ue_open_files);
}

/* It is in no directory any more: has somebody a reference besides the caller? */
static bool ue_is_open(const struct dentry *file)
{
	return d_count(file) > 1;
}

static void ue_free_closed(void)
{
	struct ue_open_file *open_file, *next;

	list_for_each_entry_safe(open_file, next, &ue_open_files, node) {
		if (ue_is_open(open_file->file))
			continue;
		list_del(&open_file->node);
		dput(open_file->file);
		static_call(ue_event_file_put)(open_file->place);
		ue_event_free(open_file->event);
		kfree(open_file);
	}
}

/* Takes the file out of its directory, where nobody finds it from then on. */
static void ue_forget_file(struct dentry *file, bool by_pointer,
			   struct ue_event *event)
{
	static_call(ue_tracefs_remove)(file);
	/* Read with event_mutex held. */
	if (by_pointer)
		WRITE_ONCE(d_inode(file)->i_private, NULL);
	else if (ue_is_open(file))
		ue_keep_for(file, event);
}

static void ue_forget_directory(struct dentry *directory,
				struct ue_event *event)
{
	static const struct {
		const char *name;
		bool by_pointer;
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
			ue_forget_file(file, files[i].by_pointer, event);
		dput(file);
	}
}

/*
 * A probe that somebody has put into our system may have had the name before,
 * and so the directory; then the event has none.
 */
static bool ue_is_directory_of(struct dentry *directory,
			       const struct ue_event *event)
{
	struct dentry *file = ue_child(directory, "enable");
	const struct trace_event_file *place;
	bool is_of = false;

	if (file) {
		place = d_inode(file)->i_private;
		is_of = place && place->event_call == &event->call;
	}
	dput(file);
	return is_of;
}

/* The top of tracefs, or an instance. */
static void ue_forget_in(struct dentry *tracing, struct ue_event *event)
{
	const char * const path[] = { "events", event->class.system,
				      ue_event_name(event), NULL };
	struct dentry *directory = ue_descendant(tracing, path);

	if (directory && ue_is_directory_of(directory, event))
		ue_forget_directory(directory, event);
	dput(directory);
}

/* Return: how many there are; the first @max with a reference in @children. */
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

/* None comes or goes: that takes event_mutex. */
static void ue_forget_in_instances(struct dentry *instances,
				   struct ue_event *event)
{
	unsigned int nr = ue_children(instances, NULL, 0);
	struct dentry **children;

	if (!nr)
		return;
	children = kvcalloc(nr, sizeof(*children),
			    GFP_KERNEL | __GFP_NOFAIL);
	ue_children(instances, children, nr);
	for (unsigned int i = 0; i < nr; i++) {
		ue_forget_in(children[i], event);
		dput(children[i]);
	}
	kvfree(children);
}

void ue_event_files_forget(struct ue_event *event)
{
	struct dentry *top, *instances;

	lockdep_assert_held(ue_event_mutex);
	ue_free_closed();
	top = (*ue_tracefs_mount)->mnt_root;
	ue_forget_in(top, event);
	instances = ue_child(top, "instances");
	if (instances)
		ue_forget_in_instances(instances, event);
	dput(instances);
}

void ue_event_files_exit(void)
{
	struct ue_open_file *open_file, *next;

	mutex_lock(ue_event_mutex);
	ue_free_closed();
	list_for_each_entry_safe(open_file, next, &ue_open_files, node) {
		pr_warn("a file of event %s, which has gone, is open; the memory is not freed\n",
			ue_event_name(open_file->event));
		ue_event_give_up(open_file->event);
		kfree(open_file);
	}
	mutex_unlock(ue_event_mutex);
}

#endif /* UE_EVENT_FILES_DANGLE */
