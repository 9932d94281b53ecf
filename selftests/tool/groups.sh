# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh disable=SC2016 # variables are for the shell of the container
#
# For tests of groups of events. `add_groups t_web t_mail` adds two, and for each an instance of the same
# name that records its events and belongs to the group of the user "guest".

export T

add_groups()
{
	for group; do
		echo "$group" >>"$T/user_events_groups"
		chgrp 65534 "$T/instances"
		mkdir "$T/instances/$group"
		chgrp 0 "$T/instances"
		chgrp 65534 "$T/instances/$group"
		chgrp -R 65534 "$T/instances/$group/per_cpu" "$T/instances/$group/trace_clock"
		echo mono >"$T/instances/$group/trace_clock"
		echo "user_events_$group:* instance=$group" >>"$T/user_events_rules"
	done
}

remove_groups()
{
	for group; do
		echo "!user_events_$group:* instance=$group" >>"$T/user_events_rules"
		rmdir "$T/instances/$group"
		wait_for "echo '!$group' >>$T/user_events_groups"
	done
}

# in_group GROUP COMMAND...: in a container that has the group's device, under both names that programs know.
in_group()
{
	GROUP=$1 unshare -m sh -c 'mount --bind /dev/user_events/"$GROUP" "$T/user_events_data"
		mount --bind /dev/user_events/"$GROUP" /dev/user_events/default
		shift; exec "$@"' sh "$@"
}

# write_in GROUP EVENT [FIELD=VALUE]...: `user-events write` there.
write_in()
{
	in=$1
	shift
	in_group "$in" user-events write "$@"
}

# contained GROUP COMMAND: what a container does that has the group's instance in /tmp/c, read-only, and
# neither tracefs nor capabilities.
contained()
{
	mkdir -p /tmp/c
	GROUP=$1 COMMAND=$2 unshare -m sh -c '
		mount --bind /sys/kernel/tracing/instances/"$GROUP" /tmp/c
		mount -o remount,bind,ro /tmp/c
		'"$without_tracefs"
}

# The same with only those files and directories of the instance that are named.
contained_pieces()
{
	mkdir -p /tmp/c
	GROUP=$1 COMMAND=$2 unshare -m sh -c '
		shift 2
		mount -t tmpfs t /tmp/c
		for piece; do
			from=/sys/kernel/tracing/instances/"$GROUP"/$piece
			mkdir -p "/tmp/c/$(dirname "$piece")"
			if [ -d "$from" ]; then mkdir "/tmp/c/$piece"; else : >"/tmp/c/$piece"; fi
			mount --bind "$from" "/tmp/c/$piece"
			mount -o remount,bind,ro "/tmp/c/$piece"
		done
		'"$without_tracefs" sh "$@"
}

without_tracefs='
	umount -l /sys/kernel/debug /sys/kernel/tracing
	exec su guest -c "$COMMAND"'
