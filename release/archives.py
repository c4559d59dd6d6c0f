"""Writes archives in which nothing varies: the same entries give the same bytes."""

import gzip
import io
import tarfile
from typing import NamedTuple


class Entry(NamedTuple):
    """A file of an archive, or a directory if it has no content."""

    name: str
    content: bytes | None
    mode: int = 0o644
    # Of user and group.
    owner: int = 0


def tar(entries, mtime=0):
    """Returns a tar archive of these entries, in their order. Every entry has the same time."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for entry in entries:
            info = tarfile.TarInfo(entry.name)
            info.mode, info.mtime = entry.mode, mtime
            info.uid = info.gid = entry.owner
            if entry.content is None:
                info.type = tarfile.DIRTYPE
                archive.addfile(info)
            else:
                info.size = len(entry.content)
                archive.addfile(info, io.BytesIO(entry.content))
    return out.getvalue()


def tar_gz(entries):
    """Returns the same compressed, without the time at which it was."""
    return gzip.compress(tar(entries), mtime=0)
