#!/usr/bin/env bash
# Generates a Go and a TypeScript client from the contract and compiles both.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p client
go tool oapi-codegen -package client -generate types,client,skip-prune -o client/client.gen.go ../../api/openapi.yaml
go vet ./...
npm ci --no-audit --no-fund --silent
npm run --silent check
echo "both generated clients compile"
