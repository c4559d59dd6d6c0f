"""What the scripts of a release read from the source: its version, its commit, and the platforms that are built."""

import os
import subprocess
import tomllib
from datetime import datetime, timezone
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]


class Platform(NamedTuple):
    """A machine as images and krew name it, and Rust's name of it."""

    system: str
    architecture: str
    target: str


# By the names that release/build.sh takes.
PLATFORMS = {
    "x86_64": Platform("linux", "amd64", "x86_64-unknown-linux-gnu"),
    "aarch64": Platform("linux", "arm64", "aarch64-unknown-linux-gnu"),
    "ppc64le": Platform("linux", "ppc64le", "powerpc64le-unknown-linux-gnu"),
    "s390x": Platform("linux", "s390x", "s390x-unknown-linux-gnu"),
    "x86_64-windows": Platform("windows", "amd64", "x86_64-pc-windows-gnu"),
}


def git(*arguments):
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def commit():
    """The commit that is built, in full."""
    return git("rev-parse", "HEAD")


def epoch():
    """The time that everything of the release carries, in seconds: that of the commit."""
    return int(os.environ.get("SOURCE_DATE_EPOCH") or git("log", "-1", "--format=%ct"))


def timestamp():
    """The same time, as RFC 3339 writes it."""
    return datetime.fromtimestamp(epoch(), timezone.utc).isoformat()
