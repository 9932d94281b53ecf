#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# For scripts that take a file out of a guest. They source this file.

# guest_file PATH COMMAND [OPTION]...: runs a shell command in a guest with 6.12 and the tool, with these
# options of tools/vm/run, and prints the file that the command has made there.
guest_file()
{
	tools/vm/run --show --timeout 300 --add build/tools/user-events "${@:3}" \
		--command "$2
		echo BEGIN; gzip -c $1 | base64; echo END" 6.12 |
		sed -n '/^BEGIN/,/^END/{//!p}' | base64 -di | gunzip
}
