{{/* The bytes of a quantity such as 10Gi, so that 10Gi and 10240Mi are the same. */}}
{{- define "hopgate.bytes" -}}
{{- $units := dict "" 1 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "E" 1e18 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 "Ei" 1152921504606846976 }}
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
{{- $was := int (dig "spec" "replicas" 0 $live) }}
{{- if and (eq .component "shard") (lt (int .replicas) $was) }}
{{- fail (printf "\nshard.replicas: %d is fewer than the %d that run; the graphs of the others would be lost.\nInstall a second release with fewer shards, export the graphs here (graphctl export) and load them there, then uninstall this release." (int .replicas) $was) }}
{{- end }}
{{- $copies := int (dig "metadata" "annotations" "hopgate/replication" "0" $live) }}
{{- $replication := int (include "hopgate.replication" .root) }}
{{- if and (le $copies 1) (ge $replication 3) }}
{{- if $was }}
{{- fail (printf "\nconfig.replication: was %d, and pods with and without copies do not run together.\nStop all: kubectl -n %s scale statefulset %s --replicas=0\nWait until they have ended, and upgrade again; shard.replicas must stay what it was." $copies $ns .name) }}
{{- end }}
{{- else if ne $copies $replication }}
{{- fail (printf "\nconfig.replication: was %d and cannot be changed in place.\nInstall a second release with the new number, export the graphs here (graphctl export) and load them there, then uninstall this release." $copies) }}
{{- end }}
{{- if and (gt $copies 1) (ne (int .replicas) $was) }}
{{- fail (printf "\nshard.replicas: was %d; the pods of a cluster with copies of each shard cannot become more or fewer.\nInstall a second release with the new number, export the graphs here (graphctl export) and load them there, then uninstall this release." $was) }}
{{- end }}
{{- $claims := dig "spec" "volumeClaimTemplates" list $live | default list }}
{{- $p := .values.persistence }}
{{- if ne (gt (len $claims) 0) $p.enabled }}
{{- fail (printf "\n%s.persistence.enabled: was %t and cannot be changed in place; the graphs would be left behind.\nBack up (graphctl backup), run: %s\nthen upgrade and restore." $key (not $p.enabled) $orphan) }}
{{- end }}
{{- if $p.enabled }}
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
