#!/usr/bin/env python3
"""Makes the folder of a release from the programs that release/build.sh has built. release/make.sh builds them and then
runs this.

usage: pack.py URL FOLDER PROGRAM...

URL      where the files of the folder will be published: the manifest for krew names URL/NAME
FOLDER   what is made; only a folder that this script has made is replaced
PROGRAM  catalogql-VERSION-MACHINE, with its line tables beside it (.debug), or kubectl-catalog-VERSION-MACHINE

The same programs give the same files. It needs cargo, git, zstd, and certificate authorities (see image.py).
"""

import hashlib
import os
import re
import shutil
import sys
from pathlib import Path

import image
import krew
import source
import third_party
from archives import Entry, tar_gz
from source import ROOT, VERSION

CHART = ROOT / "deploy/helm/catalogql"
SUMS = "SHA256SUMS"
UNRELEASED = "Unreleased"


def by_name(paths):
    """Returns the programs by name and machine."""
    programs = {name: {} for name in third_party.PROGRAMS}
    machines = "|".join(source.PLATFORMS)
    pattern = re.compile(rf"({'|'.join(programs)})-{re.escape(VERSION)}-({machines})(\.exe)?")
    for path in paths:
        found = pattern.fullmatch(path.name)
        if not found:
            sys.exit(f"cannot pack `{path}`: expected NAME-{VERSION}-MACHINE, as release/build.sh names programs")
        refuse_machine_paths(path)
        programs[found[1]][found[2]] = path
    return programs


def refuse_machine_paths(path):
    """Ends the script if the file names a folder of the machine that built it."""
    home = Path.home()
    folders = [
        ROOT,
        Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).absolute(),
        Path(os.environ.get("CARGO_HOME", home / ".cargo")) / "registry",
        Path(os.environ.get("RUSTUP_HOME", home / ".rustup")) / "toolchains",
    ]
    content = path.read_bytes()
    for folder in folders:
        if f"{folder}/".encode() in content:
            sys.exit(f"cannot pack `{path}`: it names the folder `{folder}` of this machine; build it with release/build.sh")


def chart():
    """Returns the chart as Helm packages it. Helm wants Chart.yaml early, and it sorts first."""
    text = (CHART / "Chart.yaml").read_text()
    for field in ("version", "appVersion"):
        if f"\n{field}: {VERSION}\n" not in text:
            sys.exit(f"cannot pack the chart: write `{field}: {VERSION}`, the version in Cargo.toml, in its Chart.yaml")
    files = [path for path in sorted(CHART.rglob("*")) if path.is_file()]
    return tar_gz([Entry(f"catalogql/{path.relative_to(CHART)}", path.read_bytes()) for path in files])


def notes():
    """Returns the section of the changelog for this version, or else what is unreleased."""
    sections = re.split(r"^## (.+)\n", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    by_version = {title.split()[0]: (title, text) for title, text in zip(sections[1::2], sections[2::2])}
    found = by_version.get(VERSION) or by_version.get(UNRELEASED)
    if not found:
        sys.exit(f"cannot cut release notes: CHANGELOG.md has no section `## {VERSION}`")
    title, text = found
    return f"# catalogql {VERSION if title == UNRELEASED else title}\n\n{text.strip()}\n"


def write(url, folder, programs):
    for name, built in programs.items():
        for machine in built:
            stem = f"{name}-{VERSION}-{machine}"
            (folder / f"{stem}.cdx.json").write_bytes(third_party.document("sbom", machine, name))
            (folder / f"{stem}.licenses.txt").write_bytes(third_party.document("licenses", machine, name))
    for path in programs["catalogql"].values():
        line_tables = path.with_name(f"{path.name}.debug")
        refuse_machine_paths(line_tables)
        shutil.copy(path, folder)
        shutil.copyfile(line_tables, folder / line_tables.name)
    if programs["catalogql"]:
        digests = image.write(folder / f"catalogql-{VERSION}.oci.tar", programs["catalogql"])
        (folder / f"catalogql-{VERSION}.digest").write_text(digests["index"] + "\n")
    if programs["kubectl-catalog"]:
        manifest = krew.write(url, folder, programs["kubectl-catalog"])
        (folder / f"kubectl-catalog-{VERSION}.krew.yaml").write_text(manifest)
    (folder / f"catalogql-{VERSION}.tgz").write_bytes(chart())
    (folder / "RELEASE-NOTES.md").write_text(notes())
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    files = sorted(folder.iterdir())
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder / SUMS).write_text("".join(sums))


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    url, folder, programs = sys.argv[1], Path(sys.argv[2]), by_name([Path(path) for path in sys.argv[3:]])
    if folder.exists() and not (folder / SUMS).exists():
        sys.exit(f"cannot write the release to `{folder}`: it exists, and has no {SUMS}; remove it or name another folder")

    # All or nothing: a release that lacks files looks like one.
    part = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    write(url, part, programs)
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
    print((folder / SUMS).read_text(), end="")


if __name__ == "__main__":
    main()
