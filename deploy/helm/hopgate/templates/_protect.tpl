{{/* The bytes of a quantity such as 10Gi, so that 10Gi and 10240Mi are the same. */}}
{{- define "hopgate.bytes" -}}
{{- $units := dict "" 1 "m" 0.001 "k" 1e3 "K" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 }}
{{- $unit := regexFind "[A-Za-z]*$" (toString .) }}
{{- printf "%.0f" (mulf (float64 (trimSuffix $unit (toString .))) (float64 (get $units $unit))) }}
{{- end }}

{{/* Refuses what would lose the data of a StatefulSet that runs, and says how it is done. */}}
{{- define "hopgate.protect" -}}
{{- $ns := .root.Release.Namespace }}
{{- range (lookup "apps/v1" "StatefulSet" $ns "").items }}
{{- $labels := dig "metadata" "labels" dict . }}
{{- $component := get $labels "app.kubernetes.io/component" }}
{{- if and (eq (get $labels "app.kubernetes.io/instance") $.root.Release.Name) (has $component (list "server" "shard"))
    (regexMatch (printf "^%s-[0-9]" (regexQuoteMeta $.root.Chart.Name)) (get $labels "helm.sh/chart")) (ne .metadata.name $.name) }}
{{- if ne $component $.component }}
{{- fail (printf "\nmode: this release runs the StatefulSet %s, whose graphs a change of the mode would leave behind.\nInstall a second release with the new mode, export the graphs here (graphctl export) and load them there, then uninstall this release." .metadata.name) }}
{{- end }}
{{- fail (printf "\nnameOverride, fullnameOverride: this release runs the StatefulSet %s, whose graphs another name, %s, would leave behind.\nInstall a second release with the new names, back up here (graphctl backup) and restore there, then uninstall this release." .metadata.name $.name) }}
{{- end }}
{{- end }}
{{- $live := lookup "apps/v1" "StatefulSet" $ns .name }}
{{- if $live }}
{{- $key := ternary "standalone" "shard" (eq .component "server") }}
{{- $orphan := printf "kubectl -n %s delete statefulset %s --cascade=orphan" $ns .name }}
{{- $run := int (dig "spec" "replicas" 0 $live) }}
{{- $was := int (dig "metadata" "annotations" "hopgate/pods" $run $live) }}
{{- $running := max $run (int (dig "status" "replicas" 0 $live)) }}
{{- $stop := printf "Stop all: kubectl -n %s scale statefulset %s --replicas=0\nWait until they have ended, and upgrade again" $ns .name }}
{{- if and (eq .component "shard") (lt (int .replicas) (max $run $was | int)) }}
{{- $was = max $run $was }}
{{- fail (printf "\nshard.replicas: %d is fewer than the %d that run; the graphs of the others would be lost.\nInstall a second release with fewer shards, export the graphs here (graphctl export) and load them there, then uninstall this release." (int .replicas) $was) }}
{{- end }}
{{- if eq .component "shard" }}
{{- if and $was (ne (int .replicas) $was) }}
{{- fail (printf "\nshard.replicas: was %d; the pods of a cluster cannot become more or fewer.\nLeave shard.replicas: %d. For another number install a second release, export the graphs here (graphctl export) and load them there, then uninstall this release." $was $was) }}
{{- end }}
{{- $shards := include "hopgate.shards" .root }}
{{- $had := dig "metadata" "annotations" "hopgate/shards" $shards $live }}
{{- if ne $had $shards }}
{{- fail (printf "\nconfig.shards: was %s and cannot be changed in place: shards do not split.\nInstall a second release with the new number, export the graphs here (graphctl export) and load them there, then uninstall this release." $had) }}
{{- end }}
{{- end }}
{{- $copies := max 1 (int (dig "metadata" "annotations" "hopgate/replicas" "1" $live)) | int }}
{{- $wants := max 1 (int (include "hopgate.copies" .root)) | int }}
{{- if and (le $copies 1) (ge $wants 3) }}
{{- if $running }}
{{- fail (printf "\nconfig.replicas: was %d, and pods with and without copies do not run together.\n%s; shard.replicas must stay %d." $copies $stop $was) }}
{{- end }}
{{- else if ne $copies $wants }}
{{- fail (printf "\nconfig.replicas: was %d and cannot be changed in place.\nInstall a second release with the new number, export the graphs here (graphctl export) and load them there, then uninstall this release." $copies) }}
{{- end }}
{{- if gt $copies 1 }}
{{- include "hopgate.protectCopies" (merge (dict "live" $live "running" $running "stop" $stop) .) }}
{{- end }}
{{- $claims := dig "spec" "volumeClaimTemplates" list $live | default list }}
{{- $p := .values.persistence }}
{{- $claimed := "" }}
{{- range dig "spec" "template" "spec" "volumes" list $live }}
{{- if eq .name "data" }}
{{- $claimed = dig "persistentVolumeClaim" "claimName" "" . }}
{{- end }}
{{- end }}
{{- $asked := ternary ($p.existingClaim | default "") "" $p.enabled }}
{{- if and (or $claims $claimed) $p.enabled (ne $claimed $asked) }}
{{- fail (printf "\n%s.persistence.existingClaim: was %q and cannot be changed in place; the graphs would be left behind.\nInstall a second release, back up here (graphctl backup) and restore there." $key $claimed) }}
{{- end }}
{{- if ne (or (gt (len $claims) 0) (ne $claimed "")) $p.enabled }}
{{- fail (printf "\n%s.persistence.enabled: was %t and cannot be changed in place; the graphs would be left behind.\nBack up (graphctl backup), run: %s\nthen upgrade and restore." $key (not $p.enabled) $orphan) }}
{{- end }}
{{- if and $p.enabled (not $asked) }}
{{- $claim := (first $claims).spec }}
{{- $size := dig "resources" "requests" "storage" "0" $claim }}
{{- if ne (include "hopgate.bytes" $size) (include "hopgate.bytes" $p.size) }}
{{- fail (printf "\n%s.persistence.size: was %s, and Kubernetes does not let claim templates change.\nGrow each claim: kubectl -n %s patch pvc data-%s-N -p '{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"%s\"}}}}'\nthen run: %s\nand upgrade again; the pods go on meanwhile. Claims cannot shrink." $key $size $ns .name $p.size $orphan) }}
{{- end }}
{{- if and $p.storageClass (ne (dig "storageClassName" "" $claim) $p.storageClass) }}
{{- fail (printf "\n%s.persistence.storageClass: was %q; volumes do not change their class.\nInstall a second release with the new class, back up here (graphctl backup) and restore there." $key (dig "storageClassName" "" $claim)) }}
{{- end }}
{{- if ne (toJson (sortAlpha (dig "accessModes" list $claim))) (toJson (sortAlpha $p.accessModes)) }}
{{- fail (printf "\n%s.persistence.accessModes: was %s, and Kubernetes does not let claim templates change.\nRun: %s\nand upgrade again; existing claims keep their modes." $key (toJson (dig "accessModes" list $claim)) $orphan) }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{/* Refuses what would take the majority of a shard with copies: the same dict, and "live", "running", "stop", "template". */}}
{{- define "hopgate.protectCopies" -}}
{{- $live := .live }}
{{- if .running }}
{{- $spec := dig "spec" "template" "spec" dict $live }}
{{- $tls := false }}
{{- range dig "volumes" list $spec }}
{{- if eq .name "tls" }}
{{- $tls = true }}
{{- end }}
{{- end }}
{{- if ne $tls .root.Values.tls.enabled }}
{{- fail (printf "\ntls.enabled: was %t, and pods with and without TLS do not reach each other, so that pods replaced one after another would lose the majority.\n%s." $tls .stop) }}
{{- end }}
{{- $idle := false }}
{{- range dig "containers" list $spec }}
{{- if has "idle" (dig "args" list .) }}
{{- $idle = true }}
{{- end }}
{{- end }}
{{- if ne $idle .values.maintenance }}
{{- fail (printf "\nshard.maintenance: was %t, and pods that are replaced one after another would wait for each other.\n%s." $idle .stop) }}
{{- end }}
{{- $same := eq .template (dig "metadata" "annotations" "hopgate/template" "" $live) }}
{{- if and (hasKey $live "status") (not $same) (not .values.upgradeWhileAway) }}
{{- include "hopgate.protectMajority" . }}
{{- end }}
{{- end }}
{{- end }}

