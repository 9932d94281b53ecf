# SPDX-License-Identifier: GPL-2.0-or-later
#
# Builds a program and its library, which has all files of this folder and the folders in it but
# main.cpp: tests and other programs link that. The Makefile that includes this sets
#
#	program		the name
#	libraries	of pkg-config
#	others		libraries of this kind that it needs
#
# and may append to `objects`, which go into the library.

BUILD ?= ../../build/tools
# Whoever calls this: the files with dependencies name the same files then.
override BUILD := $(abspath $(BUILD))
# -g1: the names and lines that a stack trace shows. -g takes half as much time again.
CXXFLAGS ?= -O2 -g1

tool := $(dir $(lastword $(MAKEFILE_LIST)))
version := $(shell sed -n 's/^MODULE_VERSION("\(.*\)");$$/\1/p' $(tool)../../kernel/main.c)

folder := $(BUILD)/$(program).o
library := $(BUILD)/lib$(program).a
common := -std=c++20 $(shell pkg-config --cflags $(libraries))
# What protoc makes has warnings. Its folder has a relative name, which ccache would give it: debugging information
# has that name.
flags := $(common) -D_FILE_OFFSET_BITS=64 -DVERSION='"$(version)"' -Wall -Wextra -Wpedantic -Wconversion -Werror -MMD -MP -pthread \
	-I. -I$(tool) -I$(tool)../../include -isystem $(shell realpath -m --relative-to=. $(folder))
prelude := $(folder)/prelude.hpp
objects := $(patsubst %.cpp,$(folder)/%.o,$(filter-out main.cpp,$(wildcard *.cpp */*.cpp)))
# Of the libraries, most commands need few.
link := -pthread -Wl,--as-needed

all: $(BUILD)/$(program)

$(BUILD)/$(program): $(folder)/main.o $(library) $(others)
	@$(CXX) $(CXXFLAGS) $(LDFLAGS) $(link) -o $@ $^ $(shell pkg-config --libs $(libraries))

# Compiled once, it saves a third of the time of each file.
$(prelude).gch: $(tool)prelude.hpp Makefile $(tool)program.mk
	@mkdir -p $(@D)
	@$(CXX) $(filter-out -MMD -MP,$(flags)) $(CPPFLAGS) $(CXXFLAGS) -x c++-header -c -o $@ $<

# ccache may have the dependencies from a compilation whose object had a relative name.
$(folder)/%.o: %.cpp $(prelude).gch Makefile $(tool)program.mk
	@mkdir -p $(@D)
	@echo "  CXX  tools/$(program)/$<"
	@$(CXX) $(flags) -include $(prelude) $(CPPFLAGS) $(CXXFLAGS) -c -o $@ $<
	@sed -i '1s|^[^:]*:|$@:|' $(@:.o=.d)

.SECONDEXPANSION:
$(library): $$(objects)
	@rm -f $@
	@$(AR) rcs $@ $^

.PHONY: all library
library: $(library)
	@:
-include $(folder)/main.d $(objects:.o=.d)
