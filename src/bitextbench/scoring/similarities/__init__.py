"""One module a similarity; `bitextbench.scoring` says what it has. Folders of plugins may have more."""

from bitextbench.base import members

__path__ = members.folders("similarities")