{{/*
Refuses to replace pods while one is away. Kubernetes begins with the last pod and waits for it alone, so the last one may be away; and if too few are
ready for a majority, there is none to lose.
*/}}
{{- define "hopgate.protectMajority" -}}
{{- $ns := .root.Release.Namespace }}
{{- $pods := int (dig "spec" "replicas" 0 .live) }}
{{- $ready := int (dig "status" "readyReplicas" 0 .live) }}
{{- $majority := add (div (int (include "hopgate.copies" .root)) 2) 1 }}
{{- if and (lt $ready $pods) (ge $ready (int $majority)) }}
{{- $away := list }}
{{- range $i := until $pods }}
{{- $up := false }}
{{- range dig "status" "conditions" list (lookup "v1" "Pod" $ns (printf "%s-%d" $.name $i)) }}
{{- if and (eq .type "Ready") (eq .status "True") }}
{{- $up = true }}
{{- end }}
{{- end }}
{{- if not $up }}
{{- $away = append $away (printf "%s-%d" $.name $i) }}
{{- end }}
{{- end }}
{{- $last := printf "%s-%d" .name (sub $pods 1) }}
{{- if without $away $last }}
{{- fail (printf "\nshard.replicas: %d of %d pods are ready, without %s, and this upgrade replaces pods beginning with %s: shards would lose their majority.\nWait until all are ready, or repair that pod first. shard.upgradeWhileAway: true upgrades all the same." $ready $pods (join ", " $away) $last) }}
{{- end }}
{{- end }}
{{- end }}
