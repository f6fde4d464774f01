"""Files of `torch.save` and `torch.jit.save`, which are zip archives, read once and checked.

Takes a file; gives its parts (name -> content), and an archive that is written anew from them for
torch. torch itself compares no checksums, takes the first of two parts of one name, where Python
takes the last, and ignores case in names.
"""

import io
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path

from combred.config.fields import require, shown

# Between words of TorchScript may be spaces and comments.
SPACE = r"(?:[\s\\]|#[^\n]*\n)*+"
# Operations of TorchScript that write, read or map files, or call other processes, also by a name
# in a text; operations that are not torch's own; its compiled classes. A module calls them when it
# is loaded, if its __setstate__ does.
REACHING = re.compile(
    rf"\.{SPACE}(?:save|from_file|classes)\b|\brpc_\w+|\bops\b(?!{SPACE}\.{SPACE}(?:aten|prim)\b)"
    rf"|\bgetattr\b(?!{SPACE}\({SPACE}\w+{SPACE},{SPACE}\"(?![A-Za-z_]\w*\")[^\"\\\n]*\"{SPACE}\))"
)
CLASSES = re.compile(rb"torch[.\n]classes")  # the same in a pickle
FOLDER = 0x10  # the attribute of a folder: bit 4, as MS-DOS has it
# The parts that torch writes, after the name of the archive.
NAME = re.compile(
    r"[^/]+/(code/[^/].*\.py(\.debug_pkl)?|(data|constants)(\.pkl|/\d+)|extra/[^/]+|version"
    r"|byteorder|\.data/(serialization_id|version)|\.format_version|\.storage_alignment)"
)
# Bytes of all parts beyond those of the file: torch compresses code alone.
UNPACKED = 256_000_000


def read_parts(file: Path | io.BytesIO) -> dict[str, bytes]:
    """The parts of a whole archive. Raises OSError if there is no file, or it cannot be opened, and
    ValueError, with the part or the reason, if it is damaged, or has two parts of one name but for
    capitals.

    A part with the attribute of a folder, which a single flipped bit gives it and which no checksum
    covers, is damaged, too: torch takes uninitialised memory for its contents.
    """
    content = file.read_bytes() if isinstance(file, Path) else file.getvalue()
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            entries = archive.infolist()
            size = sum(entry.file_size for entry in entries)
            require(
                size <= len(content) + UNPACKED,
                f"its parts stand for {size:,} bytes, in a file of {len(content):,} bytes",
            )
            names: set[str] = set()
            parts = {}
            for entry in entries:
                name = entry.filename
                require(name.lower() not in names, f"it has the part {shown(name)} twice")
                require(not entry.external_attr & FOLDER, f"{shown(name)} is marked as a folder")
                names.add(name.lower())
                parts[name] = _part(archive, entry)
            return parts
    except Exception as error:  # damage has many names: BadZipFile, zlib.error, LZMAError, OSError
        raise ValueError(shown(str(error) or type(error).__name__, 200)) from error


def _part(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """The content of a part. Raises ValueError, with its name, where it is damaged."""
    try:
        return archive.read(entry)
    except Exception as error:
        raise ValueError(f"its part {shown(entry.filename)}: {error}") from error


def written_anew(parts: Mapping[str, bytes]) -> io.BytesIO:
    """An archive of these parts alone."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writer:
        for name, content in parts.items():
            writer.writestr(zipfile.ZipInfo(name), content)
    archive.seek(0)
    return archive


def require_own_parts(parts: Mapping[str, bytes]) -> None:
    """ValueError where an archive has another part than torch writes, or parts of two archives."""
    strange = next((name for name in parts if not NAME.fullmatch(name)), None)
    require(strange is None, f"it has the part {shown(strange)}, which torch does not write")
    folders = sorted({name.partition("/")[0] for name in parts})
    require(len(folders) == 1, f"it has parts of {len(folders)} archives")


def reaching_out(parts: Mapping[str, bytes]) -> str:
    """The first operation in the code of an archive of `torch.jit.save` that reaches files, other
    processes, or operations that are not torch's own; "" where there is none."""
    for name, content in parts.items():
        if name.endswith("pkl") and CLASSES.search(content):
            return "torch.classes"
        if name.endswith(".py") and (call := REACHING.search(content.decode(errors="replace"))):
            return call[0]
    return ""
