#!/usr/bin/env bash
# locks: ac1e7c39a38aba1fd68c811d8f5da54ac88759f3931e2e92f157ef241fb2b7bb
# Run by Snakemake in the new environment, from the repository's root.
set -euo pipefail
install=(python -m pip install --quiet --no-deps --require-hashes)
"${install[@]}" -r envs/lock/embed.txt
# torch: PyPI's with the CUDA libraries; the CPU wheel where there is no GPU and pip finds it
(! command -v nvidia-smi >/dev/null && "${install[@]}" -r envs/lock/cpu.txt) || "${install[@]}" -r envs/lock/cuda.txt
