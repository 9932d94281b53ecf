// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers and unregisters enable bits of the current address space.
 *
 * ue_enabler_mutex and the mmap_lock are held over the write of a bit and the
 * change of the set, so fork copies either both or neither. If a bit cannot be
 * written any more, only the set is changed, without the mmap_lock.
 */
#include <linux/capability.h>
#include <linux/limits.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "events/event.h"
#include "programs/enabler.h"
#include "programs/mm.h"
#include "programs/mm_access.h"
#include "programs/mm_attach.h"
#include "programs/registration.h"
#include "programs/stale.h"
#include "programs/user.h"

/**
 * struct ue_request - a bit that is to be registered or unregistered
 * @access: the bit
 * @event: the event to follow; or the event that was followed, of which the
 *	caller is then a user
 * @id: of the new registration, or of the one to end; 0 until it is known
 * @written: the bit was written, so copying the set must not fail any more
 * @times: how many times the user may reach the limit of registrations
 * @gfp: how to allocate
 * @enabler: the enabler that was found, or that is to be inserted
 * @account: where @event counts if the set has no account in its group yet; or NULL
 */
struct ue_request {
	struct ue_access access;
	struct ue_event *event;
	u64 id;
	bool written;
	unsigned int times;
	gfp_t gfp;
	struct ue_enabler *enabler;
	struct ue_account *account;
};

static struct ue_request *ue_request_of(struct ue_access *access)
{
	return container_of(access, struct ue_request, access);
}

/* For what must not fail. */
#define UE_GFP_MUST	(GFP_KERNEL_ACCOUNT | __GFP_NOFAIL)

/*
 * Called only after a request has failed at the limit, since each check of a capability is audited.
 *
 * Return: true if the request may now exceed the limit.
 */
static bool ue_lift_limit(struct ue_request *request)
{
	if (!perfmon_capable())
		return false;
	request->times = UE_WITHOUT_LIMIT;
	return true;
}

bool ue_registered(unsigned long address, u8 nr)
{
	struct ue_mm *ue_mm = ue_mm_find_current();
	bool registered;

	if (!ue_mm)
		return false;
	spin_lock(&ue_mm->lock);
	registered = ue_enabler_find(ue_mm->set, address, nr);
	spin_unlock(&ue_mm->lock);
	return registered;
}

/* Return: 0, with @request->enabler set; -ENOENT. */
static int ue_find_registration(struct ue_mm *ue_mm, struct ue_request *request)
{
	struct ue_user_bit *bit = &request->access.bit;
	struct ue_enabler *enabler = ue_enabler_find(ue_mm->set, bit->address,
						     bit->nr);

	if (!enabler || (request->id && enabler->id != request->id))
		return -ENOENT;
	/* A retry must not end a later registration of the same bit. */
	request->id = enabler->id;
	*bit = enabler->bit;
	request->enabler = enabler;
	return 0;
}

/*
 * Calls @prepare on a set that is not shared. @prepare looks for the registration, and
 * may write the bit. It is called again if a fork shares the set in the meantime.
 * After a success, @ue_mm->lock keeps forks from taking a reference to the set
 * before the caller has changed it.
 *
 * Return: 0 with @ue_mm->lock held; what @prepare returns; -EMFILE; -ENOMEM.
 */
static __always_inline int
ue_prepare_unshared(struct ue_mm *ue_mm, struct ue_request *request,
		    int (*prepare)(struct ue_mm *ue_mm,
				   struct ue_request *request))
{
	int err = 0;

	for (;;) {
		if (ue_mm_shares_set(ue_mm))
			err = ue_mm_own_set(ue_mm, request->times, request->gfp);
		if (!err)
			err = prepare(ue_mm, request);
		if (err || ue_mm_lock_own_set(ue_mm))
			return err;
		if (request->written) {
			request->gfp = UE_GFP_MUST;
			request->times = UE_WITHOUT_LIMIT;
		}
	}
}

