"""Does the tests' run end in the same bytes on a processor that this machine has not? Bochs computes one in software.

    apt-get install bochs bochs-term bochsbios vgabios isolinux syslinux-common xorriso linux-image-cloud-amd64 \
        busybox-static cpio e2fsprogs kmod
    python benchmarks/other_processor.py                        a Core i7-7800X, which has AVX-512: an hour or two
    python benchmarks/other_processor.py --cpu corei7_icelake_u

From the last commit, in a temporary folder, STEPS of the run are made twice: on this machine, and by a Linux of Debian's
kernel that boots in Bochs from a disk with this Python's environment. Trainings have fewer updates than in the run, as
Bochs needs a minute for a second. Says which outputs have the same SHA-256, and exits with 1 where one has not.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bitextbench.base.portable import ENVIRONMENT

ROOT = Path(__file__).parents[1]
MICRO = "snakemake --profile profiles/tiny --configfile config/tiny.yaml tests/micro.yaml"
TARGET = "results/micro/table2.csv"
SETTINGS = ENVIRONMENT | {"OMP_NUM_THREADS": "1", "PYTHONPATH": "src"}
STEPS = (  # words of the commands, in their order
    ("train --spec", "encoders/nmt_autoencoder/"),
    ("step encode", "vectors/nmt_autoencoder/positives/"),
    ("step encode", "vectors/nmt_autoencoder/pool/"),
    ("step score", "scores/cosine/pool/"),
    ("step fit-similarity mlp",),
    ("step score", "scores/mlp/pool/"),
    ("step select cosine",),
    ("step select mlp",),
    ("step nmt-prepare", "nmt/mlp.10M/"),
    ("step nmt-train", "nmt/mlp.10M/"),
    ("step likelihood-train src",),
    ("step likelihood-train forward",),
)
FEWER = (  # updates, so that it ends within hours
    (r'"updates": \d+', '"updates": 60'),
    (r'"valid_every": \d+', '"valid_every": 30'),
    (r'"(max_updates|validate_every)": \d+', r'"\1": 30'),
)
MADE = ("encoders", "vectors", "scores", "similarities", "selected", "nmt", "likelihoods/*/*.pt")
SKIPPED = {".json", ".log"}  # what tells of time
PYTHON = """
import os, re, shlex, sys, time
flags = set(re.search("flags.*", open("/proc/cpuinfo").read())[0].split())
print(re.search("model name.*", open("/proc/cpuinfo").read())[0], *sorted(flag for flag in flags if flag.startswith("avx")), flush=True)
from bitextbench.base.device import torch
from bitextbench.cli.main import main
for line in open(sys.argv[1]):
    began, sys.argv = time.time(), ["bitextbench", *shlex.split(line)]
    if not (child := os.fork()):  # libraries are loaded once
        try:
            main()
        except SystemExit as end:
            os._exit(bool(end.code))
    status = os.waitpid(child, 0)[1]
    print(f"{time.time() - began:.0f} s, status {status}: {line[:60]}", flush=True)
"""
FIRST = """#!/bin/sh
export PATH=/bin
busybox mount -t proc proc /proc; busybox mount -t sysfs sys /sys; busybox mount -t devtmpfs dev /dev
while read module; do busybox insmod /modules/$module; done < /modules/order
busybox sleep 2
busybox mount -t ext4 -o rw /dev/sda /disk
exec busybox switch_root /disk /init.sh
"""
INIT = """#!/bin/sh
export PATH=/usr/bin HOME=/root LANG=C.UTF-8
mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t tmpfs tmp /tmp; mount -t devtmpfs dev /dev
mkdir -p /dev/shm; mount -t tmpfs shm /dev/shm
cd {repo}
{settings} {python} steps.py steps.txt 2> /tmp/log || tail -n 5 /tmp/log
find {made} -type f | sort | xargs sha256sum | sed 's/^/SUM /'
echo END; sleep 10; poweroff -f
"""
# Bochs 2.7 states a wrong size of the compacted state of vector registers, at which Linux would take AVX away
BOOT = """DEFAULT linux
LABEL linux
 KERNEL /vmlinuz
 APPEND initrd=/initrd console=ttyS0 mitigations=off clearcpuid=xsaves,xsavec quiet
