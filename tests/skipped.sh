#!/bin/sh
# Ends a run of the tests with those that looked at nothing, as the file says that is given: one a line, what it lacked
# and its name with a tab between.
set -eu

sort -u "$1" | awk -F '\t' '
  $1 != missing { text = text (NR > 1 ? "; " : "") "without " $1 ":"; missing = $1 }
  { text = text " " $2 }
  END { if (NR) print NR " tests looked at nothing (CONTRIBUTING.md says what they need): " text }
' >&2
