#!/usr/bin/env bash
# locks: 8acc04a2ae52938957e6c130100662e1cec19eb7a03012a350203cfd5353db19
# Run by Snakemake in the new environment, from the repository's root.
set -euo pipefail
install=(python -m pip install --quiet --no-deps --require-hashes)
"${install[@]}" -r envs/lock/data.txt