"""
BOCHS = """memory: guest=3072, host=2048
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/vgabios/vgabios.bin
cpu: model={cpu}, count=1, ips=100000000, ignore_bad_msrs=1
clock: sync=none, time0=local
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=disk, path="{folder}/disk", mode=flat
ata0-slave: type=cdrom, path="{folder}/boot.iso", status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev={folder}/serial.txt
log: {folder}/bochs.log
panic: action=fatal
error: action=ignore
info: action=ignore
display_library: term
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cpu", default="corei7_skylake_x", help="`bochs --help cpu` lists them")
    parser.add_argument("--folder", type=Path, help="for all files, kept; else a temporary one")
    parser.add_argument("--steps", type=int, default=len(STEPS), help="the first so many")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        here = inputs(folder / "repo", options.steps)
        disk(folder, here)  # before the steps are made here
        cd(folder)
        run([sys.executable, "steps.py", "steps.txt"], here, os.environ | SETTINGS)
        wanted = sums(here)
        found = boot(folder, options.cpu)
    differ = sorted(name for name in wanted.keys() | found.keys() if wanted.get(name) != found.get(name))
    print(f"{len(wanted) - len(differ)} of {len(wanted)} files are the same {differ or ''}")
    sys.exit(bool(differ) or not wanted)


def run(command: list[str], cwd: Path, env: dict[str, str] | None = None) -> str:
    return subprocess.run(command, cwd=cwd, env=env, check=True, text=True, stdout=subprocess.PIPE).stdout


