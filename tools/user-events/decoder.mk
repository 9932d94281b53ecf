# SPDX-License-Identifier: GPL-2.0-or-later
#
# The files of the tool that decode payloads which describe themselves, with what they need: for
# what compiles them with flags of its own instead of linking the tool's library. `tool` is this
# folder.

decoder := $(wildcard $(tool)/eventheader/*.cpp $(tool)/eventpipe/*.cpp) \
	$(patsubst %,$(tool)/text/%.cpp,errors escape json nearest output write_all)
