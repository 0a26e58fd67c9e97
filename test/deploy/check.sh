#!/usr/bin/env bash
# Checks the charts, the plain manifests and the examples without a cluster. `make deploy-check`.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
cd "$root/deploy"
helm="$("$here/build.sh" helm)" kubeconform="$("$here/build.sh" kubeconform)" checks="$("$here/build.sh" checks)"
schemas="$("$here/build.sh" schemas)" kinds="$("$here/build.sh" crds)"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
export HELM_CONFIG_HOME="$scratch/config" HELM_CACHE_HOME="$scratch/cache" HELM_DATA_HOME="$scratch/data"
failed=0

# check WHAT COMMAND...
check() {
  local what="$1" code=0
  shift
  # Not as a condition, where the shell would go on after the first thing that fails.
  set +e
  (set -e; "$@") >"$scratch/log" 2>&1
  code=$?
  set -e
  if [ "$code" -eq 0 ]; then
    echo "ok    $what$(tail -1 "$scratch/log" | sed 's/^./: &/')"
  else
    echo "FAIL  $what"
    sed 's/^/      /' "$scratch/log"
    failed=1
  fi
}

same_in_both() {
  local file wrong=0
  for file in _shared.tpl classes.yaml metrics.yaml poddisruptionbudget.yaml serviceaccounts.yaml NOTES.txt \
    snapshot-classes.yaml snapshot-controller.yaml snapshot-crds.yaml; do
    cmp "charts/disk/templates/$file" "charts/file/templates/$file" || wrong=1
  done
  return "$wrong"
}

kinds_of_the_module() {
  "$checks" crds "$kinds" >"$scratch/crds"
  diff "$scratch/crds" charts/disk/templates/snapshot-crds.yaml
}

rendered() {
  "$here/render.sh" "$scratch/kubernetes"
  diff -r "$scratch/kubernetes" kubernetes || { echo "run test/deploy/render.sh"; return 1; }
}

rules() {
  find kubernetes/"$1" -name '*.yaml' -exec sh -c 'cat "$1"; echo ---' _ {} \; | "$checks" policy
}

restricted() {
  "$helm" template x "charts/$1" --values "$here/restricted.yaml" >"$scratch/restricted.yaml"
  "$checks" restricted <"$scratch/restricted.yaml"
}

# The example values render, and what they render follows the rules.
example_values() {
  local file chart
  for file in examples/values/*.yaml; do
    chart="$(basename "$file" | cut -d- -f1)"
    echo "$file"
    "$helm" template x "charts/$chart" --values "$file" >"$scratch/rendered.yaml"
    "$checks" policy <"$scratch/rendered.yaml"
    valid "$scratch/rendered.yaml"
  done
}

valid() {
  "$kubeconform" -strict -summary \
    -schema-location "$scratch/schemas/{{.ResourceKind}}{{.KindSuffix}}.json" "$@"
}

mkdir "$scratch/schemas"
ln -s "$schemas"/*.json "$scratch/schemas/"
cp "$here/tools/podmonitor-monitoring-v1.json" "$scratch/schemas/"
"$checks" crd-schemas "$scratch/schemas" <kubernetes/disk/optional/snapshot-crds.yaml

check "the templates that both charts have are the same" same_in_both
check "the kinds of snapshots are those of their module" kinds_of_the_module
for chart in disk file; do
  check "$chart: helm lint" "$helm" lint --quiet "charts/$chart"
  check "$chart: every value does something or is refused" "$checks" values "charts/$chart"
  check "$chart: every value of upstream's chart is taken" "$checks" upstream "charts/$chart" "$here/upstream-values-$chart.tsv"
  check "$chart: rules of rights and privileges" rules "$chart"
  check "$chart: the controllers can be restricted to the letter" restricted "$chart"
done
check "the plain manifests are what the charts render" rendered
check "the plain manifests have known fields only" valid kubernetes
check "the example values give valid objects" example_values
check "the examples have known fields only" valid -ignore-filename-pattern '/values/' examples
exit "$failed"
