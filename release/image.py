#!/usr/bin/env python3
"""Makes the image of a release from the programs that release/build.sh has built, as an OCI layout in a tar, and prints its
digest and that of each machine.

usage: image.py ARCHIVE x86_64|aarch64|ppc64le|s390x=PROGRAM...

The image has one program and no shell: `kubectl debug` brings one. The same programs and certificate authorities give the
same digests. It needs zstd, cargo, and certificate authorities at /etc/ssl/certs/ca-certificates.crt (Debian:
ca-certificates).
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import source
import third_party
from archives import Entry, tar

AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")
USER = 65532
# Below this folder is the store of a container that names none, and mounts no volume there.
CACHE = "/var/lib"

# Runtimes of every Kubernetes that the manifests need know zstd; gzip is a sixth larger.
LAYER = "application/vnd.oci.image.layer.v1.tar+zstd"
CONFIG = "application/vnd.oci.image.config.v1+json"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"
INDEX = "application/vnd.oci.image.index.v1+json"

# The last level whose window (8 MiB) every runtime accepts. Threads would cut the text into pieces.
ZSTD = ["zstd", "-19", "--single-thread", "--stdout", "--quiet"]


class Layout:
    """The blobs of an OCI layout, by their paths."""

    def __init__(self):
        self.files = {}

    def add(self, content, media_type):
        """Adds a blob, and returns its descriptor. What is not bytes becomes JSON."""
        if not isinstance(content, bytes):
            content = json.dumps(content, separators=(",", ":")).encode()
        digest = hashlib.sha256(content).hexdigest()
        self.files[f"blobs/sha256/{digest}"] = content
        return {"mediaType": media_type, "digest": f"sha256:{digest}", "size": len(content)}


def root_file_system(machine, program):
    """Returns the entries of the only layer."""
    if not AUTHORITIES.exists():
        sys.exit(f"cannot make an image: {AUTHORITIES} is missing (Debian: apt-get install ca-certificates)")
    return [
        Entry("catalogql", program, 0o755),
        Entry("etc", None, 0o755),
        Entry("etc/group", f"catalogql:x:{USER}:\n".encode()),
        Entry("etc/passwd", f"catalogql:x:{USER}:{USER}::/:/nonexistent\n".encode()),
        Entry("etc/ssl", None, 0o755),
        Entry("etc/ssl/certs", None, 0o755),
        Entry("etc/ssl/certs/ca-certificates.crt", AUTHORITIES.read_bytes()),
        Entry("licenses", None, 0o755),
        Entry("licenses/LICENSE", (source.ROOT / "LICENSE").read_bytes()),
        Entry("licenses/third-party.txt.gz", third_party.document("licenses.gz", machine, "catalogql")),
        Entry("sbom.cdx.json", third_party.document("sbom", machine, "catalogql")),
        Entry("var", None, 0o755),
        Entry("var/lib", None, 0o755),
        # A named volume of Docker or Podman takes its owner from here.
        Entry("var/lib/catalogql", None, 0o755, USER),
    ]


def add_image(layout, machine, program):
    """Adds the image for one machine to the layout, and returns its descriptor."""
    layer = tar(root_file_system(machine, program), source.epoch())
    compressed = subprocess.run(ZSTD, input=layer, stdout=subprocess.PIPE, check=True).stdout
    platform = source.PLATFORMS[machine]
    target = {"architecture": platform.architecture, "os": platform.system}
    labels = {
        "title": "catalogql",
        "description": "GraphQL and catalogd's HTTP API over file-based catalogs",
        "licenses": "Apache-2.0",
        "version": source.VERSION,
        "revision": source.commit(),
    }
    config = {
        **target,
        "created": source.timestamp(),
        "config": {
            "User": f"{USER}:{USER}",
            "Env": [f"XDG_CACHE_HOME={CACHE}"],
            "Entrypoint": ["/catalogql"],
            "WorkingDir": "/",
            "Labels": {f"org.opencontainers.image.{name}": value for name, value in labels.items()},
        },
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]},
        "history": [{"created": source.timestamp(), "created_by": "release/image.py"}],
    }
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": layout.add(config, CONFIG),
        "layers": [layout.add(compressed, LAYER)],
    }
    return {**layout.add(manifest, MANIFEST), "platform": target}


def write(archive, programs):
    """Writes the image of these programs, given by machine, and returns its digest and that of each machine."""
    layout = Layout()
    images = {machine: add_image(layout, machine, path.read_bytes()) for machine, path in programs.items()}
    index = layout.add({"schemaVersion": 2, "mediaType": INDEX, "manifests": list(images.values())}, INDEX)
    named = {**index, "annotations": {"org.opencontainers.image.ref.name": source.VERSION}}
    files = {
        **dict(sorted(layout.files.items())),
        "index.json": json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": [named]}).encode(),
        "oci-layout": json.dumps({"imageLayoutVersion": "1.0.0"}).encode(),
    }
    folders = [Entry("blobs", None, 0o755), Entry("blobs/sha256", None, 0o755)]
    archive.write_bytes(tar(folders + [Entry(*file) for file in files.items()], source.epoch()))
    return {"index": index["digest"], **{machine: image["digest"] for machine, image in images.items()}}


def main():
    programs = dict(argument.partition("=")[::2] for argument in sys.argv[2:])
    machines = {machine for machine, platform in source.PLATFORMS.items() if platform.system == "linux"}
    if not programs or not set(programs) <= machines:
        sys.exit(__doc__)
    digests = write(Path(sys.argv[1]), {machine: Path(path) for machine, path in programs.items()})
    for name, digest in digests.items():
        print(f"{digest} {name}")


if __name__ == "__main__":
    main()
