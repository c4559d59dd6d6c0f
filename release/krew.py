#!/usr/bin/env python3
"""Packs the plugin of kubectl for krew and prints its manifest.

usage: krew.py VERSION URL FOLDER OS/ARCH=PROGRAM...

VERSION  version of the release, such as 0.1.0
URL      where the archives will be: URL/NAME for each of them
FOLDER   where they are written to
PROGRAM  the plugin as it was built for that operating system and architecture, such as linux/amd64=target/kubectl-catalog

An archive has the program and the licence, and nothing that varies: the same program gives the same archive.
"""

import gzip
import hashlib
import io
import json
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAME = "kubectl-catalog"
CAVEATS = """For completion by kubectl 1.26 or newer, link the plugin under a second name:
  ln -s kubectl-catalog ~/.krew/bin/kubectl_complete-catalog
"""
DESCRIPTION = """Finds operators in the catalogs that a catalogql serves, shows channels, versions and
update graphs, plans upgrades, lists images to mirror, and compares contents.
"""


def archive(program, name):
    """Returns an archive with the program under this name."""
    out = io.BytesIO()
    # Without the time at which it was compressed.
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as packed, tarfile.open(fileobj=packed, mode="w") as tar:
        for path, entry, mode in [(program, name, 0o755), (ROOT / "LICENSE", "LICENSE", 0o644)]:
            bytes_ = path.read_bytes()
            info = tarfile.TarInfo(entry)
            info.size, info.mode = len(bytes_), mode
            tar.addfile(info, io.BytesIO(bytes_))
    return out.getvalue()


def platform(version, url, folder, built):
    """Writes the archive for one platform, and returns what the manifest says of it."""
    target, _, program = built.partition("=")
    system, _, architecture = target.partition("/")
    if not (system and architecture and program):
        sys.exit(f"cannot pack {built!r}: write it as OS/ARCH=PROGRAM")
    name = NAME + (".exe" if system == "windows" else "")
    packed = archive(Path(program), name)
    file = f"{NAME}-{version}-{system}-{architecture}.tar.gz"
    (folder / file).write_bytes(packed)
    return {
        "selector": {"matchLabels": {"os": system, "arch": architecture}},
        "uri": f"{url}/{file}",
        "sha256": hashlib.sha256(packed).hexdigest(),
        "files": [{"from": name, "to": "."}, {"from": "LICENSE", "to": "."}],
        "bin": name,
    }


def main():
    """Prints the manifest; JSON is YAML."""
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    version, url, folder = sys.argv[1], sys.argv[2].rstrip("/"), Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    manifest = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "catalog"},
        "spec": {
            "version": f"v{version}",
            "shortDescription": "Search and compare operators in served catalogs",
            "description": DESCRIPTION,
            "caveats": CAVEATS,
            "platforms": [platform(version, url, folder, built) for built in sys.argv[4:]],
        },
    }
    print(json.dumps(manifest, indent=2))


if __name__ == "__main__":
    main()
