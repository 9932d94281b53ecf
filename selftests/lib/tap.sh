#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For scripts that print TAP. They source this file, and end with `plan`. $work is a directory that
# is removed when the script ends.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
number=0

# check WHAT COMMAND...: a test, which succeeds if the command does. Its output is shown if not.
check()
{
	number=$((number + 1))
	if "${@:2}" >"$work/output" 2>&1; then
		echo "ok $number - $1"
	else
		echo "not ok $number - $1"
		sed 's/^/# /' "$work/output"
	fi
}

plan()
{
	echo "1..$number"
}
