{{/* Refuses values that would harm or never work, whatever runs: the error names the value. */}}
{{- define "hopgate.check" -}}
{{- $v := .Values }}
{{- if and (contains "." .Release.Name) (not $v.fullnameOverride) }}
{{- fail (printf "release name %q: names of services cannot have dots; choose another, or set fullnameOverride" .Release.Name) }}
{{- end }}
{{- if not (regexMatch "^[a-z]" (include "hopgate.fullname" .)) }}
{{- fail (printf "release name %q: names of services begin with a letter; choose another, or set fullnameOverride" .Release.Name) }}
{{- end }}
{{- $components := ternary (list "gateway" "shard") (list "server") (eq $v.mode "cluster") }}
{{- range $component := $components }}
{{- $key := include "hopgate.valuesKey" (dict "component" $component) }}
{{- $given := include "hopgate.given" (dict "root" $ "component" $component) | fromYaml }}
{{- if get $given "adminTls" }}
{{- if not $v.tls.enabled }}
{{- fail "config.adminTls: needs tls.enabled" }}
{{- end }}
{{- if and $v.tls.clientAuth (ne $component "shard") }}
{{- fail "config.adminTls: with tls.clientAuth the admin listener asks for client certificates, and the kubelet's probes have none" }}
{{- end }}
{{- end }}
{{- if ne (toString (get $given "adminTls" | default false)) (toString (get $v.config "adminTls" | default false)) }}
{{- fail (printf "%s.config.adminTls: set it in config, for all processes: one ServiceMonitor scrapes them" $key) }}
{{- end }}
{{- include "hopgate.checkRanges" (dict "key" $key "given" $given "resources" (get $v $key).resources) }}
{{- if and (get $given "oidcIssuer") (not (get $given "oidcAudience")) }}
{{- fail "config.oidcIssuer: needs config.oidcAudience" }}
{{- end }}
{{- if eq $v.mode "cluster" }}
{{- range $setting := list "replicas" "shards" }}
{{- if hasKey (get $v $key).config $setting }}
{{- fail (printf "%s.config.%s: set it in config, for all processes" $key $setting) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- include "hopgate.checkCluster" . }}
{{- if and (include "hopgate.secured" .) (not (include "hopgate.jobTokenSecret" .)) }}
{{- range $job := list "load" "rules" "backup" }}
{{- if (get $v $job).enabled }}
{{- fail (printf "%s.enabled: its Job needs a token: set auth.jobToken.secret, or auth.enabled beside config.oidcIssuer" $job) }}
{{- end }}
{{- end }}
{{- end }}
{{- if $v.backup.enabled }}
{{- if and (hasPrefix "/" $v.backup.destination) (not $v.backup.volume) }}
{{- fail (printf "backup.destination: %s is a directory of the Job, which is lost with it; set backup.volume and a directory below /backup" $v.backup.destination) }}
{{- end }}
{{- end }}
{{- include "hopgate.checkRestore" . }}
{{- end }}

{{/* Refuses sizes and times that the server refuses: (dict "key" "shard" "given" SETTINGS "resources" RESOURCES). */}}
{{- define "hopgate.checkRanges" -}}
{{- range $setting, $range := dict "memory" (list 67108864 9007199254740991 "0 or at least 64MiB") "valueThreshold" (list 16 9007199254740991 "at least 16 bytes")
    "maxRequest" (list 1024 1073741824 "from 1KiB to 1GiB") }}
{{- if hasKey $.given $setting }}
{{- $value := get $.given $setting }}
{{- $bytes := int64 (include "hopgate.bytes" (trimSuffix "B" (replace " " "" (toString $value)))) }}
{{- if and (or (lt $bytes (int64 (index $range 0))) (gt $bytes (int64 (index $range 1)))) (not (and (eq $setting "memory") (eq $bytes 0))) }}
{{- fail (printf "config.%s: must be %s, is %v for %s" $setting (index $range 2) $value $.key) }}
{{- end }}
{{- end }}
{{- end }}
{{- $limit := dig "limits" "memory" "" .resources }}
{{- if and $limit (hasKey .given "memory") }}
{{- $memory := kindIs "string" .given.memory | ternary .given.memory (int64 .given.memory) | toString }}
{{- if gt (int64 (include "hopgate.bytes" (trimSuffix "B" (replace " " "" $memory)))) (int64 (include "hopgate.bytes" $limit)) }}
{{- fail (printf "config.memory: %s is more than %s.resources.limits.memory, %v, and the kernel would kill the server" $memory .key $limit) }}
{{- end }}
{{- end }}
{{- $all := merge dict .given (dict "queryTimeout" "1m" "maxTimeout" "24h") }}
{{- $time := get $all "queryTimeout" }}
{{- $most := get $all "maxTimeout" }}
{{- $seconds := float64 (include "hopgate.seconds" $most) }}
{{- if and (gt $seconds 0.0) (gt (float64 (include "hopgate.seconds" $time)) $seconds) }}
{{- fail (printf "config.queryTimeout: %v is more than config.maxTimeout, %v, for %s" $time $most .key) }}
{{- end }}
{{- end }}

