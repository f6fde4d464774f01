"""The command: `python -m combred.pipeline stage=2 key=value`."""

import os
import signal
import sys


def _stop(number: int, _: object) -> None:
    """End at once: torch and Cantera are being loaded, or unloaded, and no work is lost."""
    os.write(2, b"stopped. The same command goes on from here.\n")
    os._exit(128 + number)


if __name__ == "__main__":
    for each in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, _stop)
    from combred.pipeline.command import main

    sys.exit(main(sys.argv[1:]))
