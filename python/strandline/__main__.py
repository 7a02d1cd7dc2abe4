# SPDX-License-Identifier: Apache-2.0
"""The command ``strandline``, also ``python -m strandline``."""

import sys
from collections.abc import Sequence

USAGE = """\
usage: strandline run [options] [--] script.py [argument ...]
       strandline run [options] -m module [argument ...]
       strandline info [--json]
       strandline symbolize BINARY ...
       strandline check | report | at | diff | leaks | fragmentation | oom | events FILE ...
       strandline slice | convert FILE OUTPUT ...
       strandline completion bash | zsh | fish

  run    run a Python program, record its memory, report what held the peak
  info   versions, what is recorded here, and why something is not
  symbolize
         put names in place of module+offset in a text, from unstripped binaries

strandline VERB --help tells the options."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status; what the recorded program raised may come out as it is."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    verb = words[0] if words else ""
    if verb == "run":
        from .run import run

        return run(words[1:])
    if verb == "info":
        from .info import info

        return info(words[1:])
    if verb == "symbolize":
        from .symbolize import symbolize

        return symbolize(words[1:])
    if verb in ("-h", "--help", "help"):
        from .files import help_text

        print(f"{USAGE}\n\nAnswers from snapshots, PyTorch's and ours:\n{help_text()}", end="")
        return 0
    if verb in ("-V", "--version"):
        from . import __version__

        print(f"strandline {__version__}")
        return 0
    if verb:
        from . import files

        if files.is_verb(verb):
            return files.run(words)
    got = f"unknown command {verb!r}" if verb else "no command given"
    print(f"strandline: {got}\n{USAGE}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
