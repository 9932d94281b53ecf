// SPDX-License-Identifier: GPL-2.0-only
/*
 * Parses the text of a group of events.
 */
#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>

#include "format/group_parse.h"

bool ue_group_name_valid(const char *name)
{
	size_t length = strlen(name);

	if (!length || length > UE_GROUP_NAME_MAX)
		return false;
	for (; *name; name++) {
		if (!isascii(*name) || (!isalnum(*name) && *name != '_'))
			return false;
	}
	return true;
}

static const struct ue_group_option_text {
	const char *prefix;
	unsigned int base;
	unsigned int most;
	const char *reason;
} ue_group_options[] = {
	[UE_GROUP_MAX] = { "max=", 10, UINT_MAX, "not a number after \"max=\"" },
	[UE_GROUP_MAX_PER_USER] = { "max_per_user=", 10, UINT_MAX,
				    "not a number after \"max_per_user=\"" },
	[UE_GROUP_MAX_REGISTRATIONS] = {
		"max_registrations=", 10, UINT_MAX,
		"not a number after \"max_registrations=\"" },
	[UE_GROUP_UID] = { "uid=", 10, UINT_MAX - 1, "not a user ID after \"uid=\"" },
	[UE_GROUP_GID] = { "gid=", 10, UINT_MAX - 1, "not a group ID after \"gid=\"" },
	[UE_GROUP_MODE] = { "mode=", 8, 0777, "not a mode up to 0777 after \"mode=\"" },
};

/* Return: NULL, or why the option is refused. */
static const char *ue_group_parse_option(const char *word,
					 struct ue_group_text *group)
{
	for (int i = 0; i < UE_GROUP_OPTIONS; i++) {
		const struct ue_group_option_text *option = &ue_group_options[i];
		unsigned int *value = &group->values[i];

		if (!strstarts(word, option->prefix))
			continue;
		if (group->given & BIT(i))
			return "an option is given twice";
		if (kstrtouint(word + strlen(option->prefix), option->base, value) ||
		    *value > option->most)
			return option->reason;
		group->given |= BIT(i);
		return NULL;
	}
	return "not an option of groups after the name";
}

const char *ue_group_parse(char *text, struct ue_group_text *group)
{
	const char *reason = NULL;
	char *word;

	*group = (struct ue_group_text){ };
	while (!reason && (word = strsep(&text, " \t\n\v\f\r")) && *word != '#') {
		if (!*word)
			continue;
		if (group->name)
			reason = ue_group_parse_option(word, group);
		else if (ue_group_name_valid(word))
			group->name = word;
		else
			reason = "the name is not of 1 to 32 letters, digits and \"_\"";
	}
	return reason;
}
