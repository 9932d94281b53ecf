# SPDX-License-Identifier: GPL-2.0-only
#
# The targets for users and developers; "make help" lists them. Kbuild has the files
# of the module.

# A kernel by its release, or by its headers.
ifdef KDIR
KVER ?= $(or $(shell sed -n 's/.*UTS_RELEASE "\(.*\)"/\1/p' "$(KDIR)/include/generated/utsrelease.h" 2>/dev/null),$(shell uname -r))
else
KVER ?= $(shell uname -r)
KDIR := /lib/modules/$(KVER)/build
endif

# kernels RUNS: those of the table that have a word in the column "runs".
kernels = $(shell tools/vm/table name 'runs=$(1)')

# Suites run on all of these Debian kernels, `make test` and single commands on the last one.
KERNELS := $(call kernels,test)
KERNEL ?= $(lastword $(KERNELS))
# asked KERNELS: what the command line has for KERNELS=, or else these.
asked = $(if $(filter command line,$(origin KERNELS)),$(KERNELS),$(1))
# The kernels that are built here: for test-debug, and with the in-tree user_events.
DEBUG ?= debug
REFERENCE ?= reference

SEED ?=
STRESS_SECONDS ?= 60
HOURS ?= 8
FUZZ_SECONDS ?= 60
INPUTS ?= 100

PREFIX ?= /usr/local
DESTDIR ?=
includedir := $(PREFIX)/include
datadir := $(PREFIX)/share
libdir := $(PREFIX)/lib
# Programs are installed without debugging information; STRIP= keeps it.
STRIP ?= -s
UNITDIR ?= $(libdir)/systemd/system
UDEVDIR ?= $(libdir)/udev
# Of the module, the library, the tool and the packages.
version := $(shell sed -n 's/^MODULE_VERSION("\(.*\)");$$/\1/p' kernel/main.c)

# Installs Debian's packages; packages=true does not, for builds that have their dependencies.
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
export CCACHE_SLOPPINESS := pch_defines,time_macros
export CXX := $(if $(filter ccache,$(CXX)),,ccache )$(CXX)
endif

# suite SUITE [PACKAGES]: runs a suite of tests.
define suite
@$(packages) build vm tests $(2)
+@selftests/run $(1)
endef

.PHONY: modules
modules: ## build user_events.ko for the running kernel, KVER=release or KDIR=headers
	@tools/headers "$(KDIR)" "$(KVER)"
	$(MAKE) -C "$(KDIR)" M="$(CURDIR)" modules

.PHONY: demo
demo: ## record a program's events on one of Debian's kernels (under 3 minutes)
	+@samples/demo/run $(firstword $(KERNELS))

.PHONY: test
test: ## test the module on Debian's kernel 6.12, or on KERNELS= (under 6 minutes on two cores, the first time 10)
	$(call suite,test $(call asked,$(KERNEL)))

.PHONY: test-all
test-all: ## run all tests, also of the tool, on all kernels in tools/vm/kernels, and write README's table; or only on KERNELS=
	$(call suite,all $(call asked,$(call kernels,test|full)))
ifneq ($(origin KERNELS),command line)
	+@selftests/run kselftest $(call kernels,test|full|light)
	+@selftests/run light $(call kernels,light)
	@selftests/run refused $(call kernels,refused)
	@selftests/kernels-table
endif

.PHONY: test-light
test-light: ## run the kernel's own selftests and some of ours on KERNELS=
	$(call suite,kselftest $(KERNELS))
	+@selftests/run light $(KERNELS)

.PHONY: test-races
test-races: ## run the tests of races, with two CPUs emulated in parallel
	$(call suite,races $(KERNELS))

.PHONY: kselftest
kselftest: ## run the kernel's own selftests of user_events (about 1 minute)
	$(call suite,kselftest $(KERNELS))

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
	$(call suite,unit $(DEBUG),kernel)

.PHONY: test-debug
test-debug: ## run all tests on that kernel, also with injected faults
	$(call suite,debug $(DEBUG),kernel)

.PHONY: coverage
coverage: ## print which lines of the module the tests of test-debug do not reach
	$(call suite,coverage,kernel)

.PHONY: differential
differential: ## run INPUTS=100, compare with the in-tree user_events (first run builds a kernel)
	@$(packages) build kernel vm tests
	@$(MAKE) modules-$(KERNEL)
	@$(MAKE) -C fuzz BUILD=../build/fuzz ../build/fuzz/calls/differential
	@fuzz/calls/run-differential "$(SEED)" $(INPUTS) $(KERNEL) $(REFERENCE)

