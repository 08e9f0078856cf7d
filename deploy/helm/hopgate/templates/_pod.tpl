{{/*
The pod template of a server process:
(dict "root" $ "component" "shard" "command" "shard" "values" .Values.shard "data" true)

Gateways keep their distance from those of their own revision alone (matchLabelKeys): a new one stands beside the old one that it
relieves, even where every node has one. A shard comes after the one that it relieves has gone.
*/}}
{{- define "hopgate.podTemplate" -}}
{{- $root := .root }}
{{- $v := .root.Values }}
{{- $c := .values }}
{{- $key := include "hopgate.valuesKey" . }}
{{- $copies := and (eq .component "shard") (gt (int (include "hopgate.copies" $root)) 1) }}
{{- $stopWait := get (include "hopgate.config" . | fromYaml) "stopWait" }}
{{- $wait := ternary (float64 (include "hopgate.seconds" $stopWait)) 0.0 $copies | ceil | int }}
{{- if ge (add $c.preStopSleepSeconds $wait $c.drainSeconds) (int64 $c.terminationGracePeriodSeconds) }}
{{- fail (printf "%s: preStopSleepSeconds (%d)%s and drainSeconds (%d) must leave some of terminationGracePeriodSeconds (%d) to close the store"
    $key (int $c.preStopSleepSeconds) (ternary (printf ", config.stopWait (%ds)" $wait) "" $copies) (int $c.drainSeconds) (int $c.terminationGracePeriodSeconds)) }}
{{- end -}}
{{- $idle := $c.maintenance | default false }}
{{- $scheme := ternary "HTTPS" "HTTP" (eq (include "hopgate.adminTLS" .) "true") -}}
metadata:
  annotations:
    checksum/config: {{ include "hopgate.config" . | sha256sum }}
    {{- merge dict $c.podAnnotations $v.podAnnotations (dict "kubectl.kubernetes.io/default-container" "hopgate") | toYaml | nindent 4 }}
  labels:
    {{- include "hopgate.podLabels" (dict "root" $root "component" .component "labels" (merge dict $c.podLabels $v.podLabels)) | nindent 4 }}
