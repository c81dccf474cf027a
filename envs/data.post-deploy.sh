#!/usr/bin/env bash
# locks: 495f4cdec14536459e2a0635d813a97951bf0d00805ce3d7784dc3679b2e6164
# Run by Snakemake in the new environment, from the repository's root.
set -euo pipefail
install=(python -m pip install --quiet --no-deps --require-hashes)
"${install[@]}" -r envs/lock/data.txt
