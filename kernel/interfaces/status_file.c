// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file user_events_status, and the same of any group.
 *
 * The position in the file is the serial of an event, so that a reader
 * continues at the right event after others were created or removed.
 */
#include <linux/fs.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "events/event.h"
#include "interfaces/status_file.h"
#include "interfaces/tracefs_file.h"
#include "port/module_state.h"
#include "registry/registry.h"

/* The position of the counts, after all events. */
#define UE_STATUS_COUNTS	(LLONG_MAX - 1)

/* The item that is shown as the counts; all other items are events. */
static char ue_status_counts;

/* Sets *@position. Return: the item to show there: @event, or the counts if @event is NULL. */
static void *ue_status_item(struct ue_event *event, loff_t *position)
{
	*position = event ? event->serial : UE_STATUS_COUNTS;
	return event ?: (void *)&ue_status_counts;
}

static void *ue_status_start(struct seq_file *seq, loff_t *position)
	__acquires(RCU)
{
	rcu_read_lock();
	if (*position > UE_STATUS_COUNTS)
		return NULL;
	return ue_status_item(*position < UE_STATUS_COUNTS ?
			      ue_group_first_event(seq->private, *position) : NULL,
			      position);
}

static void *ue_status_next(struct seq_file *seq, void *item, loff_t *position)
{
	if (item == &ue_status_counts) {
		++*position;
		return NULL;
	}
	return ue_status_item(ue_group_next_event(seq->private, item), position);
}

static void ue_status_stop(struct seq_file *seq, void *item)
	__releases(RCU)
{
	rcu_read_unlock();
}

/* The tool's tracing/events.cpp reads these lines. */
static void ue_status_show_event(struct seq_file *seq,
				 const struct ue_event *event)
{
	const unsigned int *nr = event->recorders.nr;
	const bool ftrace = READ_ONCE(nr[UE_RECORDER_FTRACE]) ||
			    READ_ONCE(nr[UE_RECORDER_SCOPED]);
	const bool perf = READ_ONCE(nr[UE_RECORDER_PERF]);
	const char *separator = ftrace || perf ? ";" : " #";
	long lost = atomic_long_read(&event->recorders.lost);
	unsigned long suppressed = ue_recorders_suppressed(&event->recorders);
	const unsigned long muted = READ_ONCE(event->muted);

	seq_puts(seq, ue_event_name(event));
	if (ftrace || perf)
		seq_puts(seq, " # Used by");
	if (ftrace)
		seq_puts(seq, " ftrace");
	if (perf)
		seq_puts(seq, " perf");
	if (lost) {
		seq_printf(seq, "%s lost %ld", separator, lost);
		separator = ";";
	}
	if (suppressed) {
		seq_printf(seq, "%s suppressed %lu", separator, suppressed);
		separator = ";";
	}
	if (muted)
		seq_printf(seq, "%s off %llu ms", separator,
			   jiffies64_to_msecs(muted));
	seq_putc(seq, '\n');
}

static int ue_status_show(struct seq_file *seq, void *item)
{
	const struct ue_group *group = seq->private;

	if (item == &ue_status_counts)
		seq_printf(seq, "\nActive: %u\nBusy: %u\n",
			   READ_ONCE(group->nr_active),
			   READ_ONCE(group->nr_busy));
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

/*
 * Does what seq_open() does, but with a structure of the caller: seq_open() also
 * allocates one, and makes it private_data.
 */
void ue_status_begin(struct seq_file *seq, struct file *file,
		     struct ue_group *group)
{
	mutex_init(&seq->lock);
	seq->op = &ue_status_sequence;
	seq->file = file;
	seq->private = group;
}

void ue_status_end(struct seq_file *seq)
{
	kvfree(seq->buf);
}

static int ue_status_open(struct inode *inode, struct file *file)
{
	int err;

	if (!ue_module_is_ready())
		return -ENODEV;
	err = seq_open(file, &ue_status_sequence);
	if (!err)
		((struct seq_file *)file->private_data)->private = &ue_default_group;
	return err;
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
	return ue_tracefs_file_create("user_events_status", 0440,
				      &ue_status_operations);
}
