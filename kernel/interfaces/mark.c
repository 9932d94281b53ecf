// SPDX-License-Identifier: GPL-2.0-only
/*
 * Marks: what any process writes to /dev/user_mark is recorded.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/fs.h>
#include <linux/limits.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/uio.h>
#include <uapi/linux/user_events.h>
#include <uapi/linux/user_mark.h>

#include "events/event.h"
#include "events/record.h"
#include "format/format.h"
#include "format/scratch.h"
#include "format/user_struct.h"
#include "interfaces/mark.h"
#include "port/module_state.h"
#include "registry/own_event.h"

static unsigned short ue_mark_mode = 0666;
module_param_named(mark_mode, ue_mark_mode, ushort, 0444);
MODULE_PARM_DESC(mark_mode, "permissions of /dev/user_mark (0666)");

static struct ue_event *ue_mark_event(u32 type)
{
	return ue_own_event(type == USER_MARK_TEXT ? UE_OWN_MARK_TEXT : UE_OWN_MARK_DATA);
}

/*
 * Makes the data of a mark a payload: adds its fields before the data, and ends
 * a text with a NUL. @payload has space for @size bytes of data, and a NUL.
 * Return: the size of the payload; -EFAULT.
 */
static ssize_t ue_mark_payload(u32 *payload, u32 type, struct iov_iter *from,
			       size_t size)
{
	const bool is_text = type == USER_MARK_TEXT;
	u32 *location = is_text ? payload : payload + 1;
	char *data = (char *)(location + 1);

	if (!copy_from_iter_full(data, size, from))
		return -EFAULT;
	if (is_text) {
		if (size && (data[size - 1] == '\n' || !data[size - 1]))
			size--;
		data[size++] = '\0';
	} else {
		*payload = type;
	}
	*location = DYN_LOC(0, size);
	return data + size - (char *)payload;
}

static int ue_mark_record_with(struct ue_event *event, void *record, u32 type,
			       struct iov_iter *from, size_t size)
{
	ssize_t whole = ue_mark_payload(record + UE_RECORD_HEADER, type, from,
					size);

	if (whole < 0)
		return whole;
	return ue_record(event, record, whole);
}

/*
 * Records a mark. The caller has tested that the event is enabled, but that may
 * have changed since.
 * Return: as ue_record().
 */
static noinline int ue_mark_record(struct ue_event *event, u32 type,
				   struct iov_iter *from)
{
	const size_t size = iov_iter_count(from);
	const size_t least = event->format->size + size;
	const size_t buffer = UE_RECORD_BUFFER_SIZE(least + 1);
	void *record;
	int err;

	/*
	 * A process that observes itself is a recorder of the event, but must not
	 * make the marks of others fail.
	 */
	if (!ue_recorders_have_all(&event->recorders) &&
	    ue_record_ignored(event))
		return 0;
	if (size > USER_MARK_MAX)
		return -E2BIG;
	err = ue_record_check_size(event, least);
	if (err)
		return err;
	record = ue_scratch_get(buffer);
	if (!record)
		return -ENOMEM;
	err = ue_mark_record_with(event, record, type, from, size);
	ue_scratch_put(record, buffer);
	return err;
}

/* Succeeds also if the last recorder was removed after the caller's test. */
static int ue_mark(u32 type, struct iov_iter *from)
{
	struct ue_event *event = ue_mark_event(type);
	int err = ue_mark_record(event, type, from);

	return err == -EBADF ? 0 : err;
}

static ssize_t ue_mark_write_iter(struct kiocb *kiocb, struct iov_iter *from)
{
	const size_t size = iov_iter_count(from);
	int err = 0;

	if (size && ue_event_enabled(ue_mark_event(USER_MARK_TEXT)))
		err = ue_mark(USER_MARK_TEXT, from);
	return err ?: size;
}

/* write() calls this with less overhead than ue_mark_write_iter(). */
static ssize_t ue_mark_write(struct file *file, const char __user *buffer,
			     size_t size, loff_t *position)
{
	struct iov_iter from;
	int err;

	if (likely(!ue_event_enabled(ue_mark_event(USER_MARK_TEXT))) || !size)
		return size;
	iov_iter_ubuf(&from, ITER_SOURCE, (void __user *)buffer, size);
	err = ue_mark(USER_MARK_TEXT, &from);
	return err ?: size;
}

static long ue_mark_ioctl_mark(struct file *file, void __user *argument)
{
	struct user_mark mark;
	struct iov_iter from;
	int err;

	if (!(file->f_mode & FMODE_WRITE))
		return -EBADF;
	err = ue_copy_struct(&mark, sizeof(mark), argument);
	if (err)
		return err;
	if (mark.flags)
		return -EINVAL;
	if (likely(!ue_event_enabled(ue_mark_event(mark.type))))
		return 0;
	iov_iter_ubuf(&from, ITER_SOURCE, u64_to_user_ptr(mark.data),
		      mark.data_size);
	return ue_mark(mark.type, &from);
}

static long ue_mark_ioctl(struct file *file, unsigned int number,
			  unsigned long argument)
{
	switch (number) {
	case USER_MARK:
		return ue_mark_ioctl_mark(file, (void __user *)argument);
	case USER_MARK_ID:
		return ue_mark_event(argument)->call.event.type;
	default:
		return -ENOTTY;
	}
}

static int ue_mark_open(struct inode *inode, struct file *file)
{
	if (!ue_module_is_ready())
		return -ENODEV;
	/* Without a file position, threads can write in parallel. */
	return stream_open(inode, file);
}

static const struct file_operations ue_mark_operations = {
	.owner		= THIS_MODULE,
	.open		= ue_mark_open,
	.unlocked_ioctl	= ue_mark_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.write		= ue_mark_write,
	.write_iter	= ue_mark_write_iter,
};

static struct miscdevice ue_mark_device = {
	.minor	= MISC_DYNAMIC_MINOR,
	.name	= "user_mark",
	.fops	= &ue_mark_operations,
};

int ue_marks_init(void)
{
	if (ue_mark_mode & ~0777) {
		pr_err("mark_mode=0%o has other bits than permissions, which are 0 to 0777\n",
		       ue_mark_mode);
		return -EINVAL;
	}
	ue_mark_device.mode = ue_mark_mode;
	return misc_register(&ue_mark_device);
}

void ue_marks_exit(void)
{
	misc_deregister(&ue_mark_device);
}
