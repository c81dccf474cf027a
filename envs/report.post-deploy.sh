#!/usr/bin/env bash
# locks: e008caf80580c7dd8ef152b768b08f752cc0b57cf76ac806b54f5c2044ecb964
# Run by Snakemake in the new environment, from the repository's root.
set -euo pipefail
install=(python -m pip install --quiet --no-deps --require-hashes)
"${install[@]}" -r envs/lock/report.txt