.PHONY: fuzz
fuzz: ## fuzz the parser and the system calls for FUZZ_SECONDS=60 (first run builds a kernel)
	@$(packages) fuzz build vm tests
	+@tools/vm/module debug build/fuzz/debug UE_DEBUG=y KCOV_INSTRUMENT=y
	@$(MAKE) -C fuzz BUILD=../build/fuzz
	@fuzz/run $(FUZZ_SECONDS) & \
	fuzz/calls/run debug $(FUZZ_SECONDS) $(SEED); calls=$$?; wait $$! && exit $$calls

.PHONY: bench
bench: ## measure the module and the in-tree user_events, also on LINUX=7.2 (first run builds kernels)
	@$(packages) build kernel vm bench
	@$(MAKE) -C bench BUILD=../build/bench SELFTESTS=../build/selftests
	+@bench/run $(if $(LINUX),--linux $(LINUX)) $(if $(filter update,$(BASELINE)),--update)

.PHONY: bench-tool
bench-tool: tool fleet modules-6.12 ## compare the command line tool with trace-cmd
	@$(packages) vm bench tests recordings time
	@selftests/tool/otlp/install
	@$(MAKE) -C bench BUILD=../build/bench ../build/bench/writers
	@bench/tool

.PHONY: vm
vm: ## boot KERNEL= with the module and the tests, or with the programs ADD= alone, and run RUN="command" there
	@[ "$$RUN" ] || { echo 'usage: make vm [KERNEL=...] [ADD="PROGRAM..."] RUN="command"' >&2; exit 1; }
	$(call suite,command $(KERNEL))

# Not expanded by make, but by the shell in the guest.
override export RUN := $(value RUN)
export ADD

.PHONY: selftests
selftests: ## build the tests and samples, without running them
	@$(MAKE) -C selftests BUILD=../build/selftests
	@$(MAKE) -C samples BUILD=../build/samples

# modules-NAME: the module with its debug counters, for a kernel in tools/vm/kernels.
modules-%:
	+@tools/vm/module $* build/$* UE_DEBUG=y

.PHONY: mutants
mutants: ## break one place of the module after the other: tests must fail (about 3 hours)
	@$(packages) build vm tests
	@$(MAKE) selftests
	@selftests/mutants --kernel $(KERNEL) $(if $(JOBS),--jobs $(JOBS)) $(ROWS)

.PHONY: test-library
test-library: ## test the C++ library: without a kernel, and with in-tree user_events
	$(call suite,library,kernel fuzz library)

.PHONY: tool
tool: ## build the command line tool, build/tools/user-events (about 3 minutes on two cores)
	@$(packages) tool
	@$(MAKE) -C tools/user-events BUILD=../../build/tools
	@$(MAKE) -C tools/perf-dlfilter BUILD=../../build/tools

.PHONY: fleet
fleet: ## build the program of its commands ship and serve, build/tools/user-events-fleet
	@$(packages) tool tool-fleet
	@$(MAKE) -C tools/user-events-fleet BUILD=../../build/tools

.PHONY: test-tool
test-tool: ## run the tests of the tool with in-tree user_events (first run builds a kernel)
	$(call suite,tool,kernel)

