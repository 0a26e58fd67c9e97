{{/* Selectors cannot be changed: these are the ones of the driver that this chart takes the place of. */}}
{{- define "driver.selector" -}}
app: {{ .app }}
{{- end -}}
