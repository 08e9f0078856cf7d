{{/* The chart's name. */}}
{{- define "hopgate.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* What the names of all objects begin with: at most 40 characters, so that the names of pods and revisions fit a label. */}}
{{- define "hopgate.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) }}
{{- default $full .Values.fullnameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{/* The component that clients talk to. */}}
{{- define "hopgate.entry" -}}
{{- ternary "gateway" "server" (eq .Values.mode "cluster") }}
{{- end }}

{{/* Labels that select the pods of a component, which never change: (dict "root" $ "component" "shard"). */}}
{{- define "hopgate.selectorLabels" -}}
app.kubernetes.io/name: {{ include "hopgate.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{/* Labels of an object: (dict "root" $ "component" "shard"). */}}
{{- define "hopgate.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "hopgate.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{ merge dict .root.Values.commonLabels (dict "app.kubernetes.io/part-of" "hopgate") | toYaml }}
{{- end }}

{{/*
Labels of a pod, with those in "labels" before all others: none that a new version of the chart alone would change, as that
would restart the pods.
*/}}
{{- define "hopgate.podLabels" -}}
{{ include "hopgate.selectorLabels" . }}
{{ merge dict (.labels | default dict) .root.Values.commonLabels (dict "app.kubernetes.io/part-of" "hopgate") | toYaml }}
{{- end }}

{{- define "hopgate.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ default $.Chart.AppVersion .tag }}
{{- end -}}
{{- end -}}
{{- end }}

{{- define "hopgate.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "hopgate.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "hopgate.tlsSecret" -}}
{{- default (printf "%s-tls" (include "hopgate.fullname" .)) .Values.tls.existingSecret }}
{{- end }}

{{- define "hopgate.tokenSecret" -}}
{{- default (printf "%s-tokens" (include "hopgate.fullname" .)) .Values.auth.existingSecret }}
{{- end }}

{{/* DNS names that a certificate must carry, as a YAML list. */}}
{{- define "hopgate.dnsNames" -}}
{{- $full := include "hopgate.fullname" . }}
{{- $services := list $full (printf "%s-grpc" $full) }}
{{- if eq .Values.mode "cluster" }}
{{- $services = append $services (printf "%s-shard" $full) }}
{{- end }}
{{- $names := list "localhost" }}
{{- range $s := $services }}
{{- range $suffix := list "" (printf ".%s" $.Release.Namespace) (printf ".%s.svc" $.Release.Namespace) (printf ".%s.svc.%s" $.Release.Namespace $.Values.clusterDomain) }}
{{- $names = append $names (printf "%s%s" $s $suffix) }}
{{- end }}
{{- if ne $s $full }}
{{- $names = append $names (printf "*.%s.%s.svc.%s" $s $.Release.Namespace $.Values.clusterDomain) }}
{{- end }}
{{- end }}
{{- concat $names .Values.tls.dnsNames | toYaml }}
{{- end }}

{{/* The addresses of all shards in their order, for the gateways: stable names, so that a shard that is away is missed. */}}
{{- define "hopgate.shardAddresses" -}}
{{- $full := include "hopgate.fullname" . }}
{{- $addresses := list }}
{{- range $i := until (int .Values.shard.replicas) }}
{{- $addresses = append $addresses (printf "%s-shard-%d.%s-shard.%s.svc.%s:9190" $full $i $full $.Release.Namespace $.Values.clusterDomain) }}
{{- end }}
{{- join "," $addresses }}
{{- end }}

{{/* The number of processes that keep each shard; empty is one without a log. */}}
{{- define "hopgate.replication" -}}
{{- $n := int (get .Values.config "replication") }}
{{- if and $n (ne .Values.mode "cluster") }}
{{- fail (printf "config.replication: %d copies of each shard need mode: cluster" $n) }}
{{- end }}
{{- if gt $n (int .Values.shard.replicas) }}
{{- fail (printf "shard.replicas: %d pods cannot keep config.replication: %d copies of each shard" (int .Values.shard.replicas) $n) }}
{{- end }}
{{- with $n }}{{ . }}{{ end }}
{{- end }}

{{/* The settings of a component as the server's YAML file: (dict "root" $ "component" "shard" "values" .Values.shard). */}}
{{- define "hopgate.config" -}}
{{- $v := .root.Values }}
{{- $port := ternary 9190 9090 (eq .component "shard") }}
{{- $own := dict "grpc" (printf "0.0.0.0:%d" $port) "admin" "0.0.0.0:6060" "drainTimeout" (printf "%ds" (int .values.drainSeconds)) }}
{{- if ne .component "shard" }}
{{- $_ := set $own "http" "0.0.0.0:8080" }}
{{- $_ := set $own "bolt" "0.0.0.0:7687" }}
{{- end }}
{{- if ne .component "gateway" }}
{{- $_ := set $own "dataDir" "/data/graphs" }}
{{- end }}
{{- if ne .component "server" }}
{{- $_ := set $own "shardAddresses" (include "hopgate.shardAddresses" .root) }}
{{- end }}
{{- if $v.tls.enabled }}
{{- $_ := set $own "tlsCert" "/etc/hopgate/tls/tls.crt" }}
{{- $_ := set $own "tlsKey" "/etc/hopgate/tls/tls.key" }}
{{- if and $v.tls.clientAuth (ne .component "shard") }}
{{- $_ := set $own "tlsClientCa" "/etc/hopgate/tls/ca.crt" }}
{{- end }}
{{- if ne .component "server" }}
{{- $_ := set $own "shardCa" "/etc/hopgate/tls/ca.crt" }}
{{- end }}
{{- end }}
{{- if and $v.auth.enabled (ne .component "shard") }}
{{- $_ := set $own "tokensFile" "/etc/hopgate/tokens/tokens.yaml" }}
{{- end }}
{{- $all := dict }}
{{- if eq .component "gateway" }}
{{- $_ := set $all "spillLimit" (printf "%sB" .values.scratch) }}
{{- end }}
{{- range $settings := list $v.config .values.config $own }}
{{- range $key, $value := $settings }}
{{- $_ := set $all $key $value }}
{{- end }}
{{- end }}
{{- if not $v.auth.enabled }}
{{- $_ := set $all "httpHosts" (include "hopgate.httpHosts" (dict "root" .root "more" (get $all "httpHosts"))) }}
{{- end }}
{{- toYaml $all }}
{{- end }}

{{/* Host names by which clients reach the server, which without tokens answers to no others: (dict "root" $ "more" "a,b"). */}}
{{- define "hopgate.httpHosts" -}}
{{- $v := .root.Values }}
{{- $names := fromYamlArray (include "hopgate.dnsNames" .root) }}
{{- if $v.ingress.enabled }}
{{- range $v.ingress.hosts }}
{{- $names = append $names .host }}
{{- end }}
{{- end }}
{{- if $v.gatewayAPI.http.enabled }}
{{- $names = concat $names $v.gatewayAPI.http.hostnames }}
{{- end }}
{{- with .more }}
{{- $names = append $names . }}
{{- end }}
{{- without $names "localhost" "" | uniq | join "," }}
{{- end }}

{{/* Environment and mounts by which graphctl in a Job reaches the server. */}}
{{- define "hopgate.clientEnv" -}}
- name: GRAPHCTL_ADDRESS
  value: {{ include "hopgate.fullname" . }}.{{ .Release.Namespace }}.svc.{{ .Values.clusterDomain }}:{{ .Values.service.grpcPort }}
{{- if .Values.auth.enabled }}
- name: GRAPHCTL_TOKEN
  valueFrom:
    secretKeyRef: {name: {{ include "hopgate.tokenSecret" . }}, key: token}
{{- end }}
{{- end }}

{{- define "hopgate.clientMounts" -}}
{{- if .Values.tls.enabled -}}
- name: tls
  mountPath: /etc/hopgate/tls
  readOnly: true
{{- end }}
{{- end }}

{{- define "hopgate.clientVolumes" -}}
{{- if .Values.tls.enabled -}}
- name: tls
  secret:
    secretName: {{ include "hopgate.tlsSecret" . }}
    defaultMode: 0440
{{- end }}
{{- end }}

{{/* Flags of graphctl for TLS, as items of a list. */}}
{{- define "hopgate.clientTLSArgs" -}}
{{- if .Values.tls.enabled -}}
- --tls-ca=/etc/hopgate/tls/ca.crt
{{- if .Values.tls.clientAuth }}
- --tls-cert=/etc/hopgate/tls/tls.crt
- --tls-key=/etc/hopgate/tls/tls.key
{{- end }}
{{- end }}
{{- end }}

{{/* What the specifications of all pods share. */}}
{{- define "hopgate.podCommon" -}}
serviceAccountName: {{ include "hopgate.serviceAccountName" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
