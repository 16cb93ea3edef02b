{{- define "countersign.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "countersign.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "countersign.name" .) .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "countersign.name" .) | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- define "countersign.labels" -}}
app.kubernetes.io/name: {{ include "countersign.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "countersign.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "countersign.fullname" .) "default" .Values.serviceAccount.create) }}
{{- end }}

{{- define "countersign.image" -}}
{{- $repository := required "image.repository must be set: the registry and name of the image, such as registry.example.com/countersign" .Values.image.repository }}
{{- if .Values.image.digest }}
{{- printf "%s@%s" $repository .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" $repository (.Values.image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}

{{- /* Returns the settings that have a value, as a map of names to strings. */}}
{{- define "countersign.settings" -}}
{{- $_ := required "settings.BASE_URL must be set: the public address of the service, such as https://sign.example.com" .Values.settings.BASE_URL }}
{{- range $name, $value := .Values.settings }}
{{- if not (kindIs "invalid" $value) }}
COUNTERSIGN_{{ $name }}: {{ if kindIs "float64" $value }}{{ int64 $value | toString | quote }}{{ else }}{{ $value | toString | quote }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "countersign.secretName" -}}
{{- required "secrets.existingSecret must be set: the Secret with COUNTERSIGN_MASTER_KEY, COUNTERSIGN_DATABASE_URL and COUNTERSIGN_SMTP_URL" .Values.secrets.existingSecret }}
{{- end }}

{{- define "countersign.spread" -}}
{{- if .spread }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: {{ .spread }}
    labelSelector:
      matchLabels:
        {{- .labels | nindent 8 }}
{{- end }}
{{- end }}

{{- define "countersign.placement" -}}
{{- with .nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}

{{- define "countersign.envFrom" -}}
envFrom:
  - configMapRef: {name: {{ include "countersign.fullname" . }}}
  - secretRef: {name: {{ include "countersign.secretName" . }}}
  {{- with .Values.extraEnvFrom }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "countersign.fileMounts" -}}
{{- if or .Values.files.existingConfigMap .Values.files.existingSecret }}
- {name: files, mountPath: /etc/countersign, readOnly: true}
{{- end }}
{{- end }}

{{- define "countersign.fileVolumes" -}}
{{- if or .Values.files.existingConfigMap .Values.files.existingSecret }}
- name: files
  projected:
    sources:
      {{- with .Values.files.existingConfigMap }}
      - configMap: {name: {{ . }}}
      {{- end }}
      {{- with .Values.files.existingSecret }}
      - secret: {name: {{ . }}}
      {{- end }}
{{- end }}
{{- end }}
