# Skiff. `make` builds, `make run` and `make test` also set up the machine (Debian packages) when something is missing.
#   make SAN=address   ASan + UBSan build in build-address      make SAN=thread   TSan build in build-thread
#   make check T="rpc wire"   builds and runs only the tests with one of these words in their names; J=4: four at a time
#   make tsan      all tests with threads in a TSan build; races other than Hogwild's fail it
#   make clang     everything compiled by clang, without a warning
#   make docs      docs/reference/commands, the tables of configuration.md and the list in metrics.md anew
#   make docs-output   what commands print, in the pages that show it; P=docs/guide/tutorial.md: only there
#   make deb, make wheel   packages in build/dist
#   make fuzz SECONDS=600   every fuzz target for ten minutes (clang); F="pickle wire": only these
BUILD ?= build$(if $(SAN),-$(SAN))
CC := $(if $(filter fuzz,$(SAN)),clang-14,gcc)
# sanitizer builds: less to compile, and stacks as in the source; their lines are all that is asked for
OPT ?= $(if $(SAN),-O1 -g1,-O2)
ARCH_FLAGS := -ffp-contract=off -fno-math-errno -fno-trapping-math
# the sanitizers make gcc warn where nothing is wrong, so only plain builds treat warnings as errors
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wno-unused-parameter $(if $(SAN),,-Werror)
SAN_address := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
SAN_thread := -fsanitize=thread -fno-omit-frame-pointer
# a real beyond the whole numbers that it is cast to is data, not a fault: kernels give what the machine gives, as Paddle's
SAN_fuzz := -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize=float-cast-overflow -fno-sanitize-recover=undefined \
    -fno-omit-frame-pointer
CFLAGS := -std=gnu11 -g $(OPT) -fPIC -fvisibility=hidden $(ARCH_FLAGS) $(WARN) $(SAN_$(SAN)) -Iinclude -Isrc -Imodels -I. -I$(BUILD)/gen -MMD -MP
LDLIBS := -lyaml -ldl -ldnnl -lgomp -lprotobuf-c -lz -lzstd -llz4 -llzma -lcrypto -lsodium -lxxhash -lm -lpthread
LDFLAGS := $(SAN_$(SAN))

version_of = $(shell sed -n 's/^\#define SKIFF_VERSION_$(1) //p' include/skiff/version.h)
VERSION_MAJOR := $(call version_of,MAJOR)
VERSION := $(VERSION_MAJOR).$(call version_of,MINOR).$(call version_of,PATCH)

