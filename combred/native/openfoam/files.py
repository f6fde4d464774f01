"""Files of a case of OpenFOAM, put into place all at once; what others wrote is kept."""

import logging
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from combred.files.records import put_in_place
from combred.processes.interrupts import postponed

log = logging.getLogger(__name__)

OWN = "// Written by combred, which overwrites it at the next export.\n"  # the first line
HEAD = "FoamFile {{ version 2.0; format ascii; class dictionary; object {0}; }}\n"
KEPT = ("thermo", "reactions")  # of others, are renamed


def put(contents: Mapping[str, bytes | None], folder: Path) -> list[Path]:
    """Put files into a folder, all or none of them; returns their paths. None: there is to be no
    such file. `thermo` and `reactions` of others, also symbolic links, are renamed to NAME.orig.

    Raises ValueError where there is a NAME.orig already, where a folder has the name of a file, and
    where `folder` is a symbolic link: what it leads to may belong to other cases.
    """
    if folder.is_symlink():
        raise ValueError(
            f"{folder} is a symbolic link, and other cases may use {folder.resolve()}: copy that "
            "folder into the case, or export to the case that has it"
        )
    folder.mkdir(parents=True, exist_ok=True)
    kept = {folder / name: folder / f"{name}.orig" for name in KEPT if name in contents}
    kept = {path: orig for path, orig in kept.items() if _is_of_others(path)}
    for path, orig in kept.items():
        if os.path.lexists(orig):
            raise ValueError(
                f"{path} is not of combred, and would be renamed to {orig}, which is there: move "
                "one of them to another folder"
            )
    folders = [folder / name for name in contents if (folder / name).is_dir()]
    for path in folders:
        if path not in kept and not path.is_symlink():
            raise ValueError(f"{path} is a folder, and a file has to be there: move it away")
    staged = {name: content for name, content in contents.items() if content is not None}
    with postponed(), tempfile.TemporaryDirectory(dir=folder, prefix=".combred-") as new:
        for name, content in staged.items():
            (Path(new) / name).write_bytes(content)
        for path, orig in kept.items():
            path.rename(orig)
            log.warning("%s is not of combred: it is now %s", path, orig)
        for name in contents.keys() - staged.keys():
            (folder / name).unlink(missing_ok=True)
        put_in_place({Path(new) / name: folder / name for name in staged})
    return [folder / name for name in staged]


def _is_of_others(path: Path) -> bool:
    """Whether something is there that is not a file with the first line of combred."""
    if path.is_symlink() or not path.is_file():
        return os.path.lexists(path)
    with path.open("rb") as file:
        return file.read(len(OWN)) != OWN.encode()
