## make tiny    set up, then run the tiny table: 4 to 9 minutes (no network beyond the package registry)
## make full    the same with every row: 20 minutes
## make small   the same on real text: 55 minutes; needs the network or BITEXTBENCH_MIRROR
## make tables  all tables of the tiny run, the audit and the report, results/tiny/index.html (RUN=small: of the small run)
## make rehearsal  the paper-scale workflow in miniature on a Slurm cluster of three nodes of this machine: build/rehearsal
##              (needs slurm-wlm, munge and root; TABLES=results/table2.csv: that alone)
## make plan    what paper scale costs: hours, memory, disk by rule; days on 8, 64, 256 GPUs (results/plan.csv, results/plan.svg)
## make gpu     on a machine with a GPU, ten minutes: does all agree with a CPU, and how fast is it? results/gpu/<card>.json
## make test    set up, then run the tests: 5 to 10 minutes
## make test-slow  set up, then run the tests of a minute or more: whole runs of the workflow, killed, through Slurm, of the README
## make lint    set up, then run the linters, the formatters and the type checker
## make docs    write again what README.md and docs/ generate from results and from the registry
## make pages   the reports of the committed results as one site: build/pages/index.html
## make golden  run tiny and write down what its files hold: tests/golden/tiny.json, docs/tiny/ (RUN=micro: of the tests' run)
## make env     set up .venv from the hash-locked pins: 5 minutes, 2.5 GB
##              (times are of two cores; docs/running.md has all)
## make lock    pins of what envs/*.in have changed: envs/lock/
## make clean   remove the tiny run
PYTHON ?= $(shell command -v python3.11 || command -v python3.12 || command -v python3)
export PATH := $(CURDIR)/.venv/bin:$(PATH)

.PHONY: help tiny full small tables plan gpu rehearsal test test-slow lint docs pages golden env lock clean
RUN = tiny

help:
	@sed -n 's/^## //p' Makefile

tiny small: env
	@snakemake --profile profiles/$@ results/$@/table2.csv
	@bitextbench show --brief results/$@/table2.csv
	@bitextbench audit results/$@ | fold -s -w 100
	@bitextbench report results/$@
	@echo "the whole table: bitextbench show results/$@/table2.csv"
	@echo "next: mine two texts, as the README shows; what held on real text: docs/results.md"

full: env
	@snakemake --profile profiles/tiny --configfile config/tiny.yaml config/full.yaml -- results/full/table2.csv
	@bitextbench show --brief results/full/table2.csv
	@bitextbench audit results/full | fold -s -w 100
	@bitextbench report results/full

# with all that results/small has: its languages and studies, too
tables: env
	snakemake --profile profiles/$(RUN) $(if $(filter small,$(RUN)),--configfile config/small.yaml config/small-languages.yaml config/studies.yaml) -- results/$(RUN)/index.html
	@for table in results/$(RUN)/*2*/*.csv; do bitextbench show $$table; echo; done
	@bitextbench show results/$(RUN)/table2.csv
	@echo "the report, every number and every claim of the papers: results/$(RUN)/index.html"

gpu: env
	python benchmarks/gpu.py --device cuda

plan: env
	bitextbench plan --out results/plan.csv --picture results/plan.svg

rehearsal: env
	python tests/rehearsal.py build/rehearsal $(TABLES)

golden: env
	snakemake --profile profiles/tiny --configfile config/tiny.yaml $(wildcard tests/$(RUN).yaml) -- results/$(RUN)/table2.csv
	python tests/golden.py make $(RUN)
ifeq ($(RUN),tiny)
	cp results/tiny/table2.csv results/tiny/table2.significance.csv docs/tiny/
	python benchmarks/seconds.py tiny
	python docs/make.py
endif

PYTEST = pytest -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

test: env
	$(PYTEST) -m "not slow"

test-slow: env
	$(PYTEST) -m slow

lint: env
	ruff check src tests envs docs benchmarks
	ruff format --check src tests envs docs benchmarks
	snakefmt --check Snakefile rules
	mypy

docs: env
	python docs/make.py

REPORTS = small published-muse published-e5

pages: env
	@rm -rf build/pages && mkdir -p build/pages && cp -r results docs/leaderboard.html docs/leaderboard.csv build/pages/
	@for run in $(REPORTS); do bitextbench report build/pages/results/$$run || exit 1; done
	@cp docs/pages.html build/pages/index.html

env: .venv/installed

# One set-up at a time: after the wait for another, make looks again at what is to be done. The lock is the kernel's, and goes with
# the last process that has it open.
.venv/installed: envs/lock/all.txt envs/lock/cpu.txt envs/lock/cuda.txt pyproject.toml
ifndef LOCKED
	@exec 9>.venv.lock; flock -n 9 || { echo "waiting for another make that sets up .venv"; flock 9; }; \
	$(MAKE) --no-print-directory LOCKED=yes $@
else
	@envs/install.sh "$(PYTHON)"
endif

lock:
	python envs/lock.py

clean:
	rm -rf work/tiny results/tiny logs/tiny
