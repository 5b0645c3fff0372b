#!/bin/sh
# Creates TEMPORAL_NAMESPACE at TEMPORAL_ADDRESS, with the search attributes that perdure writes. May run again.
set -eu

# The server listens a little before it can be asked.
attempts=0
until temporal operator cluster health >/dev/null 2>&1; do
  attempts=$((attempts + 1))
  [ "$attempts" -lt 60 ] || { temporal operator cluster health; exit 1; }
  sleep 1
done

if ! temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
  temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
fi

# A new namespace is known to every part of the server after some seconds.
attempts=0
until temporal operator search-attribute create \
  --name PerdureStatus --type Keyword \
  --name PerdureTools --type KeywordList \
  --name PerdureFailureClasses --type KeywordList; do
  attempts=$((attempts + 1))
  [ "$attempts" -lt 30 ] || exit 1
  sleep 1
done
