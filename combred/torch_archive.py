"""Damage in the files of `torch.save` and `torch.jit.save`, which are zip archives.

torch does not compare their checksums when it reads them.
"""

import io
import zipfile
import zlib
from pathlib import Path

FOLDER = 0x10  # the attribute of a folder: bit 4, as MS-DOS has it


def damage_in(file: Path | io.BytesIO) -> str | None:
    """The name of the first damaged part of the file, or why it cannot be read; None if it is
    whole. Raises FileNotFoundError if there is no file.

    A part with the attribute of a folder, which a single flipped bit gives it and which no checksum
    covers, is damaged too: torch takes uninitialised memory for its contents.
    """
    try:
        with zipfile.ZipFile(file) as parts:
            marked = (part.filename for part in parts.infolist() if part.external_attr & FOLDER)
            return parts.testzip() or next(marked, None)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError) as error:
        return str(error) or type(error).__name__
