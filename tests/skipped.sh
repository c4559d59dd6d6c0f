#!/bin/sh
# Ends a run of the tests with those that looked at nothing, as the file says that is given: one name a line.
set -eu

names=$(sort -u "$1")
[ -n "$names" ] || exit 0
count=$(printf '%s\n' "$names" | wc -l)
echo "$count tests looked at nothing, because the corpus of real catalogs is not unpacked (CONTRIBUTING.md says where):" \
  "$(printf '%s' "$names" | tr '\n' ' ')" >&2
