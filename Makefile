# make demo       installs what is missing (Debian), builds, runs NPB CG on two processes
# make test       installs what is missing, then everything that continuous integration runs
# make loom       the part of it that searches all interleavings of the lock-free parts
# make explore    searches more schedules of the protocol than `make test`, for a change of it: the long searches, too, and more at random
# make figures    draws the charts of the book's chapter on scale
# make sweep      makes the charts and tables of the chapter on block sizes: some minutes
# make bench      measures steps of the protocol, OpenMP constructs and kernels against references of the same run; CLASS, RUNS, ONLY, OUT
# make bench-compare OLD=a.json NEW=b.json   says what became worse by more than noise
# make install    to PREFIX, after make build

PREFIX  = /usr/local
DESTDIR =
CARGO   = cargo

# Where cargo puts things; rustup's directory may not be in PATH yet.
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
BIN    := $(TARGET)/release
export PATH := $(PATH):$(HOME)/.cargo/bin

PACKAGES = -p dsm-cc -p dsm-pass -p dsm-runtime
PROGRAMS = dsm-cc dsm-run dsm-compare dsm-top dsm-sweep
# The driver's other names: what it stands in for depends on what it is called.
NAMES    = dsm-c++ dsm-fc
PLUGIN   = libdsm_pass.so
# Directories: headers, Fortran's modules, what programs are linked with, and templates of the C++ library.
PARTS    = dsm-include dsm-modules dsm-runtime dsm-templates
# What programs may include or compile.
INCLUDES = dsm.h dsm_operations.h dsm.hpp dsm.f90 dsm_array.hpp dsm_arrays.f90

# All interleavings of the lock-free parts that threads share.
LOOM = RUSTFLAGS="--cfg loom" $(CARGO) test --profile tests --locked -p dsm-threads -p dsm-sync -p dsm-coherence -p dsm-pager --lib --target-dir $(TARGET)/loom

# Build of the harness: its own code is none of what is measured.
HARNESS = $(CARGO) run --quiet --profile tests --locked -p dsm-bench --

.PHONY: help demo test checks checks-and-loom loom explore figures sweep bench bench-compare build setup install uninstall clean

help:
	@echo "usage: make {demo | test | loom | explore | figures [MOST=4096] | sweep [RUNS=$(RUNS)] | bench [CLASS=$(CLASS)] [RUNS=$(RUNS)] [ONLY=suite,suite/row,...] [OUT=$(OUT)] | bench-compare OLD=FILE NEW=FILE | build | setup | install [PREFIX=$(PREFIX)] | uninstall | clean}"

setup:
	scripts/setup.sh

build:
	$(CARGO) build --release --locked $(PACKAGES)
	scripts/link-runtime.sh $(BIN)/libdsm_rt.a $(BIN)/dsm-runtime
	@for name in $(NAMES); do ln -sf dsm-cc $(BIN)/$$name; done
	scripts/compile-templates.sh $(BIN) $(BIN)/dsm-templates

demo: setup
	$(MAKE) build
	$(MAKE) -C npb cg CLASS=W CC=$(BIN)/dsm-cc CFLAGS="-O3 -fopenmp" BINDIR=$(TARGET)/demo
	DSM_STATS=1 $(BIN)/dsm-run -n 2 $(TARGET)/demo/cg.W

# The end-to-end tests run the commands of the release directory, so the build comes before them. What else the tests are made of is compiled in a
# profile that takes less time. Link-time optimisation of the build leaves a core to the checks and to loom, one after the other.
test: setup
	$(MAKE) --jobs=2 build checks-and-loom
	$(CARGO) test --workspace --profile tests --locked

checks-and-loom: checks
	$(MAKE) loom

checks:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets --profile tests --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" $(CARGO) doc --workspace --no-deps --document-private-items --profile tests --locked
	scripts/licences.sh
	if $(CARGO) deny --version >/dev/null 2>&1; then $(CARGO) deny --offline --locked check licenses bans sources; fi

loom:
	$(LOOM)

explore:
	DSM_TEST_RUNS=4 $(CARGO) test --profile tests --locked -p dsm-explore -- --include-ignored

MOST = 4096
figures:
	$(CARGO) run --release --locked -p dsm-simulate -- --figures book/src/research/scale --most $(MOST)

RUNS  = 5
sweep: build
	BIN_DIR=$(BIN) scripts/sweep.sh $(RUNS)

CLASS = A
ONLY  =
OUT   = $(TARGET)/bench
bench: build
	$(HARNESS) run --class $(CLASS) --runs $(RUNS) --only "$(ONLY)" --out $(OUT)
	@echo "results: $(OUT)/bench.json, bench.md and bench.svg"

bench-compare:
	@[ -n "$(OLD)" ] && [ -n "$(NEW)" ] || { echo "usage: make bench-compare OLD=FILE NEW=FILE, two bench.json of make bench" >&2; exit 2; }
	@$(HARNESS) compare $(OLD) $(NEW)

# Not built here: whoever installs may be root, and cargo need not be.
install:
	@for file in $(PROGRAMS) $(PLUGIN) $(PARTS); do \
	    [ -e $(BIN)/$$file ] || { echo "$(BIN)/$$file is missing: run 'make build' first" >&2; exit 1; }; done
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/dsm
	install -m 755 $(addprefix $(BIN)/,$(PROGRAMS)) $(DESTDIR)$(PREFIX)/bin
	for name in $(NAMES); do ln -sf dsm-cc $(DESTDIR)$(PREFIX)/bin/$$name; done
	install -m 644 $(BIN)/$(PLUGIN) $(DESTDIR)$(PREFIX)/lib/dsm
	install -d $(DESTDIR)$(PREFIX)/lib/dsm/include
	install -m 644 $(addprefix runtime/include/,$(INCLUDES)) $(DESTDIR)$(PREFIX)/lib/dsm/include
	install -m 644 runtime/gdb/dsm.py $(DESTDIR)$(PREFIX)/lib/dsm
	cp -r $(addprefix $(BIN)/,$(PARTS)) $(DESTDIR)$(PREFIX)/lib/dsm

uninstall:
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,$(PROGRAMS) $(NAMES)) $(addprefix $(DESTDIR)$(PREFIX)/lib/dsm/,$(PLUGIN) dsm.py $(addprefix include/,$(INCLUDES)))
	rm -rf $(addprefix $(DESTDIR)$(PREFIX)/lib/dsm/,$(PARTS))
	-rmdir $(DESTDIR)$(PREFIX)/lib/dsm/include
	-rmdir $(DESTDIR)$(PREFIX)/lib/dsm

clean:
	$(CARGO) clean
