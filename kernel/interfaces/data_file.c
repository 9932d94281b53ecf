// SPDX-License-Identifier: GPL-2.0-only
/*
 * The file user_events_data, and the devices of groups, which do the same: checks the
 * arguments of a program, in the order that the ABI defines, and calls the functions that
 * do the work.
 */
#include <linux/compat.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <uapi/linux/user_events.h>
#include <uapi/linux/user_events_ext.h>

#include "events/event.h"
#include "events/index_table.h"
#include "events/record.h"
#include "format/format.h"
#include "format/payload.h"
#include "format/scratch.h"
#include "format/user_struct.h"
#include "interfaces/data_file.h"
#include "interfaces/status_file.h"
#include "interfaces/tracefs_file.h"
#include "port/compat.h"
#include "port/module_state.h"
#include "programs/registration.h"
#include "registry/groups.h"
#include "registry/registry.h"

/* Payloads up to this many bytes are copied to the stack. */
#define UE_PAYLOAD_ON_STACK	1024

/**
 * struct ue_device_file - an open device
 * @indexes: the write indexes. The first member, because the private_data of an
 *	open user_events_data is just an index table.
 * @status: what read() returns
 * @group: the group to which the open file belongs, and of which it is a user
 */
struct ue_device_file {
	struct ue_index_table indexes;
	struct seq_file status;
	struct ue_group *group;
};

/* Return: the group to which an open file belongs for good. */
static struct ue_group *ue_group_of_file(const struct file *file);

/* @size: of the structure that begins with the index table. */
static int ue_open_file(struct inode *inode, struct file *file, size_t size)
{
	fmode_t positioned = file->f_mode & FMODE_PWRITE;

	if (!ue_module_is_ready())
		return -ENODEV;
	file->private_data = ue_index_table_create(size);
	if (!file->private_data)
		return -ENOMEM;

	/* Without a file position, threads can write in parallel. */
	stream_open(inode, file);
	/* pwrite() keeps working, and does the same as write(). */
	file->f_mode |= positioned;
	return 0;
}

static int ue_data_open(struct inode *inode, struct file *file)
{
	return ue_open_file(inode, file, sizeof(struct ue_index_table));
}

static int ue_data_release(struct inode *inode, struct file *file)
{
	ue_index_table_put(file->private_data);
	return 0;
}

static int ue_device_open(struct inode *inode, struct file *file)
{
	struct ue_device_file *device;
	struct ue_group *group;
	int err;

	/* While loading fails, groups are freed. */
	if (!ue_module_is_ready())
		return -ENODEV;
	group = ue_group_get(iminor(inode));
	/* A container may have the node of a group that was removed. */
	if (!group)
		return -ENODEV;
	err = ue_open_file(inode, file, sizeof(*device));
	if (err) {
		ue_group_put(group);
		return err;
	}
	device = file->private_data;
	device->group = group;
	ue_status_begin(&device->status, file, device->group);
	return 0;
}

static int ue_device_release(struct inode *inode, struct file *file)
{
	struct ue_device_file *device = file->private_data;
	struct ue_group *group = device->group;

	ue_status_end(&device->status);
	/* The table may be the source of another open file, of the same group. */
	ue_data_release(inode, file);
	ue_group_put(group);
	return 0;
}

static int ue_check_reg(const struct user_reg *reg)
{
	if (reg->flags & ~(USER_EVENT_REG_MAX - 1))
		return -EINVAL;
	if (reg->enable_size != sizeof(u32) &&
	    (reg->enable_size != sizeof(u64) || !IS_ENABLED(CONFIG_64BIT)))
		return -EINVAL;
	if (reg->enable_addr & (reg->enable_size - 1))
		return -EINVAL;
	if (reg->enable_bit >= reg->enable_size * BITS_PER_BYTE)
		return -EINVAL;
	if (!access_ok(u64_to_user_ptr(reg->enable_addr), reg->enable_size))
		return -EFAULT;
	return 0;
}

static int ue_get_event(struct ue_group *group, const struct user_reg *reg,
			struct ue_event **event)
{
	char command[UE_COMMAND_MAX + 1] __uninitialized;
	long length = strncpy_from_user(command,
					u64_to_user_ptr(reg->name_args),
					sizeof(command));

	if (length < 0)
		return length;
	if (length == sizeof(command) || ue_command_has_flags(command))
		return -EINVAL;
	if ((reg->flags & USER_EVENT_REG_PERSIST) && !perfmon_capable())
		return -EPERM;
	return ue_registry_register(group, command, reg->flags, event);
}

