#!/usr/bin/env bash
# Checks that the generated Go code matches the contract, that the contract does not break published clients, and that
# both client libraries build, pass their tests and can be published. With --generate, it writes the generated code
# instead.
set -euo pipefail
cd "$(dirname "$0")/.."
tools=${TOOLS:-$PWD/bin/tools}

generate() { # generate <file>
  (cd clients/go/api && "$tools/oapi-codegen" -config config.yaml ../../../api/openapi.yaml >"$1")
}

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
generate "$fresh"
if [ "${1:-}" = --generate ]; then
  cat "$fresh" >clients/go/api/client.gen.go
  exit
fi
cmp -s "$fresh" clients/go/api/client.gen.go || { echo 'clients/go/api/client.gen.go is not of this contract: run "make generate-clients"' >&2; exit 1; }
"$tools/oasdiff" breaking --fail-on ERR --severity-levels clients/contract-levels.txt clients/published.yaml api/openapi.yaml >"$fresh" ||
  { cat "$fresh" >&2; echo 'this change of the contract breaks the clients that are published' >&2; exit 1; }
go -C clients/go vet ./...
go -C clients/go test ./...
npm --prefix clients/typescript run --silent build
npm --prefix clients/typescript run --silent check >"$fresh" || { cat "$fresh" >&2; exit 1; }
npm --prefix clients/typescript run --silent test >"$fresh" || { cat "$fresh" >&2; exit 1; }
grep -E '^# (tests|pass|fail|skipped) ' "$fresh"