/* Return: 0; -EAGAIN; -EFAULT if a protection key forbids it. */
static int ue_write_current(struct ue_request *request, bool value)
{
	const struct ue_access *access = &request->access;
	int err = ue_user_bit_write_own(&access->bit, value, NULL);

	if (err && !ue_user_bit_is_permitted(&access->bit))
		return -EFAULT;
	if (err && access->page)
		err = ue_user_bit_write_own(&access->bit, value, access->page);
	if (!err)
		request->written = true;
	return err;
}

static int ue_find_and_clear(struct ue_mm *ue_mm, struct ue_request *request)
{
	int err = ue_find_registration(ue_mm, request);

	return err ? err : ue_write_current(request, false);
}

static __always_inline int
ue_erase(struct ue_mm *ue_mm, struct ue_request *request,
	 int (*prepare)(struct ue_mm *ue_mm, struct ue_request *request))
{
	int err = 0;

	/* Do not copy a shared set if there is nothing to erase. */
	if (ue_mm_shares_set(ue_mm))
		err = ue_find_registration(ue_mm, request);
	if (!err)
		err = ue_prepare_unshared(ue_mm, request, prepare);
	if (err)
		return err;
	__acquire(&ue_mm->lock);
	request->event = ue_enabler_erase(request->enabler);
	if (!ue_mm->set->nr)
		module_put(THIS_MODULE);
	spin_unlock(&ue_mm->lock);
	return 0;
}

static int ue_clear_and_erase(struct ue_mm *ue_mm, struct ue_access *access)
{
	return ue_erase(ue_mm, ue_request_of(access), ue_find_and_clear);
}

/* For a bit that cannot be written. */
static int ue_erase_only(struct ue_mm *ue_mm, struct ue_request *request)
{
	int err;

	ue_enabler_lock();
	err = ue_erase(ue_mm, request, ue_find_registration);
	ue_enabler_unlock();
	return err;
}

int ue_unregister(unsigned long address, u8 nr)
{
	struct ue_mm *ue_mm = ue_mm_find_current();
	struct ue_request request = {
		.access.bit = { .address = address, .nr = nr },
		/*
		 * A program may free the word next, so unregistering should work at the limit.
		 * But without any limit, each child could make a copy.
		 */
		.times = UE_WITHIN_TWICE,
		.gfp = GFP_KERNEL_ACCOUNT,
	};
	int err;

	if (!ue_mm)
		return -ENOENT;
	do {
		err = ue_mm_access(ue_mm, &request.access, ue_clear_and_erase);
		if (err == -EFAULT)
			err = ue_erase_only(ue_mm, &request) ?: -EFAULT;
	} while (err == -EMFILE && ue_lift_limit(&request));
	if (request.event)
		ue_event_put(request.event);
	return err;
}

void ue_register_undo(const struct ue_user_bit *bit, u64 id)
{
	struct ue_mm *ue_mm = ue_mm_find_current();
	struct ue_request request = {
		.access.bit = *bit,
		.id = id,
		.times = UE_WITHIN_TWICE,
		.gfp = UE_GFP_MUST,
	};
	int err;

	do {
		err = ue_mm_access(ue_mm, &request.access, ue_clear_and_erase);
		if (err && err != -ENOENT && err != -EMFILE)
			err = ue_erase_only(ue_mm, &request);
	} while (err == -EMFILE && ue_lift_limit(&request));
	if (request.event)
		ue_event_put(request.event);
}

static int ue_attach_current(void)
{
	struct ue_enabler_set *set = ue_enabler_set_create(GFP_KERNEL_ACCOUNT);
	int err;

	if (!set)
		return -ENOMEM;
	err = ue_mm_attach(current->mm, set);
	if (err)
		ue_enabler_set_put(set);
	return err == -EEXIST ? 0 : err;
}

