#!/usr/bin/env python3
"""Packs the plugin of kubectl for krew and prints its manifest.

usage: krew.py URL FOLDER x86_64|aarch64|ppc64le|s390x|x86_64-windows=PROGRAM...

URL      where the archives will be: URL/NAME for each of them
FOLDER   where they are written to
PROGRAM  the plugin as it was built for that machine, such as x86_64=target/kubectl-catalog-0.1.0-x86_64

An archive has the program, its licence and those of what is linked into it, and nothing that varies: the same program
gives the same archive.
"""

import hashlib
import json
import sys
from pathlib import Path

import source
import third_party
from archives import Entry, tar_gz

NAME = "kubectl-catalog"
CAVEATS = """For completion by kubectl 1.26 or newer, link the plugin under a second name:
  ln -s kubectl-catalog ~/.krew/bin/kubectl_complete-catalog
"""
DESCRIPTION = """Finds operators in the catalogs that a catalogql serves, shows channels, versions and
update graphs, plans upgrades, lists images to mirror, and compares contents.
"""


def pack(url, folder, machine, program):
    """Writes the archive for one machine, and returns what the manifest says of it."""
    platform = source.PLATFORMS[machine]
    name = NAME + (".exe" if platform.system == "windows" else "")
    entries = [
        Entry(name, program.read_bytes(), 0o755),
        Entry("LICENSE", (source.ROOT / "LICENSE").read_bytes()),
        Entry("third-party.txt", third_party.document("licenses", machine, NAME)),
    ]
    packed = tar_gz(entries)
    file = f"{NAME}-{source.VERSION}-{platform.system}-{platform.architecture}.tar.gz"
    (folder / file).write_bytes(packed)
    return {
        "selector": {"matchLabels": {"os": platform.system, "arch": platform.architecture}},
        "uri": f"{url.rstrip('/')}/{file}",
        "sha256": hashlib.sha256(packed).hexdigest(),
        "files": [{"from": entry.name, "to": "."} for entry in entries],
        "bin": name,
    }


def write(url, folder, programs):
    """Writes the archives of these programs, given by machine, and returns the manifest; JSON is YAML."""
    manifest = {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": "catalog"},
        "spec": {
            "version": f"v{source.VERSION}",
            "shortDescription": "Search and compare operators in served catalogs",
            "description": DESCRIPTION,
            "caveats": CAVEATS,
            "platforms": [pack(url, folder, machine, program) for machine, program in programs.items()],
        },
    }
    return json.dumps(manifest, indent=2) + "\n"


def main():
    programs = dict(argument.partition("=")[::2] for argument in sys.argv[3:])
    if not programs or not set(programs) <= set(source.PLATFORMS):
        sys.exit(__doc__)
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    print(write(sys.argv[1], folder, {machine: Path(path) for machine, path in programs.items()}), end="")


if __name__ == "__main__":
    main()