{{/* The seconds of a duration such as 1m30s. */}}
{{- define "hopgate.seconds" -}}
{{- $sum := 0.0 }}
{{- range regexFindAll "[0-9.]+[a-z]+" (toString .) -1 }}
{{- $unit := regexFind "[a-z]+$" . }}
{{- $sum = addf $sum (mulf (float64 (trimSuffix $unit .)) (get (dict "h" 3600.0 "m" 60.0 "s" 1.0 "ms" 1e-3 "us" 1e-6 "ns" 1e-9) $unit)) }}
{{- end }}
{{- $sum }}
{{- end }}

{{/* The same for clusters. */}}
{{- define "hopgate.checkCluster" -}}
{{- $v := .Values }}
{{- $copies := int (include "hopgate.copies" .) }}
{{- $pods := int $v.shard.replicas }}
{{- $shards := int (get $v.config "shards") }}
{{- if ne $v.mode "cluster" }}
{{- if $copies }}
{{- fail (printf "config.replicas: %d copies of each shard need mode: cluster" $copies) }}
{{- end }}
{{- else }}
{{- if gt $copies $pods }}
{{- fail (printf "shard.replicas: %d pods cannot keep config.replicas: %d copies of each shard" $pods $copies) }}
{{- end }}
{{- $shards = default $pods $shards }}
{{- $occupied := add (max $copies 1) $shards -1 }}
{{- if lt $occupied $pods }}
{{- fail (printf "config.shards: %d shards with %d copies occupy only %d of the %d pods of shard.replicas" $shards (max $copies 1) $occupied $pods) }}
{{- end }}
{{- if gt $copies 1 }}
{{- if not $v.shard.persistence.enabled }}
{{- fail (printf "shard.persistence.enabled: %d copies need volumes: a pod that loses its copies takes no part until graphctl member replace, and with most pods the graphs are lost" $copies) }}
{{- end }}
{{- with $v.shard.podDisruptionBudget }}
{{- $away := toString .maxUnavailable }}
{{- $n := int (trimSuffix "%" $away) }}
{{- if hasSuffix "%" $away }}
{{- $n = div (add (mul $n $pods) 99) 100 }}
{{- end }}
{{- if and .enabled (gt (int $n) (div (sub $copies 1) 2 | int)) }}
{{- fail (printf "shard.podDisruptionBudget.maxUnavailable: %s lets %d of %d pods go at a time, and of %d copies of a shard only %d may be away" $away (int $n) $pods $copies (div (sub $copies 1) 2)) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and (include "hopgate.secured" .) (not $v.tls.enabled) (not $v.auth.plainShards) }}
{{- fail (printf "%s: the shards ask for no tokens, so without TLS between the processes every client that reaches them reads and writes without one.\nSet tls.enabled, or auth.plainShards: true if nothing else reaches the shards, as with networkPolicy in a cluster that enforces it."
    (ternary "auth.enabled" "config.oidcIssuer" $v.auth.enabled)) }}
{{- end }}
{{- end }}
{{- end }}

{{/* The same for the Jobs that restore. */}}
{{- define "hopgate.checkRestore" -}}
{{- $v := .Values }}
{{- if $v.restore.enabled }}
{{- $key := ternary "shard" "standalone" (eq $v.mode "cluster") }}
{{- $data := get $v $key }}
{{- if not $v.restore.source }}
{{- fail "restore.source: must say where the backup is" }}
{{- end }}
{{- if and (hasPrefix "/" $v.restore.source) (not $v.restore.volume) }}
{{- fail (printf "restore.source: %s is a directory of the Job; set restore.volume and a directory below /backup" $v.restore.source) }}
{{- end }}
{{- if not $data.maintenance }}
{{- fail (printf "restore.enabled: needs %s.maintenance: true, as no process may have the volumes open" $key) }}
{{- end }}
{{- if not $data.persistence.enabled }}
{{- fail (printf "restore.enabled: needs %s.persistence.enabled" $key) }}
{{- end }}
{{- if has "ReadWriteOncePod" $data.persistence.accessModes }}
{{- fail (printf "%s.persistence.accessModes: with ReadWriteOncePod no Job gets the volume beside its pod; run graphctl restore in the pod, by kubectl exec" $key) }}
{{- end }}
{{- if and (eq $v.mode "cluster") (not $v.restore.backup) }}
{{- fail "restore.backup: must name the backup (graphctl backup --list), as all shards must restore the same one" }}
{{- end }}
{{- end }}
{{- end }}
