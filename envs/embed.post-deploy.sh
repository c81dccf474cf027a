#!/usr/bin/env bash
# locks: 79ce96aaf99c3ac7a705308c1e38df3acfa3500d35b0c3ce26dab2ee31e17449
# Run by Snakemake in the new environment, from the repository's root.
set -euo pipefail
install=(python -m pip install --quiet --no-deps --require-hashes)
"${install[@]}" -r envs/lock/embed.txt
# torch: PyPI's with the CUDA libraries; the CPU wheel where there is no GPU and pip finds it
(! command -v nvidia-smi >/dev/null && "${install[@]}" -r envs/lock/cpu.txt) || "${install[@]}" -r envs/lock/cuda.txt
