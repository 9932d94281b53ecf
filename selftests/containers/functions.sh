#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For the scripts that run in the system of selftests/containers/run. They source this file instead of
# tap.sh, and end with `plan`. The image "tick" is the folder /root/rootfs, which has the sample, the
# program "client" and busybox.

# shellcheck source=selftests/lib/tap.sh
. /tests/tap.sh
T=/sys/kernel/tracing
export HOME=/root
cd || exit

# eventually COMMAND...: repeats it for a minute until it succeeds
eventually()
{
	local end=$((SECONDS + 60))

	until "$@"; do
		[ $SECONDS -lt $end ] || return
		sleep 0.2
	done
}

# says TEXT COMMAND...: the output has this text, whether the command succeeds or not
says()
{
	"${@:2}" 2>&1 | tee "$work/said" || :
	grep -qF -- "$1" "$work/said"
}

# as_ana COMMAND: in a session of this user, as after a login
as_ana()
{
	runuser -l ana -c "$1"
}

# commands SECTION: the lines of containers.rst in this section that begin with a prompt
commands()
{
	awk -v section="$1" '
		/^=+$/ { inside = before == section }
		inside && /^    [#$] /
		{ before = $0 }' /tests/containers.rst
}

# run_command "PROMPT COMMAND": as root or, for "$", as ana
run_command()
{
	echo "$1"
	case $1 in
	'# '*) sh -c "${1#??}" </dev/null ;;
	*) as_ana "${1#??}" </dev/null ;;
	esac
}

# Podman without root copies the routes of the host: pasta, of Debian 13, fails without one. The addresses
# are those of QEMU's network, which leads nowhere.
have_network()
{
	local card

	modprobe virtio_net && udevadm settle || return
	for card in /sys/class/net/e*; do
		busybox ip address add 10.0.2.15/24 dev "${card##*/}" && busybox ip link set "${card##*/}" up &&
			busybox ip route add default via 10.0.2.2 && return
	done
}

# Makes the program and its user, once in the system.
prepare()
{
	[ ! -e rootfs ] || return 0
	insmod /tests/user_events.ko || return
	useradd -m ana
	have_network || return
	mkdir rootfs
	cp /tests/tick /tests/client /bin/busybox rootfs
	cp -r rootfs ~ana
	chown -R ana: ~ana/rootfs
	# Services that start late take the processors.
	systemctl is-system-running --wait || systemctl --failed
}

# Removes all groups, rules and instances.
clean()
{
	: >$T/user_events_rules
	eventually sh -c ": >$T/user_events_groups" 2>/dev/null
	find $T/instances -mindepth 1 -maxdepth 1 -exec rmdir {} + 2>/dev/null
	return 0
}

# is_clean: calls clean(), and looks whether a group, an instance or a rule is left.
is_clean()
{
	clean
	[ "$(ls /dev/user_events)" = default ] && [ -z "$(ls $T/instances)" ] &&
		[ -z "$(cat $T/user_events_rules)" ]
}

# add_groups LINE...
add_groups()
{
	local line

	for line in "$@"; do
		echo "$line" >>$T/user_events_groups || return
	done
	# A rule of udev must not change a node that an engine has just mounted.
	udevadm settle
}
