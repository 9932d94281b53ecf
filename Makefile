# SPDX-License-Identifier: GPL-2.0-only
#
# The targets for users and developers; "make help" lists them. Kbuild has the files
# of the module.

KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build

# Tests run on all of these Debian kernels, single commands on the last one.
KERNELS := $(shell awk '!/^#/ && $$2 == "archive" { print $$1 }' tools/vm/kernels)
KERNEL ?= $(lastword $(KERNELS))

SEED ?=
STRESS_SECONDS ?= 60
HOURS ?= 8
FUZZ_SECONDS ?= 60
INPUTS ?= 100

PREFIX ?= /usr/local
DESTDIR ?=
includedir := $(PREFIX)/include
datadir := $(PREFIX)/share
# Of the library.
version := 1.0.0

packages := tools/vm/packages

# Targets run one after the other, because some run apt. Compilers run in parallel.
.NOTPARALLEL:
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
MAKEFLAGS += --no-print-directory

ifneq ($(shell command -v ccache),)
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export CXX := $(if $(filter ccache,$(CXX)),,ccache )$(CXX)
endif

.PHONY: modules
modules: ## build user_events.ko for the running kernel, KVER=release or KDIR=headers
	@[ -e "$(KDIR)/Makefile" ] || { echo "No kernel headers in $(KDIR): install" \
		"linux-headers-$(KVER), or set KVER or KDIR" >&2; exit 1; }
	$(MAKE) -C "$(KDIR)" M="$(CURDIR)" modules

.PHONY: demo
demo: ## record a program's events on one of Debian's kernels (under 3 minutes)
	+@samples/demo/run $(firstword $(KERNELS))

.PHONY: test
test: ## run the tests on Debian's kernels (about 5 minutes, 8 the first time)
	+@selftests/run test $(KERNELS)

.PHONY: test-races
test-races: ## run the tests of races, with two CPUs emulated in parallel
	+@selftests/run races $(KERNELS)

.PHONY: kselftest
kselftest: ## run the kernel's own selftests of user_events (about 1 minute)
	+@selftests/run kselftest $(KERNELS)

.PHONY: stress
stress: ## run random operations for STRESS_SECONDS=60, with SEED= (about 2 minutes)
	@$(packages) build vm tests
	@$(MAKE) $(KERNELS:%=modules-%) selftests
	@selftests/stress/run $(STRESS_SECONDS) "$(SEED)" $(KERNELS)

.PHONY: soak
soak: ## run stress and fuzz in turns for HOURS=8, also on a kernel with KCSAN (builds it)
	@$(packages) build kernel vm tests
	@$(MAKE) $(KERNELS:%=modules-%) modules-kcsan selftests
	+@for kernel in debug kcsan; do \
		tools/vm/module $$kernel build/fuzz/$$kernel UE_DEBUG=y \
			KCOV_INSTRUMENT=y || exit; \
	done
	@$(MAKE) -C fuzz BUILD=../build/fuzz ../build/fuzz/calls/calls
	@selftests/stress/soak $(HOURS) $(KERNELS)

.PHONY: test-unit
test-unit: ## run the unit tests on a kernel with KASAN and lockdep (first run builds it)
	+@selftests/run unit

.PHONY: test-debug
test-debug: ## run all tests on that kernel, also with injected faults
	+@selftests/run debug

.PHONY: coverage
coverage: ## print which lines of the module the tests of test-debug do not reach
	+@selftests/run coverage

.PHONY: differential
differential: ## run INPUTS=100, compare with the in-tree user_events (first run builds a kernel)
	@$(packages) build kernel vm tests
	@$(MAKE) modules-$(KERNEL)
	@$(MAKE) -C fuzz BUILD=../build/fuzz ../build/fuzz/calls/differential
	@fuzz/calls/run-differential "$(SEED)" $(INPUTS) $(KERNEL)

.PHONY: fuzz
fuzz: ## fuzz the parser and the system calls for FUZZ_SECONDS=60 (first run builds a kernel)
	@$(packages) fuzz build vm tests
	+@tools/vm/module debug build/fuzz/debug UE_DEBUG=y KCOV_INSTRUMENT=y
	@$(MAKE) -C fuzz BUILD=../build/fuzz
	@fuzz/run $(FUZZ_SECONDS) & \
	fuzz/calls/run debug $(FUZZ_SECONDS) $(SEED); calls=$$?; wait $$! && exit $$calls