/*
 * Writes the index to the program's memory before assigning it, so that the
 * index need not be taken back if the write fails.
 */
static int ue_give_index(struct ue_index_table *indexes, struct ue_event *event,
			 u32 __user *write_index)
{
	u32 index;
	int err;

	do {
		index = ue_index_peek(indexes, event);
		if (put_user(index, write_index))
			return -EFAULT;
		err = ue_index_assign(indexes, event, index);
	} while (err == -EAGAIN);
	return err;
}

static int ue_register_event(struct ue_index_table *indexes,
			     struct ue_event *event, const struct user_reg *reg,
			     u32 __user *write_index)
{
	const struct ue_user_bit bit = {
		.address = reg->enable_addr,
		.nr = reg->enable_bit,
		.size = reg->enable_size,
	};
	u64 id;
	int err;

	err = ue_register(event, &bit, &id);
	if (err)
		return err;
	err = ue_give_index(indexes, event, write_index);
	if (err)
		ue_register_undo(&bit, id);
	return err;
}

static long ue_ioctl_register(struct file *file, void __user *argument)
{
	struct user_reg __user *ureg = argument;
	struct ue_event *event;
	struct user_reg reg;
	int err;

	err = ue_copy_struct(&reg, sizeof(reg), ureg);
	if (!err)
		err = ue_check_reg(&reg);
	if (err)
		return err;
	if (ue_registered(reg.enable_addr, reg.enable_bit))
		return -EADDRINUSE;

	err = ue_get_event(ue_group_of_file(file), &reg, &event);
	if (err)
		return err;
	err = ue_register_event(file->private_data, event, &reg, argument +
				offsetof(struct user_reg, write_index));
	ue_event_put(event);
	return err;
}

static long ue_ioctl_delete(struct file *file, void __user *argument)
{
	char *name = strndup_user(argument, UE_COMMAND_MAX + 1);
	int err;

	if (IS_ERR(name))
		return PTR_ERR(name);
	err = ue_registry_delete(ue_group_of_file(file), name);
	kfree(name);
	return err;
}

static long ue_ioctl_unregister(struct file *file, void __user *argument)
{
	struct user_unreg unreg;
	int err;

	err = ue_copy_struct(&unreg, sizeof(unreg), argument);
	if (err)
		return err;
	if (unreg.__reserved || unreg.__reserved2)
		return -EINVAL;
	return ue_unregister(unreg.disable_addr, unreg.disable_bit);
}

static bool ue_is_data_file(const struct file *file);

static int ue_share_indexes(struct file *file, struct file *from)
{
	if (from == file || !ue_is_data_file(from))
		return -EINVAL;
	if (ue_group_of_file(file) != ue_group_of_file(from))
		return -EXDEV;
	/*
	 * A process that gets a file for reading only must not write the file's
	 * events through a file of its own, also not events that are registered
	 * later.
	 */
	if ((file->f_mode ^ from->f_mode) & FMODE_WRITE)
		return -EBADF;
	return ue_index_table_share(file->private_data, from->private_data);
}

/* The argument is the descriptor. */
static long ue_ioctl_share(struct file *file, void __user *argument)
{
	struct file *from = fget((unsigned long)argument);
	int err;

	if (!from)
		return -EBADF;
	err = ue_share_indexes(file, from);
	fput(from);
	return err;
}

/* In a 32-bit program, the number of an ioctl whose number contains the size of a pointer. */
#define UE_POINTER_32(number) \
	_IOC(_IOC_DIR(number), _IOC_TYPE(number), _IOC_NR(number), sizeof(u32))

/**
 * struct ue_ioctl - an ioctl of user_events_data and of the devices
 * @number: its number
 * @number_32: its number in a 32-bit program on a 64-bit kernel
 * @handle: the function. The argument need not be a pointer. Structures are the
 *	same in 32-bit programs.
 */
struct ue_ioctl {
	unsigned int number;
	unsigned int number_32;
	long (*handle)(struct file *file, void __user *argument);
};