PROTO_C := $(BUILD)/gen/framework.pb-c.c
LIB_SRC := $(filter-out %_test.c src/cli/%,$(sort $(wildcard src/*/*.c src/*/*/*.c))) $(sort $(wildcard models/*.c models/*/*.c models/*/*/*.c))
CLI_SRC := $(sort $(filter-out %_test.c,$(wildcard src/cli/*.c)))
TEST_SRC := $(sort $(wildcard src/*/*_test.c src/*/*/*_test.c) $(wildcard tests/*/*_test.c))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
BENCH_SRC := $(sort $(wildcard bench/*.c))

LIB_OBJ := $(LIB_SRC:%.c=$(BUILD)/%.o) $(BUILD)/gen/framework.pb-c.o $(BUILD)/gen/layers/layer_table.o
CLI_OBJ := $(CLI_SRC:%.c=$(BUILD)/%.o)
TESTS := $(patsubst %.c,$(BUILD)/tests/%,$(notdir $(TEST_SRC)))
FUZZ := $(patsubst tests/fuzz/%.c,$(BUILD)/fuzz/%,$(FUZZ_SRC))
EXAMPLES := $(patsubst examples/%.c,$(BUILD)/examples/%,$(sort $(wildcard examples/*.c)))
BENCHES := $(patsubst bench/%.c,$(BUILD)/bench/%,$(BENCH_SRC))

# Python: any from 3.9 on runs what is built; the headers are Debian's (python3-dev). NO_PYTHON=1 leaves it out.
PYTHON ?= $(firstword $(wildcard /usr/bin/python3) python3)
PYTHON_INCLUDE = $(shell $(PYTHON) -c 'import sysconfig; print(sysconfig.get_path("include"))')
NATIVE_SRC := $(sort $(wildcard python/native/*.c))
NATIVE_OBJ := $(NATIVE_SRC:python/native/%.c=$(BUILD)/native/%.o)
NATIVE := $(BUILD)/python/skiff/_native.abi3.so
PYTHON_FILES := $(shell find python -type f -not -path 'python/native/*' -not -name '*.pyc' 2>/dev/null)

# "[ 57/402] CC src/x.c": of those that were not there when make began; the others, of changed sources, have no count
COUNTED := $(LIB_OBJ) $(CLI_OBJ) $(if $(NO_PYTHON),,$(NATIVE_OBJ)) $(if $(findstring $(BUILD)/examples,$(MAKECMDGOALS)),$(EXAMPLES:%=%.o)) \
    $(if $(T),,$(if $(filter check build-tests build-everything,$(MAKECMDGOALS)),$(patsubst %.c,$(BUILD)/%.o,$(TEST_SRC) $(FUZZ_SRC))))
MISSING := $(filter-out $(wildcard $(COUNTED)) %.pb-c.o,$(COUNTED))
TICKS :=
say_cc = $(if $(filter $@,$(MISSING)),$(eval TICKS += x)printf '[%3d/%d] CC %s\n' $(words $(TICKS)) $(words $(MISSING)) $<,echo "  CC $<")

.PHONY: all python
all: $(BUILD)/skiff $(BUILD)/fleetrun $(BUILD)/share/.made $(BUILD)/libskiff.a $(BUILD)/libskiff.so $(BUILD)/public/libskiff.a $(if $(NO_PYTHON),,python)

# build/python is what PYTHONPATH points to: the packages and the native module
python: $(NATIVE) $(BUILD)/python/.copied

$(BUILD)/python/.copied: $(PYTHON_FILES) Makefile
	@mkdir -p $(BUILD)/python
	@find $(BUILD)/python -name '*.py' -delete
	@cd python && find . -type f -not -path './native/*' -not -name '*.pyc' -print0 | xargs -0 cp -p --parents -t $(abspath $(BUILD))/python
	@touch $@

NATIVE_CFLAGS = -Ipython/native -I$(PYTHON_INCLUDE) -Wno-missing-field-initializers
$(NATIVE_OBJ): CFLAGS += $(NATIVE_CFLAGS)
$(BUILD)/native/%.o: python/native/%.c | $(BUILD)/gen/layers/layer_list.h
	@mkdir -p $(@D)
	@$(say_cc)
	@$(CC) $(CFLAGS) -c $< -o $@

# the library is linked in, so that the module is one file; its symbols stay hidden
$(NATIVE): $(NATIVE_OBJ) $(BUILD)/libskiff.a
	@mkdir -p $(@D)
	@$(CC) -shared $(LDFLAGS) -Wl,--exclude-libs,ALL -o $@ $(NATIVE_OBJ) \
	    -Wl,--whole-archive $(BUILD)/libskiff.a -Wl,--no-whole-archive $(LDLIBS)

$(BUILD)/libskiff.a: $(LIB_OBJ)
	@rm -f $@
	@ar rcs $@ $^

# For programs of others: one object whose inner names, which have no prefix, are no longer seen by the linker.
$(BUILD)/public/libskiff.a: $(LIB_OBJ)
	@mkdir -p $(@D)
	@ld -r -o $(@D)/skiff.o $^
	@objcopy --localize-hidden $(@D)/skiff.o
	@rm -f $@
	@ar rcs $@ $(@D)/skiff.o

SONAME := libskiff.so.$(VERSION_MAJOR)
SHARED := $(BUILD)/libskiff.so.$(VERSION)
$(SHARED): $(LIB_OBJ) packaging/libskiff.map
	@$(CC) -shared $(LDFLAGS) -Wl,-soname,$(SONAME) -Wl,--version-script=packaging/libskiff.map -o $@ $(LIB_OBJ) $(LDLIBS)
$(BUILD)/libskiff.so: $(SHARED)
	@ln -sf $(notdir $(SHARED)) $(BUILD)/$(SONAME)
	@ln -sf $(SONAME) $@

# the commands without main, for their tests
$(BUILD)/libcli.a: $(filter-out $(BUILD)/src/cli/main.o,$(CLI_OBJ))
	@rm -f $@
	@ar rcs $@ $^

# all of the library, and the names of include/skiff shown: for models that it loads (runner.model: ./mymodel.so)
$(BUILD)/skiff: $(BUILD)/src/cli/main.o $(BUILD)/libcli.a $(BUILD)/libskiff.a
	@$(CC) $(LDFLAGS) -rdynamic -o $@ $(filter-out %/libskiff.a,$^) -Wl,--whole-archive $(BUILD)/libskiff.a -Wl,--no-whole-archive \
	    $(LDLIBS)

# the same command under the name of Paddle's launcher
$(BUILD)/fleetrun: $(BUILD)/skiff
	@ln -sf skiff $@

# man pages and completions, from the tables that --help is printed from
$(BUILD)/share/.made: $(BUILD)/skiff
	@rm -rf $(BUILD)/share
	@$(BUILD)/skiff _generate man $(BUILD)/share/man/man1
	@$(BUILD)/skiff _generate completions $(BUILD)/share/completions
	@touch $@

# pages of the commands, from the same tables, and the tables of keys; tests/source/run_generated.sh says when they are old
.PHONY: docs
docs: $(BUILD)/skiff
	@rm -f docs/reference/commands/*.md
	@$(BUILD)/skiff _generate markdown docs/reference/commands
	@$(BUILD)/skiff _generate keys docs/reference
	@$(BUILD)/skiff _generate metrics $(BUILD)
	@sed -i -e '/^| metric | type/,$$d' docs/reference/metrics.md
	@cat $(BUILD)/metrics.md >>docs/reference/metrics.md

# what the commands of pages print; P="docs/guide/tutorial.md": only this page
.PHONY: docs-output
docs-output: all
	@BUILD=$(BUILD) tools/docs-output $(P)

$(BUILD)/gen/framework.pb-c.c: src/program/framework.proto
	@mkdir -p $(BUILD)/gen
	@protoc-c --c_out=$(BUILD)/gen --proto_path=src/program $<

$(BUILD)/gen/framework.pb-c.o: $(BUILD)/gen/framework.pb-c.c
	@$(CC) $(filter-out -W%,$(CFLAGS)) -c $< -o $@

# every layer with its arguments, from the headers: for networks in YAML and for Python
$(BUILD)/gen/layers/layer_table.c: tools/gen_layers.py $(wildcard include/skiff/layers*.h) $(filter-out %_test.c,$(wildcard src/layers/*.c))
	@mkdir -p $(@D)
	@$(PYTHON) tools/gen_layers.py include src/layers $@ $(BUILD)/gen/layers/layer_list.h
$(BUILD)/gen/layers/layer_list.h: $(BUILD)/gen/layers/layer_table.c
$(BUILD)/gen/layers/layer_table.o: $(BUILD)/gen/layers/layer_table.c
	@$(CC) $(CFLAGS) -Wno-missing-field-initializers -c $< -o $@

# pb.c needs the generated header before its first dependency file exists
$(BUILD)/src/program/pb.o: $(PROTO_C)

# loops written to be vectorised; -O2 of gcc 12 leaves most of them scalar
$(BUILD)/src/tensor/math.o: CFLAGS += -O3
$(patsubst %,$(BUILD)/src/ops/math/%.o,activation elementwise elementwise_grad reduce scale): CFLAGS += -O3
$(BUILD)/src/data/read_criteo.o: CFLAGS += -O3
# whole numbers of data wrap round, as Paddle's do; shapes are bounded before an op sees them (shape_is_bounded)
$(BUILD)/src/ops/%.o: CFLAGS += -fwrapv

# OpenMPI's header, where it is installed; its library is loaded at run time, and only when it is asked for
MPI_INCLUDE := $(firstword $(wildcard /usr/lib/*/openmpi/include /usr/include/openmpi-*))
MPI_MARK := $(BUILD)/mpi.$(if $(MPI_INCLUDE),with,without)
$(BUILD)/src/collective/engine_mpi.o: CFLAGS += $(MPI_INCLUDE:%=-DSKIFF_MPI -isystem %)
$(BUILD)/src/collective/engine_mpi.o: $(MPI_MARK)
ifeq ($(wildcard $(MPI_MARK)),) # never built, or before OpenMPI came, or while it was there
$(shell mkdir -p $(BUILD) && rm -f $(BUILD)/mpi.* && touch $(MPI_MARK))
endif

# src/layers/table.h includes the generated list: it must be there before the first dependency file is
$(BUILD)/%.o: %.c | $(BUILD)/gen/layers/layer_list.h
	@mkdir -p $(@D)
	@$(say_cc)
	@$(CC) $(CFLAGS) -c $< -o $@

# test programs: one per *_test.c, linked with the library's insides; those under tests/ also with the other .c files
# of their folder
beside = $(patsubst %.c,$(BUILD)/%.o,$(filter-out %_test.c,$(if $(filter tests/%,$(1)),$(wildcard $(dir $(1))*.c))))
define test_rule
$(BUILD)/tests/$(basename $(notdir $(1))): $(BUILD)/$(basename $(1)).o $(call beside,$(1)) $(BUILD)/libcli.a $(BUILD)/libskiff.a
	@mkdir -p $$(@D)
	@$(CC) $(LDFLAGS) -o $$@ $$^ $(LDLIBS) -lcmocka
endef
$(foreach t,$(TEST_SRC),$(eval $(call test_rule,$(t))))

# for tests: cuts the file operations of the program that it is preloaded into (tests/saves/cut.h)
$(BUILD)/tests/libcut.so: tests/saves/cut.c tests/saves/cut.h
	@mkdir -p $(@D)
	@$(CC) -std=gnu11 -g -fPIC -shared $(WARN) -I. -o $@ $< -ldl

# a fuzz target with a driver that runs its corpus, or (SAN=fuzz) with libFuzzer, which looks for more
FUZZ_MAIN := $(if $(filter fuzz,$(SAN)),,$(BUILD)/tests/fuzz/driver.o)
$(BUILD)/fuzz/%: $(BUILD)/tests/fuzz/%.o $(FUZZ_MAIN) $(BUILD)/libcli.a $(BUILD)/libskiff.a
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(if $(FUZZ_MAIN),,-fsanitize=fuzzer) -o $@ $^ $(LDLIBS)

$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BUILD)/libskiff.a
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# MPI's own all_reduce, for comparison
$(BUILD)/bench/mpi_allreduce: bench/mpi/allreduce.c
	@mkdir -p $(@D)
	@mpicc -O2 -Wall -o $@ $<

$(BUILD)/examples/%: $(BUILD)/examples/%.o $(BUILD)/libskiff.a
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

# ratios against this machine's own limits, and predictions beside other tools; see bench/README.md
QUALITY_PYTHON ?= python3
QUALITY_DATA ?=
.PHONY: bench
bench: setup
	@$(MAKE) --no-print-directory -j$$(nproc) all $(BENCHES) $(if $(shell command -v mpicc),$(BUILD)/bench/mpi_allreduce)
	@for b in $(BENCHES); do echo "== $$b"; $$b || exit 1; done
	@echo "== quality"; $(QUALITY_PYTHON) bench/quality/compare.py --skiff $(BUILD)/skiff $(QUALITY_DATA)

.PHONY: build-tests check tsan fuzz setup setup-test test run install uninstall format check-layers clean
build-tests: all $(TESTS) $(FUZZ) $(BUILD)/tests/libcut.so $(BUILD)/examples/train $(BUILD)/examples/predict

# What the tests named by T need: a program itself; Python tests and the scripts that speak of BUILD, the whole.
test_names = $(foreach s,$(1),$(notdir $(patsubst %/,%,$(dir $(s))))-$(basename $(notdir $(s))))
named_by_T = $(foreach t,$(1),$(if $(strip $(foreach word,$(T),$(findstring $(word),$(notdir $(t))))),$(t)))
USE_BUILD = $(call test_names,$(shell grep -l 'BUILD\|jobs\.sh\|words\.sh' tests/*/run*.sh) $(wildcard tests/python/test_*.py))
CHOSEN := $(if $(T),$(call named_by_T,$(TESTS) $(USE_BUILD)))
CHECK_NEEDS := $(if $(T),$(filter $(TESTS),$(CHOSEN)) $(if $(filter-out $(TESTS),$(CHOSEN)),all) $(if $(filter saves-% cluster-run_saving %-run_online user-run_runs,$(CHOSEN)),$(BUILD)/tests/libcut.so) $(if $(filter user-run_trainer,$(CHOSEN)),$(BUILD)/examples/train) $(if $(filter user-run_embed,$(CHOSEN)),$(BUILD)/examples/predict) $(if $(filter fuzz-%,$(CHOSEN)),$(FUZZ)),build-tests)
check: $(CHECK_NEEDS)
	@BUILD=$(BUILD) tools/run-tests $(if $(J),-j$(J)) $(T)

# what has threads, under TSan: network, trainers and servers, jobs of real processes, training by several threads
TSAN_TESTS := thread_test thread_pool_test stats_test wire_test transport_ tcp_gate hello_test rpc_ membership_test ps_test hostile_test gather_test server_ table_test table_tiered pages_test \
    fleet_ collective_ data_dataset data_pipe hogwild trainer_test trainer_pause task_metrics_test cluster_ train-run_threads user-run_predict
tsan: # Python itself is not built for TSan
	@$(MAKE) --no-print-directory SAN=thread NO_PYTHON=1 check T="$(TSAN_TESTS)" && echo "tsan: no races"

# a second opinion: everything there is, with clang's warnings as errors
.PHONY: clang build-everything
build-everything: build-tests $(BENCHES) $(EXAMPLES)
clang:
	@$(MAKE) --no-print-directory CC=clang-14 BUILD=build-clang OPT=-O1 build-everything

# every fuzz target for SECONDS each, led by what code its inputs reach; F="pickle wire": only these
SECONDS ?= 60
.PHONY: fuzz-targets
fuzz-targets: $(FUZZ)
fuzz:
	@$(MAKE) --no-print-directory SAN=fuzz fuzz-targets
	@BUILD=build-fuzz tests/fuzz/fuzz.sh $(SECONDS) $(F)

# whole user scripts, unchanged; A="--only ctr_" chooses
.PHONY: acceptance
acceptance: all
	@BUILD=$(BUILD) tests/acceptance/acceptance.sh $(A)

setup:
	@tools/setup build

setup-test:
	@tools/setup test

test: setup-test
	@$(MAKE) --no-print-directory -j$$(nproc) check

# the main job: generates click logs, trains the reference CTR-DNN on them with servers and workers, evaluates it
run: setup
	@echo "run: building"
	@$(MAKE) --no-print-directory -j$$(nproc) all $(EXAMPLES)
	@BUILD=$(BUILD) tools/run-main

# make install PREFIX=/usr/local [LIBDIR=...] [DESTDIR=...]: command, libraries, headers, skiff.pc, Python packages, models,
# man page and completions, stripped unless STRIP=no; make uninstall with the same variables removes what install has installed
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INSTALL = DESTDIR="$(DESTDIR)" PREFIX="$(PREFIX)" LIBDIR="$(LIBDIR)" BUILD="$(BUILD)" VERSION="$(VERSION)" LIBS="$(LDLIBS)" \
    NO_PYTHON="$(NO_PYTHON)" STRIP="$(STRIP)" tools/install
install: all
	@$(INSTALL)
uninstall:
	@$(INSTALL) --remove

# packages, in $(BUILD)/dist
.PHONY: deb wheel
deb: all
	@BUILD="$(BUILD)" VERSION="$(VERSION)" LIBS="$(LDLIBS)" tools/make-deb
wheel: all
	@mkdir -p $(BUILD)/dist
	@BUILD="$(BUILD)" $(PYTHON) -c 'import sys; sys.path.insert(0, "tools"); import wheel_backend as w; print(w.pack("$(BUILD)/dist"))'

format:
	@$(firstword $(shell command -v clang-format-14) clang-format) -i $$(git ls-files '*.c' '*.h')

check-layers:
	@tools/check-layers

clean:
	rm -rf build build-address build-thread build-clang build-fuzz

.SECONDARY:
-include $(shell find $(BUILD) -name '*.d' -type f -not -path '*/dist/*' 2>/dev/null)
