#!/usr/bin/env bash
# locks: 1c86ca05356b7f3208d3b156f1f3906ea08204a83a27deeab484bd1569d07a0a
# Run by Snakemake in the new environment, from the repository's root.
set -euo pipefail
install=(python -m pip install --quiet --no-deps --require-hashes)
"${install[@]}" -r envs/lock/nmt.txt
# torch: PyPI's with the CUDA libraries; the CPU wheel where there is no GPU and pip finds it
(! command -v nvidia-smi >/dev/null && "${install[@]}" -r envs/lock/cpu.txt) || "${install[@]}" -r envs/lock/cuda.txt
