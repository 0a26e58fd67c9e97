#!/usr/bin/env bash
# csi-sanity with every process in a container of its own: the local Azure, the Disk driver, and the suite.
# The same runner and the same judgement as without containers; the programs it starts are small
# launchers that put the real ones into containers.
#   run.sh BIN SUITE REPORTS [argument of azcsi-sanity]...
# Uses the Docker engine that DOCKER_HOST names or that answers by default; else it starts one of its
# own, with its data in a folder of its own, and stops it at the end.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
[ $# -ge 3 ] || { echo "usage: run.sh BIN SUITE REPORTS [argument of azcsi-sanity]..." >&2; exit 2; }
bin="$(realpath "$1")" suite="$(realpath "$2")"
mkdir -p "$3"
reports="$(realpath "$3")"
exec 9>"$reports/lock"
flock -n 9 || { echo "sanity-docker: another run writes its reports to $reports: wait for it, or name another folder" >&2; exit 1; }
shift 3
export PATH="$PATH:/usr/sbin:/sbin"

fail() { echo "sanity-docker: $1" >&2; exit 1; }
[ "$(id -u)" -eq 0 ] || fail "it makes loop devices and mounts: run it as root (make sanity-docker does, through sudo)"
# Why no engine can run here, for callers that want to go on without one.
rm -f "$reports/no-engine"
no_engine() { echo "$1" >"$reports/no-engine"; fail "$1"; }
command -v docker >/dev/null || no_engine "there is no 'docker' client; install the engine first: apt-get install docker.io"

work="$(mktemp -d /tmp/azcsi-docker-XXXXXX)"
run="$(basename "$work" | tr A-Z a-z)" # image names are lower case
engine='' suite_pid=''

remove_containers() {
  local left
  left="$(docker ps -aq --filter "label=$run" 2>/dev/null)" || return 0
  # shellcheck disable=SC2086 # ids without spaces
  [ -z "$left" ] || docker rm -f $left >/dev/null
}

clean() {
  local code=$?
  trap - EXIT INT TERM
  if [ -n "$suite_pid" ]; then
    # It ends what it started in order; what it cannot reach any more is removed after that.
    kill -TERM "$suite_pid" 2>/dev/null || true
    wait "$suite_pid" 2>/dev/null || true
  fi
  remove_containers
  docker image rm -f "$run/sim" "$run/driver" "$run/suite" >/dev/null 2>&1 || true
  if [ -n "$engine" ]; then
    kill -TERM "$engine" 2>/dev/null || true
    wait "$engine" 2>/dev/null || true
  fi
  # Deepest first; the last one is the folder itself.
  awk -v under="$work" 'index($5, under) == 1 { print length($5), $5 }' /proc/self/mountinfo | sort -rn | cut -d' ' -f2- |
    while read -r mounted; do umount "$mounted" || umount -l "$mounted" || true; done
  if [ "$code" -ne 0 ] && [ -e "$work/engine.log" ]; then grep -E "level=(error|fatal)" "$work/engine.log" | tail -3 >&2; fi
  rm -rf --one-file-system "$work"
  exit "$code"
}
trap clean EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Mounts that a driver makes have to reach the others, as kubelet's folder does on a node.
mount --bind "$work" "$work"
mount --make-private "$work"
mount --make-shared "$work"
mkdir -p "$work"/{bin,tmp,reports}

if docker info >/dev/null 2>&1; then
  echo "using the Docker engine that runs here: $(docker version -f '{{.Server.Version}}')"
else
  command -v dockerd >/dev/null || no_engine "no Docker engine answers and none is installed; install one first: apt-get install docker.io"
  command -v containerd >/dev/null || no_engine "dockerd is here and containerd is not; install it first: apt-get install containerd"
  export DOCKER_HOST="unix://$work/engine.sock"
  dockerd --data-root "$work/engine" --exec-root "$work/exec" --pidfile "$work/engine.pid" -H "$DOCKER_HOST" \
    --iptables=false --ip-forward=false --bridge=none >"$work/engine.log" 2>&1 &
  engine=$!
  until docker info >/dev/null 2>&1; do
    kill -0 "$engine" 2>/dev/null || no_engine "the Docker engine does not start here: $(grep -E 'failed|level=(error|fatal)' "$work/engine.log" | tail -1)"
    sleep 0.2
  done
  echo "started a Docker engine of our own: $(docker version -f '{{.Server.Version}}')"
fi

"$here/image.sh" "$run/sim" /usr/bin/azcsi-sim "$bin/azcsi-sim"
"$here/image.sh" "$run/driver" /usr/bin/azuredisk-csi "$bin/azuredisk-csi" \
  mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.xfs mkfs.btrfs e2fsck resize2fs xfs_growfs btrfs
cp "$suite" "$work/bin/csi-sanity.real" # its name carries a version
cp "$work/bin/csi-sanity.real" "$work/tmp/csi-sanity"
"$here/image.sh" "$run/suite" /usr/bin/csi-sanity "$work/tmp/csi-sanity"
rm "$work/tmp/csi-sanity" "$work/bin/csi-sanity.real"

# A launcher for one image. What the containers share is the folder of the run, under the same path, with
# the mounts in it, and the machine's devices; the rule lets them use loop devices and no others.
launcher() {
  local image="$1" file="$2"
  shift 2
  {
    echo '#!/usr/bin/env bash'
    printf 'exec docker run --rm --label %q --network host --read-only --security-opt seccomp=unconfined' "$run"
    printf ' --security-opt apparmor=unconfined -v %q:%q:rshared' "$work" "$work"
    [ $# -eq 0 ] || printf ' %q' "$@"
    printf ' %q "$@"\n' "$run/$image"
  } >"$work/bin/$file"
  chmod 0755 "$work/bin/$file"
}
devices=(--cap-add SYS_ADMIN -v /dev:/dev -v /sys:/sys
  --device-cgroup-rule 'b 7:* rmw' --device-cgroup-rule 'c 10:237 rmw')
launcher sim azcsi-sim "${devices[@]}"
launcher driver azuredisk-csi "${devices[@]}" --tmpfs /tmp --tmpfs /run
launcher suite csi-sanity

echo "csi-sanity in containers:"
TMPDIR="$work/tmp" "$bin/azcsi-sanity" --bin "$work/bin" --suite "$work/bin/csi-sanity" --reports "$work/reports" "$@" &
suite_pid=$!
code=0
wait "$suite_pid" || code=$?
suite_pid=''
cp -r "$work/reports/." "$reports/"
echo "copied to: $reports"
for logs in "$work"/tmp/azcsi-sanity-*/logs; do
  # They stay only where something failed.
  [ ! -d "$logs" ] || { cp -r "$logs" "$reports/$(basename "$(dirname "$logs")").logs"; echo "kept: $reports/$(basename "$(dirname "$logs")").logs"; }
done
# The engine removes a container a moment after its program has ended.
for _ in {1..50}; do
  left="$(docker ps -aq --filter "label=$run")"
  [ -n "$left" ] || break
  sleep 0.2
done
[ -z "$left" ] || { echo "sanity-docker: containers were left: $left" >&2; code=1; }
exit "$code"
