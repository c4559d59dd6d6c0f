#!/usr/bin/env python3
"""Says which crates are linked into a program and which npm packages are in its pages, from what cargo resolves for a
machine and from what was built of the pages for people.

usage: third_party.py sbom|licenses|licenses.gz x86_64|aarch64|ppc64le|s390x|x86_64-windows [catalogql|kubectl-catalog]

sbom         a CycloneDX document (JSON) with every crate and package, its licence, and the checksums of crates
licenses     the texts of their licences, each text once with what it is for
licenses.gz  the same, compressed, as the program embeds it

Crates that only build scripts, macros or tests use are not linked, and not listed. What C code a crate brings is part
of that crate; glibc, which programs for Linux link statically, is listed besides.
"""

import functools
import gzip
import json
import os
import re
import subprocess
import sys
import tomllib
import uuid
from pathlib import Path

import source
from source import ROOT

# What Vite has put into the pages; a program without a page has none of it.
PAGES = [ROOT / page / "dist/licenses.json" for page in ("explorer", "playground")]
PROGRAMS = ("catalogql", "kubectl-catalog")
# Those of the program catalogql in release/build.sh.
FEATURES = "export-parquet,mcp,shared-store,signatures-gpg,source-git"
LICENSE = re.compile(r"(licen[cs]e|copying|notice|unlicense|copyright)", re.IGNORECASE)


def cargo(*arguments):
    command = ["cargo", *arguments, "--locked"]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


@functools.cache
def described():
    """All packages of the lock file, by name and version."""
    metadata = json.loads(cargo("metadata", "--format-version=1", f"--features={FEATURES}"))
    return {(package["name"], package["version"]): package for package in metadata["packages"]}


def linked(machine, program):
    """The packages that are linked, by name and version, and what each needs.

    `cargo metadata` describes packages, but takes features that only tests ask for; `cargo tree` does not.
    """
    which = [f"--package={program}", f"--target={source.PLATFORMS[machine].target}"]
    features = [f"--features={FEATURES}"] if program == "catalogql" else []
    tree = cargo("tree", *which, *features, "--edges=normal,no-proc-macro", "--prefix=depth", "--format= {p}")
    needs, path = {}, []
    for line in tree.splitlines():
        depth, name, version = line.split()[:3]
        key = (name, version.removeprefix("v"))
        del path[int(depth):]
        if path:
            needs[path[-1]].add(key)
        needs.setdefault(key, set())
        path.append(key)
    return {key: described()[key] for key in needs}, needs


def reference(package):
    return f"pkg:cargo/{package['name']}@{package['version']}"


def component(package, checksums):
    is_ours = package["source"] is None
    made = {
        "type": "application" if package["name"] in PROGRAMS else "library",
        "bom-ref": reference(package),
        "name": package["name"],
        "version": package["version"],
        "purl": reference(package),
        # Some crates write the old form of OR.
        "licenses": [{"expression": (package["license"] or "NOASSERTION").replace("/", " OR ")}],
    }
    if not is_ours:
        made["hashes"] = [{"alg": "SHA-256", "content": checksums[package["name"], package["version"]]}]
    return made


def has_glibc(machine):
    return source.PLATFORMS[machine].system == "linux"


def glibc():
    version = os.confstr("CS_GNU_LIBC_VERSION").split()[1]
    return {
        "type": "library",
        "bom-ref": f"pkg:generic/glibc@{version}",
        "name": "glibc",
        "version": version,
        "purl": f"pkg:generic/glibc@{version}",
        "licenses": [{"expression": "LGPL-2.1-or-later"}],
    }


def npm_packages(program):
    """The packages in the pages of the program; the plugin has none."""
    pages = PAGES if program == "catalogql" else []
    found = [package for page in pages if page.exists() for package in json.loads(page.read_text())]
    return list({(package["name"], package["version"]): package for package in found}.values())


