# SPDX-License-Identifier: GPL-2.0-only
#
# What the module consists of stands in Kbuild; here is what people type.

KVER ?= $(shell uname -r)
KDIR ?= /lib/modules/$(KVER)/build
KERNELS := 6.1 6.12
KERNEL ?= 6.12

packages := selftests/vm/packages
results := build/results

# Steps here go one after the other, apt among them; compilers run side by side.
.NOTPARALLEL:
ifeq ($(MAKELEVEL)$(filter -j%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif
MAKEFLAGS += --no-print-directory

# What was compiled before, and is in the cache, is not compiled again.
ifneq ($(shell command -v ccache),)
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1
export CXX := $(if $(filter ccache,$(CXX)),,ccache )$(CXX)
endif

.PHONY: modules
modules: ## build user_events.ko for the running kernel, KVER=release or KDIR=headers
	@[ -e "$(KDIR)/Makefile" ] || { echo "No kernel headers in $(KDIR):" \
		"install linux-headers-$(KVER), or say KVER= or KDIR=" >&2; exit 1; }
	$(MAKE) -C "$(KDIR)" M="$(CURDIR)" modules

.PHONY: demo
demo: ## see a program's events recorded by a stock Debian 6.1 (under 3 minutes)
	+@selftests/demo/run

.PHONY: test
test: ## run the tests on Debian's kernels 6.1 and 6.12 (about 5 minutes)
	@echo "Builds the module for Debian's kernels $(KERNELS), boots each of them under"
	@echo "QEMU, and runs the tests there. Downloads about 250 MB and takes about eight"
	@echo "minutes the first time, about five thereafter."
	@$(packages) build vm tests
	@$(MAKE) $(KERNELS:%=modules-%) selftests
	@rm -rf $(KERNELS:%=$(results)/%)
	@$(foreach kernel,$(KERNELS),$(foreach part,$(test_parts),selftests/vm/run \
		--timeout 1200 $(tools:%=--add %) --append "$(append_$(kernel))" \
		--results $(results)/$(kernel)/$(part) $(kernel) $($(part)_tests) &)) wait
	prove --failures --recurse --ext .tap \
		$(foreach kernel,$(KERNELS),$(test_parts:%=$(results)/$(kernel)/%))

# Two guests of each kernel: while a test of the first waits, the others have its processor.
test_parts := waiting working
waiting_tests = $(waiting:%=build/selftests/%_test)
working_tests = $(filter-out $(waiting_tests),$(tests))
waiting := fuse hostile module memory tools tools_perf tools_trace_cmd tools_bpftrace

# What is there against faults of real processors takes a sixth of the emulated one's time.
# 6.1 has it, as people run it.
append_6.12 := mitigations=off

.PHONY: test-races
test-races: ## run those tests that race with two processors at the same time, on both
	@$(packages) build vm tests
	@$(MAKE) $(KERNELS:%=modules-%) selftests
	@rm -rf $(results)/races
	@for kernel in $(KERNELS); do \
		selftests/vm/run --parallel --timeout 600 \
			--results $(results)/races/$$kernel \
			$$kernel $(races:%=build/selftests/%_test); \
	done
	prove --failures --recurse --ext .tap $(results)/races

races := race fork exec enable_bit hostile lifetime

.PHONY: kselftest
kselftest: ## run the kernel's own selftests of user_events on both (about 1 minute)
	+@selftests/kselftest/run $(KERNELS)

.PHONY: stress
stress: ## everything at once for STRESS_SECONDS=60, random from SEED= (about 2 minutes)
	@$(packages) build vm tests
	@$(MAKE) $(KERNELS:%=modules-%) selftests
	@selftests/stress/run $(STRESS_SECONDS) "$(SEED)" $(KERNELS)

STRESS_SECONDS ?= 60
SEED ?=

.PHONY: test-debug
test-debug: ## run all tests, and with failing memory, on the debug kernel (first: builds it)
	@$(packages) build vm tests
	+@selftests/vm/module debug build/debug UE_DEBUG=y
	@$(MAKE) selftests
	+@selftests/kselftest/build build/kselftest
	@$(call run_on_debug,debug)
	prove --failures --recurse --ext .tap $(debug_parts:%=$(results)/debug/%)

.PHONY: coverage
coverage: ## say which lines of the module these tests reach, and which not
	@$(packages) build vm tests
	+@selftests/vm/module debug build/coverage \
		UE_DEBUG=y GCOV_PROFILE=y UBSAN_SANITIZE=n
	@$(MAKE) selftests
	+@selftests/kselftest/build build/kselftest
	@$(call run_on_debug,coverage,selftests/coverage/fetch)
	prove --failures --recurse --ext .tap $(debug_parts:%=$(results)/coverage/%)
	@selftests/coverage/report 95 build/coverage $(results)/coverage/*/fetch.tap

# All there is, in three guests side by side that take equally long, for which grace
# periods need not be, nor large buffers. What unloads the module for good comes last in
# each. bpftrace needs the kernel's types, as BTF or as headers, and this kernel comes
# without.
debug_parts := $(test_parts) special
debug_waiting_tests = $(filter-out %/tools_bpftrace_test,$(waiting_tests))
debug_working_tests = $(filter-out $(debug_special_tests),$(working_tests))
debug_special_tests = selftests/vm/kunit $(kselftests) build/selftests/debug/fault_test \
	$(debug_special:%=build/selftests/%_test)
debug_special := scale switching lifetime enable_bit
run_on_debug = rm -rf $(results)/$1; \
	$(foreach part,$(debug_parts),selftests/vm/run --timeout 1800 \
		$(tools:%=--add %) \
		--append "rcupdate.rcu_expedited=1 trace_buf_size=256k" \
		--module build/$1/user_events.ko \
		--add build/$1/user_events_test.ko=/user_events_test.ko \
		--results $(results)/$1/$(part) debug $(debug_$(part)_tests) \
		build/selftests/debug/unload_test $2 &) wait
# Under names that are not those of ours.
kselftests := $(foreach test,abi_test dyn_test ftrace_test perf_test,\
	build/kselftest/$(test)=kernel_$(test))

SEQUENCES ?= 100

.PHONY: differential
differential: ## the same SEQUENCES=100 of operations with user_events built in and with ours
	@$(packages) build vm tests
	@$(MAKE) modules-6.12 selftests
	@selftests/differential/run "$(SEED)" $(SEQUENCES)

.PHONY: bench
bench: ## measure the module beside the in-tree user_events (first: builds kernels)
	@$(packages) build kernel vm bench
	@$(MAKE) -C bench BUILD=$(CURDIR)/build/bench SELFTESTS=$(CURDIR)/build/selftests
	+@bench/run $(if $(filter update,$(BASELINE)),--update)

.PHONY: vm
vm: ## boot KERNEL=6.12 with the module and the tests, run RUN="command" in it
	@[ "$$RUN" ] || { echo 'make vm [KERNEL=6.12] RUN="command"' >&2; exit 1; }
	@$(packages) build vm tests
	@$(MAKE) modules-$(KERNEL) selftests
	@selftests/vm/run --show $(tools:%=--add %) \
		$(foreach test,$(tests),--add $(test)=/tests/$(notdir $(test))) \
		--command "$$RUN" $(KERNEL)

# With its dollar signs and quotes as they were typed.
override export RUN := $(value RUN)

.PHONY: selftests
selftests: ## build the tests, without running them
	@$(MAKE) -C selftests BUILD=$(CURDIR)/build/selftests

tests := $(patsubst selftests/%.cpp,build/selftests/%,$(wildcard selftests/*.cpp)) \
	$(patsubst selftests/32/%.cpp,build/selftests/%,$(wildcard selftests/32/*_test.cpp))
# What the tools_*test run.
tools := /usr/bin/trace-cmd /usr/bin/perf /usr/bin/bpftrace

# modules-6.1, modules-6.12: the module for a kernel of Debian's, in build/; it
# counts what there is, and tells when it is unloaded of what is left.
.PHONY: $(KERNELS:%=modules-%)
$(KERNELS:%=modules-%): modules-%:
	+@selftests/vm/module $* build/$* UE_DEBUG=y

.PHONY: check
check: ## look for warnings, style and common mistakes without running anything
	+@.ci/check $(KERNELS)

.PHONY: test-unit
test-unit: ## run the unit tests on a kernel with KASAN and lockdep (first: builds it)
	@$(packages) build vm tests
	+@selftests/vm/module debug build/debug UE_DEBUG=y
	@rm -f $(results)/unit/*.tap
	@selftests/vm/run --timeout 600 --results $(results)/unit --no-module \
		--add build/debug/user_events_test.ko=/user_events_test.ko \
		debug selftests/vm/kunit || :
	prove --failures --recurse --ext .tap $(results)/unit

FUZZ_SECONDS ?= 60

.PHONY: fuzz
fuzz: ## feed the parser and the system calls with all there is (first: builds a kernel)
	@$(packages) fuzz build vm tests
	+@selftests/vm/module debug build/fuzz/module UE_DEBUG=y KCOV_INSTRUMENT=y
	@$(MAKE) -C fuzz BUILD=$(CURDIR)/build/fuzz
	@fuzz/run $(FUZZ_SECONDS) & \
	fuzz/calls/run $(FUZZ_SECONDS) $(SEED); calls=$$?; wait $$! && exit $$calls

.PHONY: clean
clean: ## remove what was built; the cache of kernels (~/.cache/user_events) stays
	rm -rf build
	rm -f user_events*.ko user_events*.o user_events*.mod* .*.cmd \
		Module.symvers modules.order
	find kernel -name '*.o' -delete -o -name '.*.cmd' -delete

.PHONY: help
help: ## list the targets
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 20
