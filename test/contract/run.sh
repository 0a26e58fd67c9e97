#!/usr/bin/env bash
# Clients that nobody here wrote, against azcsi-sim: the official Python SDK over TLS, and the models
# of azure_mgmt_compute. Needs Rust, and Python 3.11 or newer with venv; fetches the rest, pinned by
# hash, into the cache, and says so.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${AZCSI_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/azcsi}
cargo=${CARGO:-cargo}
scale=10
work=$(mktemp -d)
simulator=

say() { printf 'contract: %s\n' "$*"; }
fail() { printf 'contract: FAILED: %s\n' "$*" >&2; exit 1; }

stop_simulator() {
  [ -n "$simulator" ] || return 0
  kill -TERM "$simulator" 2>/dev/null || true
  wait "$simulator" 2>/dev/null || true
  simulator=
}

finish() {
  local code=$?
  stop_simulator
  if [ "$code" -ne 0 ] && [ -n "${KEEP:-}" ]; then say "left in $work"; else rm -rf "$work"; fi
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

# The virtual environment is named after what is in it, and appears under its name when complete.
python_environment() {
  local python hash
  python=$(command -v "${PYTHON:-python3}") || fail "there is no python3"
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || fail "$python is older than 3.11"
  hash=$( (cat "$here/requirements.txt"; "$python" -c 'import sys; print(sys.version, sys.prefix)') | sha256sum | cut -c1-16)
  venv=$cache/contract-$hash
  if [ -f "$venv/complete" ]; then return 0; fi
  say "fetching from the Python package index into $venv:"
  grep -oE '^[A-Za-z0-9_.-]+(\[[a-z]+\])?==[^ ]+' "$here/requirements.txt" | sed 's/^/contract:   /'
  mkdir -p "$cache"
  rm -rf "$venv"
  "$python" -m venv "$venv" || fail "python3 cannot make virtual environments; on Debian: apt-get install python3-venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes \
    --requirement "$here/requirements.txt" || fail "the packages cannot be installed"
  touch "$venv/complete"
}

# start_simulator PROFILE SCALE
start_simulator() {
  rm -rf "$work/state"
  "$binary" serve --world "$work/world.toml" --dir "$work/state" --profile "$1" --time-scale "$2" \
    --print-endpoints "$work/endpoints.json" 2>"$work/simulator.log" &
  simulator=$!
  local _
  for _ in $(seq 300); do
    if [ -f "$work/endpoints.json" ]; then return 0; fi
    kill -0 "$simulator" 2>/dev/null || { cat "$work/simulator.log" >&2; simulator=; fail "the simulator does not start"; }
    sleep 0.1
  done
  fail "the simulator does not serve after 30 s"
}

# Shows what a part prints and keeps its counts; a part that breaks off counts as one failure.
passed=0 failed=0
part() {
  local name=$1 code=0
  shift
  "$@" >"$work/$name.out" 2>&1 || code=$?
  cat "$work/$name.out"
  local line
  line=$(grep -E '^[a-z-]+: [0-9]+ passed, [0-9]+ failed$' "$work/$name.out" | tail -1) || line=
  if [ -z "$line" ]; then
    say "$name broke off with exit code $code"
    failed=$((failed + 1))
    return 0
  fi
  passed=$((passed + $(sed -E 's/.*: ([0-9]+) passed.*/\1/' <<<"$line")))
  failed=$((failed + $(sed -E 's/.* ([0-9]+) failed$/\1/' <<<"$line")))
}

storage_clients() {
  REQUESTS_CA_BUNDLE=$work/state/ca.pem PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" "$here/storage.py" \
    --endpoints "$work/endpoints.json" "$@"
}

official_client() {
  REQUESTS_CA_BUNDLE=$work/state/ca.pem PYTHONDONTWRITEBYTECODE=1 "$venv/bin/python" "$here/compute.py" \
    --endpoints "$work/endpoints.json" --certificate "$work/app.pem" "$@"
}

python_environment
say "building the simulator and the drivers' client"
(cd "$root" && $cargo build --quiet --locked -p azcsi-sim -p azcsi-contract) || fail "the build"
built=${CARGO_TARGET_DIR:-$root/target}/debug
binary=$built/azcsi-sim
say "building the model check (crates of its own, pinned in models/Cargo.lock)"
models_target=${CARGO_TARGET_DIR:-$root/target}/contract-models
(cd "$here/models" && CARGO_TARGET_DIR=$models_target $cargo build --quiet --locked) || fail "the build of the model check"

"$binary" world --kind uniform --nodes 1 | "$venv/bin/python" "$here/make_world.py" "$work/app.pem" >"$work/world.toml"

say "official Python client, operations end at once"
start_simulator instant 1
part instant official_client --profile instant --record "$work/exchanges.jsonl"

say "official Python clients of storage and networks, operations end at once"
part storage-instant storage_clients --profile instant

say "the drivers' own client, recorded"
part ours "$built/contract-ours" --endpoints "$work/endpoints.json" --record "$work/exchanges.jsonl"

say "models of azure_mgmt_compute: what went over the wire, field for field, and its own GET and LIST calls"
part models "$models_target/debug/contract-models" --exchanges "$work/exchanges.jsonl" --endpoints "$work/endpoints.json"
stop_simulator
rm -f "$work/endpoints.json"

say "official Python client, operations take their time ($scale times as fast as Azure)"
start_simulator azure "$scale"
part azure official_client --profile azure
part storage-azure storage_clients --profile azure
stop_simulator

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