/* The set, or its copy, keeps the account that is found. */
static int ue_create_account(struct ue_mm *ue_mm, struct ue_request *request)
{
	struct ue_users *users = request->event->owner->users;
	bool found;

	spin_lock(&ue_mm->lock);
	found = ue_enabler_set_account(ue_mm->set, users);
	spin_unlock(&ue_mm->lock);
	if (!found)
		request->account = ue_account_create(users, request->gfp);
	return found || request->account ? 0 : -ENOMEM;
}

/* Another thread may have added an account since ue_create_account(). */
static bool ue_may_register(struct ue_mm *ue_mm, struct ue_request *request)
{
	const struct ue_account *account =
		ue_enabler_set_account(ue_mm->set, request->event->owner->users);

	return ue_account_may_grow(account ?: request->account, 1, request->times);
}

static int ue_find_none_and_write(struct ue_mm *ue_mm,
				  struct ue_request *request)
{
	const struct ue_user_bit *bit = &request->access.bit;

	if (ue_enabler_find(ue_mm->set, bit->address, bit->nr))
		return -EADDRINUSE;
	/* 2^32 enablers take 400 GB, which some machines have. */
	if (ue_mm->set->nr == UINT_MAX)
		return -ENOMEM;
	if (!ue_may_register(ue_mm, request))
		return -EMFILE;
	return ue_write_current(request, ue_mm_bit_value(ue_mm, request->event, bit));
}

static int ue_write_and_insert(struct ue_mm *ue_mm, struct ue_access *access)
{
	struct ue_request *request = ue_request_of(access);
	int err = ue_prepare_unshared(ue_mm, request, ue_find_none_and_write);

	if (err)
		return err;
	__acquire(&ue_mm->lock);
	request->id = ++ue_enabler_last_id;
	if (!ue_enabler_set_account(ue_mm->set, request->event->owner->users)) {
		ue_enabler_set_add_account(ue_mm->set, request->account);
		request->account = NULL;
	}
	/*
	 * Succeeds: ue_find_none_and_write() has found no enabler of the same
	 * bit.
	 */
	ue_enabler_insert(ue_mm->set, request->enabler, &request->access.bit,
			  request->event, request->id);
	if (ue_mm->set->nr == 1)
		/* The caller has one of the module's files open. */
		__module_get(THIS_MODULE);
	spin_unlock(&ue_mm->lock);
	return 0;
}

int ue_register(struct ue_event *event, const struct ue_user_bit *bit, u64 *id)
{
	struct ue_mm *ue_mm = ue_mm_find_current();
	struct ue_request request = {
		.access.bit = *bit,
		/*
		 * With a page, memory that no update could write, such as a
		 * device, is EFAULT.
		 */
		.access.with_page = true,
		.event = event,
		.times = UE_WITHIN_LIMIT,
		.gfp = GFP_KERNEL_ACCOUNT,
	};
	int err;

	if (!ue_mm) {
		err = ue_attach_current();
		if (err)
			return err;
		ue_mm = ue_mm_find_current();
	}
	err = ue_create_account(ue_mm, &request);
	if (err)
		return err;
	request.enabler = ue_enabler_create(GFP_KERNEL_ACCOUNT);
	if (!request.enabler) {
		ue_account_free(request.account);
		return -ENOMEM;
	}
	do {
		err = ue_mm_access(ue_mm, &request.access, ue_write_and_insert);
	} while (err == -EMFILE && ue_lift_limit(&request));
	if (err)
		ue_enabler_free(request.enabler);
	ue_account_free(request.account);
	*id = request.id;
	return err;
}

int ue_registrations_init(void)
{
	int err = ue_enablers_init();

	if (err)
		return err;
	err = ue_mm_attach_init();
	if (err)
		ue_enablers_exit();
	return err;
}

void ue_registrations_exit(void)
{
	ue_stale_exit();
	ue_mm_attach_exit();
	ue_enablers_exit();
}