.PHONY: bench
bench: ## measure the module and the in-tree user_events (first run builds kernels)
	@$(packages) build kernel vm bench
	@$(MAKE) -C bench BUILD=../build/bench SELFTESTS=../build/selftests
	+@bench/run $(if $(filter update,$(BASELINE)),--update)

.PHONY: bench-copy
bench-copy: ## measure ways to copy a payload, on the processor of this machine
	@$(packages) build bench
	@$(MAKE) -C bench BUILD=../build/bench ../build/bench/copying
	@build/bench/copying

.PHONY: bench-tool
bench-tool: tool modules-6.12 ## compare the command line tool with trace-cmd
	@$(packages) vm bench tests recordings time
	@$(MAKE) -C bench BUILD=../build/bench ../build/bench/writers
	@bench/tool

.PHONY: vm
vm: ## boot KERNEL= with the module and the tests, and run RUN="command" there
	@[ "$$RUN" ] || { echo 'usage: make vm [KERNEL=...] RUN="command"' >&2; exit 1; }
	+@selftests/run command $(KERNEL)

# Not expanded by make, but by the shell in the guest.
override export RUN := $(value RUN)

.PHONY: selftests
selftests: ## build the tests and samples, without running them
	@$(MAKE) -C selftests BUILD=../build/selftests
	@$(MAKE) -C samples BUILD=../build/samples

# modules-NAME: the module with its debug counters, for a kernel in tools/vm/kernels.
modules-%:
	+@tools/vm/module $* build/$* UE_DEBUG=y

.PHONY: test-library
test-library: ## test the C++ library: without a kernel, and with in-tree user_events
	+@selftests/library/run

.PHONY: tool
tool: ## build the command line tool, build/tools/user-events
	@$(packages) tool
	@$(MAKE) -C tools/user-events BUILD=../../build/tools

.PHONY: test-recordings
test-recordings: tool ## test what the tool does with recordings, without a guest
	@$(packages) recordings
	@prove selftests/tool/recordings_test selftests/tool/page_test

.PHONY: fuzz-recordings
fuzz-recordings: ## fuzz what the tool does with recordings for FUZZ_SECONDS=60
	@$(packages) fuzz tool
	@$(MAKE) -C fuzz BUILD=../build/fuzz ../build/fuzz/recordings/fuzzer
	@fuzz/recordings/run $(FUZZ_SECONDS)

.PHONY: install
install: ## install the library's headers to PREFIX=/usr/local, below DESTDIR=
	install -d "$(DESTDIR)$(includedir)/user_events" "$(DESTDIR)$(datadir)/pkgconfig" \
		"$(DESTDIR)$(datadir)/cmake/user_events"
	install -m 644 include/user_events/*.h include/user_events/*.hpp \
		include/uapi/linux/user_events_ext.h "$(DESTDIR)$(includedir)/user_events"
	sed 's|@VERSION@|$(version)|; s|@INCLUDE@|$(includedir)|' \
		include/user_events.pc.in >"$(DESTDIR)$(datadir)/pkgconfig/user_events.pc"
	install -m 644 include/user_events-config.cmake "$(DESTDIR)$(datadir)/cmake/user_events"
	sed 's|@VERSION@|$(version)|' include/user_events-config-version.cmake.in \
		>"$(DESTDIR)$(datadir)/cmake/user_events/user_events-config-version.cmake"
	chmod 644 "$(DESTDIR)$(datadir)/pkgconfig/user_events.pc" \
		"$(DESTDIR)$(datadir)/cmake/user_events/user_events-config-version.cmake"

.PHONY: check
check: ## check for compiler warnings, style and common mistakes (about 4 minutes)
	+@tools/check/run $(KERNELS)

.PHONY: docs
docs: ## render Documentation/ to build/docs: HTML pages and man pages
	@$(packages) docs
	@for builder in html man; do sphinx-build -q -E -W --keep-going -b $$builder \
		-d build/docs/doctrees Documentation build/docs/$$builder || exit; done

.PHONY: clean
clean: ## remove build products; the cached kernels in ~/.cache/user_events stay
	rm -rf build
	rm -f user_events*.ko user_events*.o user_events*.mod* .*.cmd \
		Module.symvers modules.order
	find kernel -name '*.o' -delete -o -name '.*.cmd' -delete

.PHONY: help
help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 20
