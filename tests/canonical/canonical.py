#!/usr/bin/env python3
"""canonical.py DIRECTORY: writes the canonical lines of a file-based catalog to standard output.

A second reading of catalogs that shares no code with the first: what `/all` of the directory has to be, byte for byte.
Python's json reads JSON files, PyYAML reads the others; the text of numbers is kept as it is written. Without PyYAML a
directory with YAML files ends in status 3. It reads no .indexignore: status 4.
"""

import json
import os
import re
import sys




class Number(str):
    """The text of a number."""


def files(folder):
    """Every file, each folder in the order of its names."""
    for name in sorted(os.listdir(folder), key=os.fsencode):
        path = os.path.join(folder, name)
        if name == ".indexignore":
            sys.exit(4)
        if os.path.isdir(path):
            yield from files(path)
        else:
            yield path


def json_values(text):
    decoder = json.JSONDecoder(parse_int=Number, parse_float=Number)
    at, space = 0, re.compile(r"[ \t\r\n]*")
    at = space.match(text, at).end()
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield value
        at = space.match(text, at).end()


def yaml_values(text):
    try:
        import yaml
    except ImportError:
        print("PyYAML is missing: pip install pyyaml (Debian: apt-get install python3-yaml)", file=sys.stderr)
        sys.exit(3)

    class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
        """Numbers as they are written, and dates as text."""

    number = lambda loader, node: Number(node.value)
    Loader.add_constructor("tag:yaml.org,2002:int", number)
    Loader.add_constructor("tag:yaml.org,2002:float", number)
    Loader.add_constructor("tag:yaml.org,2002:timestamp", lambda loader, node: node.value)
    for value in yaml.load_all(text, Loader):
        if value is not None:
            yield value


CONTROL = {chr(code): f"\\u{code:04x}" for code in range(0x20)}
ESCAPES = {**CONTROL, "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "\\": "\\\\"}
ESCAPES |= {"\u2028": "\\u2028", "\u2029": "\\u2029"}
# Half of a letter is no letter: Go writes U+FFFD.
ESCAPES |= {chr(code): "\ufffd" for code in range(0xD800, 0xE000)}
ESCAPED = re.compile('[\\x00-\\x1f"\\\\\u2028\u2029\ud800-\udfff]')


def quoted(text):
    return '"' + ESCAPED.sub(lambda match: ESCAPES[match.group()], text) + '"'


def encoded(value):
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, str):
        return quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list):
        return "[" + ",".join(map(encoded, value)) + "]"
    members = sorted(((str(key), value) for key, value in value.items()), key=lambda member: member[0])
    return "{" + ",".join(quoted(key) + ":" + encoded(value) for key, value in members) + "}"


def main():
    sys.setrecursionlimit(100_000)
    for path in files(sys.argv[1]):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        values = json_values(text) if text.lstrip().startswith("{") else yaml_values(text)
        for value in values:
            sys.stdout.buffer.write(encoded(value).encode() + b"\n")


main()
