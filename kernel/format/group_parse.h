/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The text of a group of events:
 *
 *	NAME[ OPTION]...[ # comment]
 *
 * The options, in any order and each at most once, are those of enum ue_group_option.
 */
#ifndef UE_GROUP_PARSE_H
#define UE_GROUP_PARSE_H

#include <linux/bits.h>
#include <linux/types.h>

/* The name of the group that is always there. */
#define UE_DEFAULT_GROUP	"default"

/* The longest name, without its NUL. */
#define UE_GROUP_NAME_MAX	32

/**
 * enum ue_group_option - the options, in the order in which the module prints them
 * @UE_GROUP_MAX: max=N, how many events the group may have
 * @UE_GROUP_MAX_PER_USER: max_per_user=N, how many of them a user may have
 * @UE_GROUP_MAX_REGISTRATIONS: max_registrations=N, how many registrations a user
 *	may have
 * @UE_GROUP_UID: uid=N, the owner of the device
 * @UE_GROUP_GID: gid=N, the device's group of users
 * @UE_GROUP_MODE: mode=N, in octal, the permissions of the device
 * @UE_GROUP_OPTIONS: how many
 */
enum ue_group_option {
	UE_GROUP_MAX,
	UE_GROUP_MAX_PER_USER,
	UE_GROUP_MAX_REGISTRATIONS,
	UE_GROUP_UID,
	UE_GROUP_GID,
	UE_GROUP_MODE,
	UE_GROUP_OPTIONS
};

/**
 * struct ue_group_text - a parsed group
 * @name: its name; NULL if the text has no group
 * @given: the options that the text has, as bits
 * @values: the values of these
 */
struct ue_group_text {
	const char *name;
	unsigned long given;
	unsigned int values[UE_GROUP_OPTIONS];
};

/**
 * ue_group_name_valid() - check the name of a group
 * @name: the name
 *
 * Event probes and histograms accept letters, digits and "_" in the name of a system.
 *
 * Context: any.
 * Return: true if a group may have the name.
 */
bool ue_group_name_valid(const char *name);

/**
 * ue_group_parse() - parse a group
 * @text: one line; changed, and the name in @group points into it
 * @group: set to the group
 *
 * An empty line or a comment is no error, but has no group.
 *
 * Context: any.
 * Return: NULL, or why the text is malformed.
 */
const char *ue_group_parse(char *text, struct ue_group_text *group);

/**
 * ue_group_given() - get an option
 * @group: the group
 * @option: the option
 * @otherwise: what to return if the text lacks it
 *
 * Context: any.
 * Return: the value of the option.
 */
static inline unsigned int ue_group_given(const struct ue_group_text *group,
					  enum ue_group_option option,
					  unsigned int otherwise)
{
	return group->given & BIT(option) ? group->values[option] : otherwise;
}

#endif /* UE_GROUP_PARSE_H */
