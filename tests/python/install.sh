#!/bin/sh
# Installs the packages of requirements.txt into a folder of their own, once for each content of that file, and prints
# the path of its Python.
set -eu
cd "$(dirname "$0")"

version=$(cksum requirements.txt | cut -d ' ' -f 1)
folder=${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/python-$version
if ! [ -e "$folder/installed" ]; then
    rm -rf "$folder"
    python3 -m venv "$folder" >&2 || { echo 'python3-venv is missing (Debian: apt-get install python3-venv)' >&2; exit 1; }
    "$folder/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt >&2
    touch "$folder/installed"
fi
echo "$folder/bin/python"
