"""Damage in the files of `torch.save` and `torch.jit.save`, which are zip archives.

torch does not compare their checksums when it reads them.
"""

import io
import re
import zipfile
from pathlib import Path

# Operations of TorchScript that write, read or map files, or call others; between words may be
# spaces and comments. A module calls them when it is loaded, if its __setstate__ does.
SPACE = r"(?:[\s\\]|#[^\n]*\n)*"
REACHING = re.compile(
    rf"\.{SPACE}(save|from_file|rpc_\w+)\b|\bops{SPACE}\.{SPACE}(?!aten\b|prim\b)(\w+)"
)
FOLDER = 0x10  # the attribute of a folder: bit 4, as MS-DOS has it


def damage_in(file: Path | io.BytesIO) -> str | None:
    """The name of the first damaged part of the file, or why it cannot be read; None if it is
    whole. Raises OSError if there is no file, or it cannot be opened.

    A part with the attribute of a folder, which a single flipped bit gives it and which no checksum
    covers, is damaged too: torch takes uninitialised memory for its contents.
    """
    data = io.BytesIO(file.read_bytes()) if isinstance(file, Path) else file
    try:
        with zipfile.ZipFile(data) as parts:
            marked = (part.filename for part in parts.infolist() if part.external_attr & FOLDER)
            return parts.testzip() or next(marked, None)
    except Exception as error:  # damage has many names: BadZipFile, zlib.error, LZMAError, OSError
        return str(error) or type(error).__name__


def reaching_out(file: io.BytesIO) -> str:
    """The first operation in the code of a whole archive of `torch.jit.save` that reaches files,
    other processes, or operations that are not torch's own; "" where there is none."""
    with zipfile.ZipFile(file) as parts:
        code = [parts.read(name) for name in parts.namelist() if "/code/" in f"/{name}"]
    found = REACHING.search("\n".join(text.decode(errors="replace") for text in code))
    return found[0] if found else ""
