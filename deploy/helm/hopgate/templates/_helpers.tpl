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
{{- concat (fromYamlArray (include "hopgate.serviceNames" .)) .Values.tls.dnsNames | toYaml }}
{{- end }}

{{/* DNS names of the services, as a YAML list. */}}
{{- define "hopgate.serviceNames" -}}
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
{{- toYaml $names }}
{{- end }}

{{/* The addresses of all pods with shards, in their order: stable names, so that one that is away is missed. */}}
{{- define "hopgate.join" -}}
{{- $full := include "hopgate.fullname" . }}
{{- $addresses := list }}
{{- range $i := until (int .Values.shard.replicas) }}
{{- $addresses = append $addresses (include "hopgate.peer" (dict "root" $ "pod" (printf "%s-shard-%d" $full $i))) }}
{{- end }}
{{- join "," $addresses }}
{{- end }}

{{/* The address at which other processes reach a pod with shards: (dict "root" $ "pod" NAME). */}}
{{- define "hopgate.peer" -}}
{{- printf "%s.%s-shard.%s.svc.%s:9190" .pod (include "hopgate.fullname" .root) .root.Release.Namespace .root.Values.clusterDomain }}
{{- end }}

{{/* The number of processes that keep each shard; empty is one. */}}
{{- define "hopgate.copies" -}}
{{- with int (get .Values.config "replicas") }}{{ . }}{{ end }}
{{- end }}

{{/* The number of shards of a cluster. */}}
{{- define "hopgate.shards" -}}
{{- default (int .Values.shard.replicas) (int (get .Values.config "shards")) }}
{{- end }}

{{/* The values of a component. */}}
{{- define "hopgate.valuesKey" -}}
{{- ternary "standalone" .component (eq .component "server") }}
{{- end }}

{{/* The settings that the values give a component, as YAML: (dict "root" $ "component" "shard"). */}}
{{- define "hopgate.given" -}}
{{- $all := dict }}
{{- range $settings := list .root.Values.config (get .root.Values (include "hopgate.valuesKey" .)).config }}
{{- range $key, $value := $settings }}
{{- $_ := set $all $key $value }}
{{- end }}
{{- end }}
{{- toYaml $all }}
{{- end }}

{{/* Whether clients need a token: of the file, or of an OpenID Connect issuer. */}}
{{- define "hopgate.secured" -}}
{{- $given := include "hopgate.given" (dict "root" . "component" (include "hopgate.entry" .)) | fromYaml }}
{{- if or .Values.auth.enabled (get $given "oidcIssuer") }}true{{ end }}
{{- end }}

{{/* Whether the admin listener of a component uses TLS. */}}
{{- define "hopgate.adminTLS" -}}
{{- if get (include "hopgate.given" . | fromYaml) "adminTls" }}true{{ end }}
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
{{- $_ := set $own "join" (include "hopgate.join" .root) }}
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
{{- if and (eq .component "shard") (gt (int (include "hopgate.copies" .root)) 1) }}
{{- $_ := set $all "stopWait" "180s" }}
{{- end }}
{{- range $settings := list $v.config .values.config $own }}
{{- range $key, $value := $settings }}
{{- $_ := set $all $key $value }}
{{- end }}
{{- end }}
{{- if or (eq .component "shard") (not (include "hopgate.secured" .root)) }}
{{- $_ := set $all "httpHosts" (include "hopgate.httpHosts" (dict "root" .root "component" .component "more" (get (ternary .values.config $all (eq .component "shard")) "httpHosts"))) }}
{{- end }}
{{- toYaml $all }}
{{- end }}

{{/*
Host names by which clients reach a process, which without tokens answers to no others: (dict "root" $ "component" "shard" "more" "a,b").
Shards have only their own: a name that clients use does not restart them.
*/}}
{{- define "hopgate.httpHosts" -}}
{{- $v := .root.Values }}
{{- $names := fromYamlArray (include "hopgate.serviceNames" .root) }}
{{- if eq .component "shard" }}
{{- $v = dict "ingress" (dict) "gatewayAPI" (dict "http" (dict)) "tls" (dict "dnsNames" (list)) }}
{{- end }}
{{- $names = concat $names $v.tls.dnsNames }}
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
{{- with include "hopgate.jobTokenSecret" . }}
- name: GRAPHCTL_TOKEN
  valueFrom:
    secretKeyRef: {name: {{ . }}, key: {{ $.Values.auth.jobToken.key }}}
{{- end }}
{{- end }}

{{/* The secret with the token of the chart's own Jobs; empty if there is none. */}}
{{- define "hopgate.jobTokenSecret" -}}
{{- if .Values.auth.jobToken.secret }}
{{- .Values.auth.jobToken.secret }}
{{- else if .Values.auth.enabled }}
{{- include "hopgate.tokenSecret" . }}
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

{{/* What the specifications of all pods share: (dict "root" $ "values" .Values.backup). Values of a component come before common ones. */}}
{{- define "hopgate.podCommon" -}}
{{- $own := .values }}
{{- with .root }}
serviceAccountName: {{ include "hopgate.serviceAccountName" . }}
automountServiceAccountToken: false
enableServiceLinks: false
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.priorityClassName | default .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- with $own.nodeSelector | default .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $own.tolerations | default .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- end }}

{{/* Annotations of a Job's pod, if it has any. */}}
{{- define "hopgate.jobAnnotations" -}}
{{- with .podAnnotations -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
