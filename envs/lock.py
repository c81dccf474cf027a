"""Write envs/lock/*.txt from envs/*.in, and their sums into envs/*.post-deploy.sh: `python envs/lock.py` (needs uv on PATH).

A version that is locked stays where envs/*.in allow it; `--upgrade` takes the newest of all, `--upgrade-package NAME` of one.
Every family shares the pins of `all.txt`. Three things are locked apart:
- fairseq, because it pins omegaconf and hydra to versions that do not run on Python 3.11: it is installed without its
  dependencies;
- torch: `cpu.txt` is the CPU wheel, `cuda.txt` PyPI's wheel with the CUDA libraries it needs. (One list with both
  hashes would not do: pip prefers a file whose index states an allowed hash, and so never takes a wheel from a local
  folder.);
- faiss: `cpu.txt` has faiss-cpu, `cuda.txt` faiss-gpu of the same version with the libraries of CUDA 12 that it needs
  (torch brings those of CUDA 13). Both provide the module faiss, so that no environment may have the two.
"""

import hashlib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FAMILIES = ("data", "embed", "nmt", "report")
CPU_TORCH = "sha256:6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b"  # of torch-2.13.0+cpu-cp311-cp311-manylinux_2_28_x86_64.whl
CUDA = re.compile(r"(cuda|nvidia|triton|torch|faiss-gpu)[-=]")
FAISS = "1.15.1"


def compile_lock(source: str, *options: str) -> str:
    command = [
        "uv",
        "pip",
        "compile",
        "-",
        "--python-version",
        "3.11",
        "--generate-hashes",
        "--no-annotate",
        "--no-header",
        "--quiet",
    ]
    return subprocess.run(
        [*command, *options], input=source, text=True, check=True, capture_output=True, cwd=HERE
    ).stdout


def entries(lock: str) -> list[str]:
    """The requirements of a lock, each with its hash lines."""
    return re.findall(r"^\S.*?(?=^\S|\Z)", lock, flags=re.S | re.M)


def stamped(script: str) -> str:
    """A post-deploy script whose second line is the sum of the locks that it installs: Snakemake makes an environment
    anew where its script is another, and knows nothing of the locks.
    """
    locks = sorted(set(re.findall(r"envs/lock/(\w+\.txt)", script)))
    total = hashlib.sha256(b"".join((HERE / "lock" / name).read_bytes() for name in locks)).hexdigest()
    first, *rest = [line for line in script.splitlines() if not line.startswith("# locks: ")]
    return "\n".join([first, f"# locks: {total}", *rest, ""])


def main() -> None:
    folder = tempfile.TemporaryDirectory()  # if uv fails, envs/lock/ stays as it is
    pins = Path(folder.name) / "all.txt"
    pins.write_text("".join((HERE / "lock" / name).read_text() for name in ("all.txt", "cuda.txt")))
    compile_lock("-r all.in", "--output-file", str(pins), *sys.argv[1:])  # uv keeps the versions that the file has
    everything = pins.read_text()
    fairseq = compile_lock("fairseq==0.12.2", "--no-deps")
    cuda: list[str] = []
    faiss_gpu = entries(compile_lock(f"faiss-gpu=={FAISS}", "-c", str(pins)))
    faiss_cpu = ""
    for family in (*FAMILIES, "all"):
        lock = entries(everything if family == "all" else compile_lock(f"-r {family}.in", "-c", str(pins)))
        if family == "all":
            cuda = [entry for entry in (*lock, *faiss_gpu) if CUDA.match(entry)]
            faiss_cpu = "".join(entry for entry in lock if entry.startswith("faiss-cpu"))
        kept = [entry for entry in lock if not CUDA.match(entry) and not entry.startswith("faiss-cpu")]
        (HERE / "lock" / f"{family}.txt").write_text("".join(kept) + (fairseq if family in ("nmt", "all") else ""))
    (HERE / "lock" / "cuda.txt").write_text("".join(cuda))
    (HERE / "lock" / "cpu.txt").write_text(f"{faiss_cpu}torch==2.13.0+cpu --hash={CPU_TORCH}\n")
    for script in HERE.glob("*.post-deploy.sh"):
        script.write_text(stamped(script.read_text()))


if __name__ == "__main__":
    main()
