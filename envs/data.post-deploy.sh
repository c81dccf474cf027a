#!/usr/bin/env bash
# Run by Snakemake in the new environment, from the repository's root.
set -euo pipefail
install=(python -m pip install --quiet --no-deps --require-hashes)
"${install[@]}" -r envs/lock/data.txt
