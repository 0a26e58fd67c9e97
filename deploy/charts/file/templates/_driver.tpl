{{/* Selectors cannot be changed: these are the ones of the driver that this chart takes the place of. */}}
{{- define "driver.selector" -}}
app: {{ .app }}
app.kubernetes.io/name: {{ include "azcsi.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{- end -}}

{{/* Rules about Secrets: in the namespaces that the user lists, or in all of them. */}}
{{- define "driver.secretRules" -}}
{{- $root := .root }}
{{- $name := .name }}
{{- $account := .account }}
{{- $verbs := .verbs }}
{{- $why := .why }}
{{- range $namespace := default (list "") $root.Values.rbac.secretNamespaces }}
---
# {{ $why }}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ ternary "Role" "ClusterRole" (ne $namespace "") }}
metadata:
  name: {{ $name }}-role
  {{- with $namespace }}
  namespace: {{ . }}
  {{- end }}
  labels:
    {{- include "azcsi.labels" $root | nindent 4 }}
rules:
  - apiGroups: [""]
    resources: [secrets]
    verbs: {{ $verbs }}
---
{{ include "azcsi.binding" (dict "root" $root "namespace" $namespace "name" (printf "%s-binding" $name) "account" $account "role" (printf "%s-role" $name)) }}
{{- end }}
{{- end -}}
