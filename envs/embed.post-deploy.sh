#!/usr/bin/env bash
# locks: f8e0c8b1d5f22bfedee37d0a9b7ab75d75ed01d291550d939c290e5e2b46bd2b
# Run by Snakemake in the new environment, from the repository's root.
set -euo pipefail
install=(python -m pip install --quiet --no-deps --require-hashes)
"${install[@]}" -r envs/lock/embed.txt
# torch: PyPI's with the CUDA libraries; the CPU wheel where there is no GPU and pip finds it
(! command -v nvidia-smi >/dev/null && "${install[@]}" -r envs/lock/cpu.txt) || "${install[@]}" -r envs/lock/cuda.txt
