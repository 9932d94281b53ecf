/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The module itself: whether programs may use it yet, and its credentials.
 */
#ifndef UE_MODULE_STATE_H
#define UE_MODULE_STATE_H

#include <linux/compiler.h>
#include <linux/types.h>

struct cred;

/* For ue_module_is_ready(). */
extern bool ue_module_ready;

/**
 * ue_module_is_ready() - check whether programs may use the module
 *
 * Context: any.
 * Return: true once the module's init function can't fail any more.
 */
static inline bool ue_module_is_ready(void)
{
	/* Pairs with ue_module_set_ready(). */
	return smp_load_acquire(&ue_module_ready);
}

/**
 * ue_module_set_ready() - allow programs to open the module's files
 *
 * Context: at the end of module init, which must not fail afterwards.
 */
void ue_module_set_ready(void);

/**
 * ue_kernel_cred() - get the credentials with which tracefs is changed
 *
 * The calling program may have no access to tracefs, only to a file that another
 * program has opened.
 *
 * Context: between ue_kernel_cred_init() and ue_kernel_cred_exit().
 * Return: the credentials of the kernel, for override_creds().
 */
const struct cred *ue_kernel_cred(void);

/**
 * ue_kernel_cred_init() - prepare the credentials
 *
 * Context: module init; may sleep.
 * Return: 0 or -ENOMEM.
 */
int ue_kernel_cred_init(void);

/**
 * ue_kernel_cred_exit() - free the credentials
 *
 * Context: module init or exit.
 */
void ue_kernel_cred_exit(void);

#endif /* UE_MODULE_STATE_H */