/* Also in selftests/lib/ioctl_numbers.hpp. */
static const struct ue_ioctl ue_ioctls[] = {
	{ DIAG_IOCSREG, UE_POINTER_32(DIAG_IOCSREG), ue_ioctl_register },
	{ DIAG_IOCSDEL, UE_POINTER_32(DIAG_IOCSDEL), ue_ioctl_delete },
	{ DIAG_IOCSUNREG, UE_POINTER_32(DIAG_IOCSUNREG), ue_ioctl_unregister },
	{ USER_EVENTS_SHARE_INDEXES, USER_EVENTS_SHARE_INDEXES, ue_ioctl_share },
};

static __always_inline long ue_do_ioctl(struct file *file, unsigned int number,
					bool in_32_bits,
					void __user *argument)
{
	for (int i = 0; i < ARRAY_SIZE(ue_ioctls); i++) {
		const struct ue_ioctl *ioctl = &ue_ioctls[i];

		if ((in_32_bits ? ioctl->number_32 : ioctl->number) == number)
			return ioctl->handle(file, argument);
	}
	return -ENOTTY;
}

static long ue_data_ioctl(struct file *file, unsigned int number,
			  unsigned long argument)
{
	return ue_do_ioctl(file, number, false, (void __user *)argument);
}

#ifdef CONFIG_COMPAT
static long ue_data_compat_ioctl(struct file *file, unsigned int number,
				 unsigned long argument)
{
	return ue_do_ioctl(file, number, true, compat_ptr(argument));
}
#endif

/*
 * Copies a payload from @parts of the program's memory, or if @parts is NULL,
 * from the iov_iter @from. The parts may have more than @size bytes, if the
 * kernel has truncated the iov_iter.
 */
static __always_inline int ue_fetch_payload(void *to,
					    const struct iovec *parts,
					    struct iov_iter *from, size_t size)
{
	if (unlikely(!parts))
		return copy_from_iter_full(to, size, from) ? 0 : -EFAULT;

	for (; size; parts++) {
		size_t length = min_t(size_t, parts->iov_len, size);

		if (copy_from_user(to, parts->iov_base, length))
			return -EFAULT;
		to += length;
		size -= length;
	}
	return 0;
}

/* The memory, in bytes, for recording a payload and zeros after it. */
#define UE_WRITE_BUFFER_SIZE(size) \
	UE_RECORD_BUFFER_SIZE((size) + UE_PAYLOAD_ZEROS_MAX)

/*
 * Copies the payload once and records the copy, so that the program can't
 * change it after the check. @record has UE_WRITE_BUFFER_SIZE(@size) bytes.
 */
static __always_inline int ue_record_from(struct ue_event *event, void *record,
					  const struct iovec *parts,
					  struct iov_iter *from, size_t size)
{
	void *payload = record + UE_RECORD_HEADER;
	int err = ue_fetch_payload(payload, parts, from, size);
	int zeros;

	if (unlikely(err))
		return err;
	zeros = ue_payload_check(event->format, payload, size);
	if (unlikely(zeros)) {
		if (zeros < 0)
			return zeros;
		static_assert(UE_PAYLOAD_ZEROS_MAX <= sizeof(u64));
		/* The buffer has space for them all; one store beats a call. */
		put_unaligned(0, (u64 *)(payload + size));
		size += zeros;
	}
	return ue_record(event, record, size);
}

static noinline int ue_record_large(struct ue_event *event,
				    const struct iovec *parts,
				    struct iov_iter *from, size_t size)
{
	void *record;
	int err = ue_record_check_size(event, size);

	if (err)
		return err;
	record = ue_scratch_get(UE_WRITE_BUFFER_SIZE(size));
	if (!record)
		return -ENOMEM;
	err = ue_record_from(event, record, parts, from, size);
	ue_scratch_put(record, UE_WRITE_BUFFER_SIZE(size));
	return err;
}

static __always_inline int ue_record_small(struct ue_event *event,
					   const struct iovec *parts,
					   struct iov_iter *from, size_t size)
{
	u64 record[DIV_ROUND_UP(UE_WRITE_BUFFER_SIZE(UE_PAYLOAD_ON_STACK),
				sizeof(u64))] __uninitialized;

	return ue_record_from(event, record, parts, from, size);
}

static __always_inline ssize_t ue_data_record(struct file *file, s32 index,
					      const struct iovec *parts,
					      struct iov_iter *from,
					      size_t size)
{
	struct ue_event *event;
	int err;

	if (index < 0)
		return -EINVAL;
	if (!ue_index_event(file->private_data, index, &event))
		return -ENOENT;
	if (size < event->format->size)
		return -EINVAL;
	if (!ue_event_enabled(event))
		return -EBADF;

	if (likely(size <= UE_PAYLOAD_ON_STACK))
		err = ue_record_small(event, parts, from, size);
	else
		err = ue_record_large(event, parts, from, size);
	return err ? err : sizeof(index) + size;
}

