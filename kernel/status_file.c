// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file user_events_status.
 *
 * The position in the file is the serial of an event, so that a reader goes
 * on where it was, whatever has come or gone meanwhile.
 */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "door.h"
#include "event.h"
#include "registry.h"
#include "status_file.h"

/* The position of the counts, behind every event. */
#define UE_STATUS_COUNTS	(LLONG_MAX - 1)

/* Stands for the counts where others are events. */
static char ue_status_counts;

/* The event at @position or behind it, and in the end the counts. */
static void *ue_status_find(loff_t *position)
{
	unsigned long serial = *position;
	struct ue_event *event;

	if (*position > UE_STATUS_COUNTS)
		return NULL;
	event = *position < UE_STATUS_COUNTS ? ue_registry_next(&serial) : NULL;
	if (event) {
		*position = serial;
		return event;
	}
	*position = UE_STATUS_COUNTS;
	return &ue_status_counts;
}

static void *ue_status_start(struct seq_file *seq, loff_t *position)
	__acquires(RCU)
{
	rcu_read_lock();
	return ue_status_find(position);
}

static void *ue_status_next(struct seq_file *seq, void *item, loff_t *position)
{
	++*position;
	return ue_status_find(position);
}

static void ue_status_stop(struct seq_file *seq, void *item)
	__releases(RCU)
{
	rcu_read_unlock();
}

static void ue_status_show_event(struct seq_file *seq,
				 const struct ue_event *event)
{
	static const char * const names[] = {
		[UE_RECORDER_FTRACE]	= "ftrace",
		[UE_RECORDER_PERF]	= "perf",
	};

	long lost = atomic_long_read(&event->recorders.lost);
	bool used = ue_event_enabled(event);

	seq_puts(seq, ue_event_name(event));
	if (used)
		seq_puts(seq, " # Used by");
	for (int kind = 0; kind < ARRAY_SIZE(names); kind++) {
		if (READ_ONCE(event->recorders.nr[kind]))
			seq_printf(seq, " %s", names[kind]);
	}
	if (lost)
		seq_printf(seq, "%s lost %ld", used ? ";" : " #", lost);
	seq_putc(seq, '\n');
}

static int ue_status_show(struct seq_file *seq, void *item)
{
	if (item == &ue_status_counts)
		seq_printf(seq, "\nActive: %u\nBusy: %u\n",
			   ue_registry_active(), ue_registry_busy());
	else
		ue_status_show_event(seq, item);
	return 0;
}

static const struct seq_operations ue_status_sequence = {
	.start	= ue_status_start,
	.next	= ue_status_next,
	.stop	= ue_status_stop,
	.show	= ue_status_show,
};

static int ue_status_open(struct inode *inode, struct file *file)
{
	if (!ue_doors_are_open())
		return -ENODEV;
	return seq_open(file, &ue_status_sequence);
}

static const struct file_operations ue_status_operations = {
	.owner		= THIS_MODULE,
	.open		= ue_status_open,
	.read		= seq_read,
	.llseek		= seq_lseek,
	.release	= seq_release,
};

int ue_status_file_init(void)
{
	return ue_door_create("user_events_status", 0440,
			      &ue_status_operations);
}