.PHONY: test-recordings
test-recordings: tool fleet ## test the tool without a guest: recordings, and its installation
	@$(packages) build recordings docs tests
	@$(MAKE) -C selftests/tool/eventheader BUILD=../../../build/eventheader
	@$(MAKE) -C selftests/tool/unit BUILD=../../../build/tool-unit TOOL=../../../build/tools
	@prove build/eventheader/*_test build/tool-unit/*_test \
		$(patsubst %,selftests/tool/%_test,arguments recordings page install)

.PHONY: test-fleet
test-fleet: ## test the tool's ship and serve, on KERNELS=, with Prometheus and OpenTelemetry's decoder
	@selftests/tool/otlp/install
	$(call suite,fleet $(KERNELS),fleet)
	@prove selftests/tool/ship_test

.PHONY: test-perf
test-perf: tool modules-6.12 ## read with perf of Debian 12 and 13 what a guest has recorded; record with Perfetto
	@$(packages) build vm tests
	@$(MAKE) -C selftests BUILD=../build/selftests ../build/selftests/tool/eventheader_client
	@prove selftests/tool/perf_test selftests/tool/perfetto_live_test

.PHONY: test-packages
test-packages: ## install the packages on Debian 12 and 13 in QEMU (about 30 minutes)
	+@selftests/packages/run

.PHONY: test-containers
test-containers: ## run programs in containers of Podman, Docker, crun, runc and systemd, on KERNEL= (about 8 minutes; of Debian 13 with 6.12-deb13)
	+@selftests/containers/run $(KERNEL)

.PHONY: fuzz-recordings
fuzz-recordings: ## fuzz what the tool does with recordings and with the spool of ship, for FUZZ_SECONDS=60 each
	@$(packages) fuzz tool
	@$(MAKE) -C fuzz BUILD=../build/fuzz tool
	@fuzz/tool/run $(FUZZ_SECONDS)

# What is installed, below DESTDIR.
headers := $(includedir)/user_events
program := $(PREFIX)/bin/user-events
# The tool finds it from its own place.
dlfilter := $(libdir)/user-events/user-events-dlfilter.so
# `user-events ship` runs the first one, its service the second.
libexecdir := $(PREFIX)/libexec
program_fleet := $(libexecdir)/user-events-fleet
access_fleet := $(libexecdir)/user-events-fleet-access
man_pages := user-events.1 user_events.7 user_events-admin.8
man_page = $(datadir)/man/man$(subst .,,$(suffix $1))/$1
completion := $(datadir)/bash-completion/completions/user-events
ZSHDIR ?= $(datadir)/zsh/site-functions
completion_zsh := $(ZSHDIR)/_user-events
completion_fish := $(datadir)/fish/vendor_completions.d/user-events.fish
pkgconfig := $(datadir)/pkgconfig/user_events.pc
cmake := $(datadir)/cmake/user_events
module := /lib/modules/$(KVER)/updates/user_events.ko
udev_rules := $(UDEVDIR)/rules.d/60-user_events.rules
sysusers := $(libdir)/sysusers.d/user_events.conf
sysusers_fleet := $(libdir)/sysusers.d/user_events-fleet.conf
units := user-events-rules.service
commands_fleet := serve ship
units_fleet := $(commands_fleet:%=user-events-%.service)
examples := $(datadir)/doc/user_events/examples

# install_units UNITS
define install_units
	install -d "$(DESTDIR)$(UNITDIR)"
	$(foreach unit,$1,sed 's|/usr/bin/user-events|$(program)|; s|/usr/libexec|$(libexecdir)|' system/$(unit) \
		>"$(DESTDIR)$(UNITDIR)/$(unit)" && chmod 644 "$(DESTDIR)$(UNITDIR)/$(unit)" &&) true
endef

# install_pages PROGRAM COMMANDS: a man page for each of the program's commands.
define install_pages
	install -d "$(DESTDIR)$(datadir)/man/man1"
	set -e; for command in $2; do \
		page="$(DESTDIR)$(datadir)/man/man1/user-events-$$command.1"; \
		tools/user-events/man-page build/tools/$1 "$$command" >"$$page"; \
		chmod 644 "$$page"; \
	done
endef

.PHONY: install
install: install-module install-library install-tool install-fleet install-system ## install all, to PREFIX=/usr/local, below DESTDIR=

.PHONY: install-module
install-module: modules ## install only the module, for the kernel KVER=
	install -D -m 644 user_events.ko "$(DESTDIR)$(module)"
	$(if $(DESTDIR),,depmod "$(KVER)")

.PHONY: install-library
install-library: ## install only the library's headers
	install -d "$(DESTDIR)$(headers)" "$(DESTDIR)$(dir $(pkgconfig))" "$(DESTDIR)$(cmake)"
	install -m 644 include/user_events/*.h include/user_events/*.hpp \
		include/uapi/linux/user_events_ext.h "$(DESTDIR)$(headers)"
	sed 's|@VERSION@|$(version)|; s|@INCLUDE@|$(includedir)|' \
		include/user_events.pc.in >"$(DESTDIR)$(pkgconfig)"
	install -m 644 include/user_events-config.cmake "$(DESTDIR)$(cmake)"
	sed 's|@VERSION@|$(version)|' include/user_events-config-version.cmake.in \
		>"$(DESTDIR)$(cmake)/user_events-config-version.cmake"
	chmod 644 "$(DESTDIR)$(pkgconfig)" \
		"$(DESTDIR)$(cmake)/user_events-config-version.cmake"

.PHONY: install-tool
install-tool: tool docs-man ## install only the tool, the man pages and the completion
	install -D $(STRIP) build/tools/user-events "$(DESTDIR)$(program)"
	install -D -m 644 $(STRIP) build/tools/user-events-dlfilter.so "$(DESTDIR)$(dlfilter)"
	$(foreach page,$(man_pages),install -D -m 644 build/docs/man/$(page) \
		"$(DESTDIR)$(call man_page,$(page))" &&) true
	$(call install_pages,user-events,$(filter-out \
		$(commands_fleet),$(shell build/tools/user-events --complete '')))
	install -D -m 644 tools/user-events/completion.bash "$(DESTDIR)$(completion)"
	install -D -m 644 tools/user-events/completion.zsh "$(DESTDIR)$(completion_zsh)"
	install -D -m 644 tools/user-events/completion.fish "$(DESTDIR)$(completion_fish)"

.PHONY: install-fleet
install-fleet: fleet ## install only what user-events ship and serve need, with units and their user
	install -D $(STRIP) build/tools/user-events-fleet "$(DESTDIR)$(program_fleet)"
	install -D system/fleet-access "$(DESTDIR)$(access_fleet)"
	install -D -m 644 system/sysusers-fleet.conf "$(DESTDIR)$(sysusers_fleet)"
	$(call install_pages,user-events-fleet,$(commands_fleet))
	$(call install_units,$(units_fleet))
	install -D -m 644 -t "$(DESTDIR)$(examples)" system/fleet.toml

.PHONY: install-system
install-system: ## install only the rule of udev, the group, the unit that loads rules, and examples
	install -D -m 644 system/60-user_events.rules "$(DESTDIR)$(udev_rules)"
	install -D -m 644 system/sysusers.conf "$(DESTDIR)$(sysusers)"
	install -d "$(DESTDIR)/etc/user_events.d"
	$(call install_units,$(units))
	install -D -m 644 -t "$(DESTDIR)$(examples)" system/modprobe.conf system/modules-load.conf

.PHONY: uninstall
uninstall: ## remove what install has installed; the group and the files in /etc stay
	rm -rf "$(DESTDIR)$(headers)" "$(DESTDIR)$(cmake)" "$(DESTDIR)$(dir $(examples))"
	rm -rf "$(DESTDIR)$(dir $(dlfilter))"
	rm -f "$(DESTDIR)$(program)" "$(DESTDIR)$(program_fleet)" "$(DESTDIR)$(access_fleet)" \
		"$(DESTDIR)$(completion)" "$(DESTDIR)$(completion_zsh)" \
		"$(DESTDIR)$(completion_fish)" "$(DESTDIR)$(pkgconfig)" \
		"$(DESTDIR)$(udev_rules)" "$(DESTDIR)$(sysusers)" "$(DESTDIR)$(sysusers_fleet)" \
		$(patsubst %,"$(DESTDIR)$(UNITDIR)/%",$(units) $(units_fleet)) \
		"$(DESTDIR)$(module)" \
		"$(DESTDIR)$(datadir)/man/man1"/user-events-*.1 \
		$(foreach page,$(man_pages),"$(DESTDIR)$(call man_page,$(page))")
	$(if $(DESTDIR),,$(if $(wildcard $(module)),depmod "$(KVER)"))

.PHONY: deb
deb: ## build Debian packages for this release, in build/packages
	@tools/deb

.PHONY: check
check: ## check for compiler warnings, style and common mistakes (about 4 minutes; clang-tidy with a part of the files with SAMPLE=K/N)
	+@tools/check/run $(KERNELS)

.PHONY: docs
docs: docs-html docs-man ## render Documentation/ to build/docs: HTML pages and man pages
	@echo "the pages are $(CURDIR)/build/docs/html/index.html and build/docs/man/*"

docs-%:
	@$(packages) docs
	@sphinx-build -q -E -W --keep-going -b $* -d build/docs/doctrees Documentation build/docs/$*
	@# A table across the end of a page loses characters, so a terminal has one long page.
	@[ $* != man ] || sed -i '/^\.TH /a .if n .pl 1000i' build/docs/man/*.[1-8]

.PHONY: clean
clean: ## remove build products; the cached kernels in ~/.cache/user_events stay
	rm -rf build
	rm -f user_events*.ko user_events*.o user_events*.mod* .*.cmd \
		Module.symvers modules.order
	find kernel -name '*.o' -delete -o -name '.*.cmd' -delete
	rm -f kernel/port/kernel_declares.c

.PHONY: help
help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 24