static ssize_t ue_data_write_iter(struct kiocb *kiocb, struct iov_iter *from)
{
	const struct iovec *parts = ue_iter_iovec(from);
	size_t count = iov_iter_count(from);
	s32 index;

	/* The usual case: the first part is the index alone. */
	if (likely(parts && parts->iov_len == sizeof(index) &&
		   count >= sizeof(index))) {
		if (get_user(index, (s32 __user *)parts->iov_base))
			return -EFAULT;
		parts++;
	} else {
		if (!copy_from_iter_full(&index, sizeof(index), from))
			return -EFAULT;
		parts = NULL;
	}
	return ue_data_record(kiocb->ki_filp, index, parts, from,
			      count - sizeof(index));
}

/* write() calls this with less overhead than ue_data_write_iter(). */
static ssize_t ue_data_write(struct file *file, const char __user *buffer,
			     size_t count, loff_t *position)
{
	struct iovec payload;
	s32 index;

	if (count < sizeof(index) || get_user(index, (s32 __user *)buffer))
		return -EFAULT;
	payload.iov_base = (char __user *)buffer + sizeof(index);
	payload.iov_len = count - sizeof(index);
	return ue_data_record(file, index, &payload, NULL, payload.iov_len);
}

/*
 * The open file has no position, because threads write to it in parallel. So
 * the text continues where the last read() has ended. After the end of the
 * text, read() begins with a new text. seq_read_iter() expects the seq_file in
 * private_data, where the open file has the index table. So seq_read_iter()
 * gets another struct file.
 */
static ssize_t ue_device_read_iter(struct kiocb *kiocb, struct iov_iter *to)
{
	struct ue_device_file *device = kiocb->ki_filp->private_data;
	struct file reader = { .private_data = &device->status };
	struct kiocb at = {
		.ki_filp = &reader,
		.ki_pos = READ_ONCE(device->status.read_pos),
	};
	ssize_t size = seq_read_iter(&at, to);

	if (!size && iov_iter_count(to))
		WRITE_ONCE(device->status.read_pos, 0);
	return size;
}

/*
 * Shows the events that the file may write, in /proc/PID/fdinfo. Only tasks
 * that may trace the program can read them. Names have no white space. The
 * caller keeps the file open, so that the table, and the events in it, stay.
 * The tool's tracing/programs.cpp reads the lines.
 */
static void ue_data_show_fdinfo(struct seq_file *seq, struct file *file)
{
	struct ue_event *event;

	for (u32 index = 0; !seq_has_overflowed(seq) &&
	     ue_index_event(file->private_data, index, &event); index++)
		seq_printf(seq, "user_event-%u:\t%s/%s%s\n", index,
			   event->class.system, ue_event_name(event),
			   ue_event_enabled(event) ? " enabled" : "");
}

static const struct file_operations ue_data_operations = {
	.owner		= THIS_MODULE,
	.open		= ue_data_open,
	.release	= ue_data_release,
	.unlocked_ioctl	= ue_data_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl	= ue_data_compat_ioctl,
#endif
	.write		= ue_data_write,
	.write_iter	= ue_data_write_iter,
	.show_fdinfo	= ue_data_show_fdinfo,
};

const struct file_operations ue_device_operations = {
	.owner		= THIS_MODULE,
	.open		= ue_device_open,
	.release	= ue_device_release,
	.unlocked_ioctl	= ue_data_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl	= ue_data_compat_ioctl,
#endif
	.read_iter	= ue_device_read_iter,
	.write		= ue_data_write,
	.write_iter	= ue_data_write_iter,
	.show_fdinfo	= ue_data_show_fdinfo,
};

static struct ue_group *ue_group_of_file(const struct file *file)
{
	const struct ue_device_file *device = file->private_data;

	return file->f_op == &ue_device_operations ? device->group :
						     &ue_default_group;
}

static bool ue_is_data_file(const struct file *file)
{
	return file->f_op == &ue_data_operations ||
	       file->f_op == &ue_device_operations;
}

int ue_data_file_init(void)
{
	return ue_tracefs_file_create("user_events_data", 0640, &ue_data_operations);
}

void ue_data_file_exit(void)
{
	ue_scratch_exit();
}
