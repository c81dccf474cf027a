"""One module a type of encoder; `bitextbench.encoders` says what it has. Folders of plugins may have more."""

from bitextbench.base import members

__path__ = members.folders("encoders")
