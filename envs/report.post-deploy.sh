#!/usr/bin/env bash
# locks: 9ef1a256688f3777fe299c9d62072b1405d581f9053afe3acac0e2270989fbcb
# Run by Snakemake in the new environment, from the repository's root.
set -euo pipefail
install=(python -m pip install --quiet --no-deps --require-hashes)
"${install[@]}" -r envs/lock/report.txt
