#!/usr/bin/env bash
# locks: 6282612d936b6b0580590a249cee16ac3e0d21c4576a6f5bb3ddac960b56ea42
# Run by Snakemake in the new environment, from the repository's root.
set -euo pipefail
install=(python -m pip install --quiet --no-deps --require-hashes)
"${install[@]}" -r envs/lock/data.txt
