#!/usr/bin/env bash
# Writes the plain manifests of deploy/kubernetes from the charts, and into the charts the kinds of
# snapshots from their module.
#   render.sh [FOLDER]     the manifests into FOLDER instead, and nothing else: for comparison
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
to="${1:-$root/deploy/kubernetes}"
helm="$("$here/build.sh" helm)"
if [ $# -eq 0 ]; then
  for chart in disk file; do
    "$("$here/build.sh" checks)" crds "$("$here/build.sh" crds)" >"$root/deploy/charts/$chart/templates/snapshot-crds.yaml"
  done
fi
# Nothing of the user's own Helm.
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
export HELM_CONFIG_HOME="$scratch/config" HELM_CACHE_HOME="$scratch/cache" HELM_DATA_HOME="$scratch/data"

# render CHART FOLDER HELM-ARGUMENT...: one file per template. The labels that name Helm as the owner are
# left out, since it is not.
render() {
  local chart="$1" folder="$2" name file
  shift 2
  mkdir -p "$folder"
  "$helm" template "azure$chart" "$root/deploy/charts/$chart" --namespace kube-system \
    --api-versions admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy --output-dir "$scratch/out" "$@" >/dev/null
  for file in "$scratch/out"/*/templates/*.yaml; do
    name="$(basename "$file")"
    {
      echo "# Made by test/deploy/render.sh from deploy/charts/$chart; change the chart instead."
      sed -E -e '/^ +(helm\.sh\/chart|app\.kubernetes\.io\/managed-by): /d' -e '/^# Source: /d' -e 's/[[:space:]]+$//' "$file" |
        awk 'NF || !blank; { blank = !NF }' | sed -e '1{/^$/d}'
    } >"$folder/$name"
  done
  rm -rf "$scratch/out"
}

for chart in disk file; do
  rm -rf "${to:?}/$chart"
  render "$chart" "$to/$chart"
  # What a cluster may have already, or does not need: to be applied one by one.
  render "$chart" "$scratch/all" --values "$here/optional-$chart.yaml"
  mkdir -p "$to/$chart/optional"
  for file in classes metrics snapshot-classes snapshot-controller snapshot-crds; do
    mv "$scratch/all/$file.yaml" "$to/$chart/optional/"
  done
  rm -rf "$scratch/all"
done
