#!/usr/bin/env bash
# locks: a7c73bf34be26cfe132409112f2878f76d0d89ecf226678eff1448d10bff0615
# Run by Snakemake in the new environment, from the repository's root.
set -euo pipefail
install=(python -m pip install --quiet --no-deps --require-hashes)
"${install[@]}" -r envs/lock/nmt.txt
# torch: PyPI's with the CUDA libraries; the CPU wheel where there is no GPU and pip finds it
(! command -v nvidia-smi >/dev/null && "${install[@]}" -r envs/lock/cpu.txt) || "${install[@]}" -r envs/lock/cuda.txt
