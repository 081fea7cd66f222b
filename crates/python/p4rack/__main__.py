"""`python -m p4rack` is the command."""

from . import command

command()
