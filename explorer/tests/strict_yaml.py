"""Reads YAML documents strictly and prints them as JSON: a key that occurs twice is an error, and so is a time or a tag."""

import json
import sys

import yaml


class Strict(yaml.SafeLoader):
    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        if len(set(keys)) < len(keys):
            raise yaml.constructor.ConstructorError(None, None, f"a key occurs twice: {keys}", node.start_mark)
        return super().construct_mapping(node, deep)


json.dump(list(yaml.load_all(sys.stdin.buffer.read().decode("utf-8"), Strict)), sys.stdout)