spec:
  {{- include "hopgate.podCommon" (dict "root" $root "values" $c) | trim | nindent 2 }}
  terminationGracePeriodSeconds: {{ int64 $c.terminationGracePeriodSeconds }}
  {{- if $c.affinity }}
  affinity:
    {{- toYaml $c.affinity | nindent 4 }}
  {{- else if eq $v.antiAffinity "hard" }}
  affinity:
    podAntiAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        - topologyKey: kubernetes.io/hostname
          {{- if eq .component "gateway" }}
          matchLabelKeys: [pod-template-hash]
          {{- end }}
          labelSelector:
            matchLabels:
              {{- include "hopgate.selectorLabels" . | nindent 14 }}
  {{- else if eq $v.antiAffinity "soft" }}
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            {{- if eq .component "gateway" }}
            matchLabelKeys: [pod-template-hash]
            {{- end }}
            labelSelector:
              matchLabels:
                {{- include "hopgate.selectorLabels" . | nindent 16 }}
  {{- end }}
  topologySpreadConstraints:
    {{- if $c.topologySpreadConstraints }}
    {{- toYaml $c.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    - maxSkew: 1
      topologyKey: topology.kubernetes.io/zone
      whenUnsatisfiable: ScheduleAnyway
      {{- if eq .component "gateway" }}
      matchLabelKeys: [pod-template-hash]
      {{- end }}
      labelSelector:
        matchLabels:
          {{- include "hopgate.selectorLabels" . | nindent 10 }}
    {{- end }}
  {{- with $v.extraInitContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: hopgate
      image: {{ include "hopgate.image" $root }}
      imagePullPolicy: {{ $v.image.pullPolicy }}
      {{- if $idle }}
      # The store is for hopgate recover, graphctl restore and others: no process of the server has it open.
      args: [idle]
      {{- else }}
      args: [{{ .command }}, --config=/etc/hopgate/config/config.yaml]
      {{- end }}
      env:
        {{- if dig "limits" "memory" "" $c.resources }}
        - name: GOMEMLIMIT
          valueFrom:
            resourceFieldRef: {containerName: hopgate, resource: limits.memory, divisor: "1"}
        {{- end }}
        {{- if dig "limits" "cpu" "" $c.resources }}
        - name: GOMAXPROCS
          valueFrom:
            resourceFieldRef: {containerName: hopgate, resource: limits.cpu, divisor: "1"}
        {{- end }}
        {{- if eq .component "shard" }}
        - name: POD_NAME
          valueFrom:
            fieldRef: {fieldPath: metadata.name}
        - {name: HOPGATE_PEER, value: {{ include "hopgate.peer" (dict "root" $root "pod" "$(POD_NAME)") | quote }}}
        {{- end }}
        {{- with $v.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with $v.extraEnvFrom }}
      envFrom:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      ports:
        {{- if ne .component "shard" }}
        - {name: http, containerPort: 8080, protocol: TCP}
        - {name: bolt, containerPort: 7687, protocol: TCP}
        {{- end }}
        - {name: grpc, containerPort: {{ ternary 9190 9090 (eq .component "shard") }}, protocol: TCP}
        - {name: admin, containerPort: 6060, protocol: TCP}
      {{- if not $idle }}
      startupProbe:
        httpGet: {path: /livez, port: admin{{ if eq $scheme "HTTPS" }}, scheme: HTTPS{{ end }}}
        {{- toYaml $v.startupProbe | nindent 8 }}
      livenessProbe:
        httpGet: {path: /livez, port: admin{{ if eq $scheme "HTTPS" }}, scheme: HTTPS{{ end }}}
        {{- toYaml $v.livenessProbe | nindent 8 }}
      readinessProbe:
        httpGet: {path: /readyz, port: admin{{ if eq $scheme "HTTPS" }}, scheme: HTTPS{{ end }}}
        {{- toYaml $v.readinessProbe | nindent 8 }}
      lifecycle:
        preStop:
          sleep: {seconds: {{ $c.preStopSleepSeconds }}}
      {{- end }}
      resources:
        {{- toYaml $c.resources | nindent 8 }}
      securityContext:
        {{- toYaml $v.securityContext | nindent 8 }}
      volumeMounts:
        - {name: config, mountPath: /etc/hopgate/config, readOnly: true}
        - {name: tmp, mountPath: /tmp}
        {{- if .data }}
        - {name: data, mountPath: /data}
        {{- end }}
        {{- if $v.tls.enabled }}
        - {name: tls, mountPath: /etc/hopgate/tls, readOnly: true}
        {{- end }}
        {{- if and $v.auth.enabled (ne .component "shard") }}
        - {name: tokens, mountPath: /etc/hopgate/tokens, readOnly: true}
        {{- end }}
        {{- with $v.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- with $v.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  volumes:
    - name: config
      configMap: {name: {{ include "hopgate.fullname" $root }}-{{ .component }}}
    - name: tmp
      {{- if eq .component "gateway" }}
      emptyDir: {sizeLimit: {{ $c.scratch }}}
      {{- else }}
      emptyDir: {}
      {{- end }}
    {{- if and .data (not $c.persistence.enabled) }}
    - name: data
      emptyDir: {sizeLimit: {{ $c.persistence.size }}}
    {{- else if and .data $c.persistence.existingClaim }}
    - name: data
      persistentVolumeClaim: {claimName: {{ $c.persistence.existingClaim }}}
    {{- end }}
    {{- if $v.tls.enabled }}
    - name: tls
      secret: {secretName: {{ include "hopgate.tlsSecret" $root }}, defaultMode: 0440}
    {{- end }}
    {{- if and $v.auth.enabled (ne .component "shard") }}
    - name: tokens
      secret:
        secretName: {{ include "hopgate.tokenSecret" $root }}
        defaultMode: 0440
        items: [{key: tokens.yaml, path: tokens.yaml}]
    {{- end }}
    {{- with $v.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}

{{/* A StatefulSet with data: the same dict, and "name", "service", "replicas". */}}
{{- define "hopgate.statefulSet" -}}
{{- $template := include "hopgate.podTemplate" . }}
{{- include "hopgate.protect" (merge (dict "template" ($template | sha256sum)) .) -}}
{{- $wants := include "hopgate.copies" .root -}}
apiVersion: apps/v1
kind: StatefulSet
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "hopgate.labels" . | nindent 4 }}
  # What an upgrade compares.
  annotations:
    hopgate/template: {{ $template | sha256sum }}
    {{- if eq .component "shard" }}
    hopgate/pods: {{ .replicas | quote }}
    hopgate/shards: {{ include "hopgate.shards" .root | quote }}
    {{- with $wants }}
    hopgate/replicas: {{ . | quote }}
    {{- end }}
    {{- end }}
spec:
  replicas: {{ .replicas }}
  serviceName: {{ .service }}
  # A process that starts for the first time, or after all have stopped, waits for the others: one after another, none would be ready.
  podManagementPolicy: Parallel
  updateStrategy: {type: RollingUpdate}
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}
  selector:
    matchLabels:
      {{- include "hopgate.selectorLabels" . | nindent 6 }}
  template:
    {{- $template | nindent 4 }}
  {{- with .values.persistence }}
  {{- if and .enabled (not .existingClaim) }}
  volumeClaimTemplates:
    - apiVersion: v1
      kind: PersistentVolumeClaim
      metadata:
        name: data
        labels:
          {{- include "hopgate.selectorLabels" $ | nindent 10 }}
      spec:
        accessModes:
          {{- toYaml .accessModes | nindent 10 }}
        {{- with .storageClass }}
        storageClassName: {{ . }}
        {{- end }}
        resources:
          requests:
            storage: {{ .size }}
  {{- end }}
  {{- end }}
{{- end }}