def npm_component(package):
    purl = f"pkg:npm/{package['name'].replace('@', '%40')}@{package['version']}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": package["name"],
        "version": package["version"],
        "purl": purl,
        "licenses": [{"expression": package.get("identifier") or "NOASSERTION"}],
    }


@functools.cache
def sbom(machine, program):
    packages, needed = linked(machine, program)
    others = [glibc()] if has_glibc(machine) else []
    others += [npm_component(package) for package in npm_packages(program)]
    lock = tomllib.loads((ROOT / "Cargo.lock").read_text())
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in lock["package"]}
    components = sorted((component(package, checksums) for package in packages.values()), key=lambda it: it["bom-ref"])
    root = next(it for it in components if it["name"] == program)
    needs = {reference(packages[key]): sorted(reference(packages[of]) for of in deps) for key, deps in needed.items()}
    needs[root["bom-ref"]] += [part["bom-ref"] for part in others]
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"timestamp": source.timestamp(), "component": root},
        "components": [it for it in components if it is not root] + others,
        "dependencies": [{"ref": ref, "dependsOn": deps} for ref, deps in sorted(needs.items())],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(document, sort_keys=True))
    return json.dumps({**document, "serialNumber": f"urn:uuid:{serial}"}, indent=1, sort_keys=True)


@functools.cache
def license_texts(folder):
    """The texts of licences in the folder of a crate."""
    files = [Path(parent, name) for parent, _, names in os.walk(folder) for name in names if LICENSE.match(name)]
    # Others are texts of what is not linked: tests, and sources of other languages beside them.
    files = [path for path in files if path.suffix.lower() in ("", ".md", ".txt") or LICENSE.match(path.suffix[1:])]
    return sorted({path.read_text(errors="replace").strip() for path in files})


@functools.cache
def licenses(machine, program):
    packages, _ = linked(machine, program)
    texts, without = {}, []
    for package in sorted(packages.values(), key=reference):
        if package["source"] is None:
            continue
        name = f"{package['name']} {package['version']} ({package['license']})"
        found = license_texts(Path(package["manifest_path"]).parent)
        for text in found:
            texts.setdefault(text, []).append(name)
        if not found:
            without.append(name)
    for package in npm_packages(program):
        name = f"{package['name']} {package['version']} ({package['identifier']}, npm)"
        text = package.get("text")
        texts.setdefault(text.strip(), []).append(name) if text else without.append(name)
    parts = [f"{program} is licensed under Apache-2.0. What is linked into it has the licences below"]
    if program == "catalogql":
        parts[0] += (
            ", and so have the npm\npackages of the pages that it serves. The icons of an editor are Codicons by Microsoft "
            "(CC-BY-4.0)"
        )
    parts[0] += "."
    if has_glibc(machine):
        parts[0] += (
            f"\n\nglibc {glibc()['version']} is linked statically (LGPL-2.1-or-later; https://www.gnu.org/software/libc).\n"
            "release/build.sh in the source of catalogql links the program again with another glibc."
        )
    parts += ["\n".join(names) + "\n\n" + text for text, names in sorted(texts.items(), key=lambda item: item[1])]
    if without:
        parts.append("Published without a text of their licence:\n\n" + "\n".join(without))
    return f"\n\n{'=' * 100}\n\n".join(parts)


FORMATS = {"sbom": sbom, "licenses": licenses, "licenses.gz": licenses}


def document(format_, machine, program):
    """Returns a document about a program in one of the formats."""
    text = (FORMATS[format_](machine, program) + "\n").encode()
    return gzip.compress(text, mtime=0) if format_.endswith(".gz") else text


def main():
    format_, machine, program = (*sys.argv[1:], "catalogql")[:3] if len(sys.argv) in (3, 4) else ("", "", "")
    if format_ not in FORMATS or machine not in source.PLATFORMS or program not in PROGRAMS:
        sys.exit(__doc__)
    sys.stdout.buffer.write(document(format_, machine, program))


if __name__ == "__main__":
    main()
