{{/*
What both charts use. This file is the same in both of them; `make deploy-check` compares them.
*/}}

{{- define "azcsi.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "azcsi.labels" -}}
app.kubernetes.io/name: {{ include "azcsi.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/component: csi-driver
app.kubernetes.io/part-of: {{ include "azcsi.name" . | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" | quote }}
{{- with .Values.customLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Image of a part; a repository that begins with "/" comes from image.baseRepo. */}}
{{- define "azcsi.image" -}}
{{- $prefix := ternary .root.Values.image.baseRepo "" (hasPrefix "/" .of.repository) -}}
image: {{ printf "%s%s:%s" $prefix .of.repository (toString (default .root.Chart.AppVersion .of.tag)) | quote }}
imagePullPolicy: {{ .of.pullPolicy }}
{{- end -}}

{{/* Names of Secrets, given as text or as objects with a name. */}}
{{- define "azcsi.pullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
  - name: {{ kindIs "string" . | ternary . (get (kindIs "map" . | ternary . dict) "name") | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A container that does nothing but talk over sockets. */}}
{{- define "azcsi.confined" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
{{- end -}}

{{/* The user that the pod of a controller runs as. */}}
{{- define "azcsi.user" -}}
securityContext:
  runAsNonRoot: {{ ne (int .) 0 }}
  runAsUser: {{ . }}
  runAsGroup: {{ . }}
  seccompProfile:
    type: RuntimeDefault
{{- end -}}

{{/*
Where the controllers go: as the user says; else to the control plane, if that is wanted (either label
will do); and in both cases rather not two of them on one machine.
*/}}
{{- define "azcsi.affinity" -}}
{{- $c := .Values.controller -}}
{{- if $c.affinity }}
affinity:
{{ toYaml $c.affinity | indent 2 }}
{{- else if or $c.runOnControlPlane $c.runOnMaster }}
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
        {{- if $c.runOnControlPlane }}
        - matchExpressions:
            - key: node-role.kubernetes.io/control-plane
              operator: Exists
        {{- end }}
        {{- if $c.runOnMaster }}
        - matchExpressions:
            - key: node-role.kubernetes.io/master
              operator: Exists
        {{- end }}
{{- end }}
{{- end -}}

{{- define "azcsi.spread" -}}
topologySpreadConstraints:
  {{- $app := . }}
  {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        app: {{ $app }}
  {{- end }}
{{- end -}}

{{/* Address of the page for liveness probes. On the network of the machine it is for the machine only. */}}
{{- define "azcsi.healthAddress" -}}
{{- if .host -}}
localhost:{{ .port }}
{{- else -}}
:{{ .port }}
{{- end -}}
{{- end -}}

{{- define "azcsi.healthGet" -}}
httpGet:
  path: /healthz
  port: {{ .port }}
  {{- if .host }}
  host: localhost
  {{- end }}
{{- end -}}

{{/* Proxies of the driver. */}}
{{- define "azcsi.proxies" -}}
{{- range $name, $value := dict "HTTPS_PROXY" .httpsProxy "HTTP_PROXY" .httpProxy "NO_PROXY" .noProxy }}
{{- if $value }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The permission to lead: leases of this namespace only. */}}
{{- define "azcsi.leases" -}}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, list, watch, create, update, patch, delete]
{{- end -}}

{{- define "azcsi.binding" -}}
{{- $cluster := not .namespace -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "ClusterRoleBinding" "RoleBinding" $cluster }}
metadata:
  name: {{ .name }}
  {{- with .namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "azcsi.labels" .root | nindent 4 }}
subjects:
  - kind: ServiceAccount
    name: {{ .account }}
    namespace: {{ .root.Release.Namespace }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ ternary "ClusterRole" "Role" $cluster }}
  name: {{ .role }}
{{- end -}}

{{- define "azcsi.serviceAccount" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "azcsi.labels" .root | nindent 4 }}
  {{- if and .azure .root.Values.workloadIdentity.clientID }}
  annotations:
    azure.workload.identity/client-id: {{ .root.Values.workloadIdentity.clientID | quote }}
    {{- with .root.Values.workloadIdentity.tenantID }}
    azure.workload.identity/tenant-id: {{ . | quote }}
    {{- end }}
  {{- end }}
{{- end -}}

{{/*
Whether an object of the whole cluster is ours to make: it does not exist yet, or it belongs to this
release. Two charts on one cluster can both ask for the snapshot controller; the first one keeps it.
*/}}
{{- define "azcsi.ours" -}}
{{- $found := lookup .api .kind "" .name -}}
{{- $owner := dig "metadata" "annotations" "meta.helm.sh/release-name" "" (default dict $found) -}}
{{- if or (not $found) (eq $owner .root.Release.Name) -}}yes{{- end -}}
{{- end -}}
