#!/bin/sh
# Creates the namespace and its search attributes if they are missing. It is safe to run this script repeatedly.
set -eu

namespace=${TEMPORAL_NAMESPACE:-default}
temporal operator namespace describe --namespace "$namespace" >/dev/null 2>&1 ||
  temporal operator namespace create --namespace "$namespace" --retention "${TEMPORAL_RETENTION:-30d}"

known=$(temporal operator search-attribute list --namespace "$namespace")
for name in AppId TenantId EnvelopeId EnvelopeStatus Stuck; do
  case "$known" in
  *"$name"*) ;;
  *) temporal operator search-attribute create --namespace "$namespace" --name "$name" --type Keyword ;;
  esac
done
