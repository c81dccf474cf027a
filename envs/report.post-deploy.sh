#!/usr/bin/env bash
# locks: a9490096a77d78f361c20cda4c222026e0f94aef1156dedabf36cb8f318c2565
# Run by Snakemake in the new environment, from the repository's root.
set -euo pipefail
install=(python -m pip install --quiet --no-deps --require-hashes)
"${install[@]}" -r envs/lock/report.txt