def inputs(repo: Path, count: int) -> Path:
    """A checkout in which the run has ended, with what STEPS make taken away, and their commands."""
    run(["git", "clone", "--quiet", str(ROOT), str(repo)], ROOT)
    python = os.environ | {"PYTHONPATH": "src", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    run([*MICRO.split(), "--quiet", "all", "--", TARGET], repo, python)
    plan = run([*MICRO.split(), "-n", "-p", "--forceall", "--", TARGET], repo, python)
    commands = re.findall(r"python -m bitextbench (.+?) 2>", plan)
    chosen = [
        next(command for command in commands if all(word in command for word in words)) for words in STEPS[:count]
    ]
    for pattern, fewer in FEWER:
        chosen = [re.sub(pattern, fewer, command) for command in chosen]
    (repo / "steps.txt").write_text("".join(f"{command}\n" for command in chosen))
    (repo / "steps.py").write_text(PYTHON)
    for pattern in (*MADE, "checkpoints"):
        for path in (repo / "work/micro").glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for command in chosen:
        for out in re.findall(r"--out[ =](\S+)", command):
            (repo / out).parent.mkdir(parents=True, exist_ok=True)
    return repo


def files(repo: Path) -> Iterator[Path]:
    for pattern in MADE:
        for path in (repo / "work/micro").glob(pattern):
            yield from (file for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file())


def sums(repo: Path) -> dict[str, str]:
    """The SHA-256 of each file that the steps made."""
    names = sorted(str(path.relative_to(repo)) for path in files(repo) if path.suffix not in SKIPPED)
    return {name: line.split()[0] for name in names for line in [run(["sha256sum", name], repo)]}


def disk(folder: Path, repo: Path) -> None:
    """The file `disk`: this Python, its environment and the checkout, and what INIT calls."""
    root, base, libraries = folder / "root", Path(sys.base_prefix), Path("usr/lib/x86_64-linux-gnu")
    for name in ("proc", "sys", "dev", "tmp", "usr/bin", "usr/lib64", "etc", str(libraries)):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64"):
        (root / name).symlink_to(f"usr/{name}")
    shutil.copy("/lib64/ld-linux-x86-64.so.2", root / "usr/lib64")
    for library in needed(base):
        shutil.copy(library, root / libraries)
    busybox(
        root / "usr/bin",
        "sh",
        "env",
        "mount",
        "mkdir",
        "find",
        "sort",
        "xargs",
        "sha256sum",
        "sed",
        "tail",
        "sleep",
        "poweroff",
    )
    run(["ldconfig", "-r", str(root)], folder)
    for path in (base, Path(sys.prefix), repo):
        (root / path.relative_to("/")).parent.mkdir(parents=True, exist_ok=True)
        run(["cp", "-a", str(path), str(root / path.relative_to("/"))], folder)
    settings = shlex.join(["env", *(f"{name}={value}" for name, value in SETTINGS.items())])
    made = " ".join(f"work/micro/{pattern}" for pattern in MADE)
    script(root / "init.sh", INIT.format(repo=repo, python=sys.executable, settings=settings, made=made))
    made_by = "mke2fs -q -F -t ext4 -O ^metadata_csum,^has_journal -d root disk 8G"
    run(made_by.split(), folder)


def cd(folder: Path) -> None:
    """The file `boot.iso`: a kernel of Debian's, with the modules that it needs to find the disk."""
    kernel = max(Path("/boot").glob("vmlinuz-*-cloud-amd64"))
    first, cd = folder / "first", folder / "cd"
    for path in (first / "modules", first / "proc", first / "sys", first / "dev", first / "disk", cd / "isolinux"):
        path.mkdir(parents=True)
    busybox(first / "bin", "sh")
    version = kernel.name.removeprefix("vmlinuz-")
    depends = [run(["modprobe", "-S", version, "--show-depends", name], folder) for name in ("sd_mod", "ata_piix")]
    modules = dict.fromkeys(re.findall(r"^insmod (\S+)", "".join(depends), re.MULTILINE))
    for module in modules:
        shutil.copy(module, first / "modules")
    (first / "modules/order").write_text("".join(f"{Path(module).name}\n" for module in modules))
    script(first / "init", FIRST)
    run(["sh", "-c", "find . | cpio --quiet -o -H newc > ../cd/initrd"], first)
    for file in ("/usr/lib/ISOLINUX/isolinux.bin", "/usr/lib/syslinux/modules/bios/ldlinux.c32"):
        shutil.copy(file, cd / "isolinux")
    shutil.copy(kernel, cd / "vmlinuz")
    (cd / "isolinux/isolinux.cfg").write_text(BOOT)
    made_by = "xorriso -as mkisofs -quiet -o boot.iso -b isolinux/isolinux.bin -c isolinux/boot.cat -no-emul-boot"
    run([*made_by.split(), "-boot-load-size", "4", "-boot-info-table", "cd"], folder)


def busybox(folder: Path, *names: str) -> None:
    """A folder with busybox, which is each of the named programs."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(shutil.which("busybox") or "/bin/busybox", folder / "busybox")
    for name in set(names):
        (folder / name).symlink_to("busybox")


def script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def needed(base: Path) -> list[str]:
    """The libraries of the system that Python and its packages load."""
    objects = [sys.executable, *map(str, base.rglob("*.so")), *map(str, Path(sys.prefix).rglob("*.so*"))]
    said = subprocess.run(["ldd", *objects], text=True, capture_output=True).stdout
    return sorted(set(re.findall(r"=> (/(?:usr/)?lib/\S+)", said)))


def boot(folder: Path, cpu: str) -> dict[str, str]:
    """The SHA-256 of each file that the steps made in Bochs; shows what it says on the way."""
    (folder / "bochsrc").write_text(BOCHS.format(cpu=cpu, folder=folder))
    serial, said, shown = folder / "serial.txt", "", 0
    screen = subprocess.Popen(
        ["script", "-qfc", f"bochs -q -f {shlex.quote(str(folder / 'bochsrc'))}", "/dev/null"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert screen.stdin is not None
    assert screen.stdout is not None
    for line in screen.stdout:
        if terminal := re.search(rb'connected to screen "(.+)"', line):
            break
    reader = subprocess.Popen(["cat", terminal[1]], stdout=subprocess.DEVNULL)  # Bochs waits for who reads its screen
    screen.stdin.write(b"c\n")  # its debugger: continue
    screen.stdin.flush()
    while screen.poll() is None and "END" not in said:
        time.sleep(5)
        said = serial.read_text(errors="replace") if serial.exists() else ""
        print(said[shown:], end="", flush=True)
        shown = len(said)
    for process in (screen, reader):
        process.kill()
    found = re.findall(r"^SUM ([0-9a-f]{64})\s+(\S+)", said, re.MULTILINE)
    return {name: digest for digest, name in found if Path(name).suffix not in SKIPPED}


if __name__ == "__main__":
    main()
