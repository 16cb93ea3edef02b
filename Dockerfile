# syntax=docker/dockerfile:1

# Debian, as the lock file names the bundler for glibc.
FROM node:22-bookworm-slim AS web
WORKDIR /src/web
COPY web/package.json web/package-lock.json web/.npmrc ./
RUN --mount=type=cache,target=/root/.npm npm install --no-save --no-audit --no-fund
COPY web/ .
COPY locales ../locales
RUN npm run build

FROM golang:1.26-alpine AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY clients/go/go.mod clients/go/go.sum clients/go/
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
COPY --from=web /src/web/dist web/dist
ARG VERSION=local
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 go build -tags nomsgpack,azure -trimpath -buildvcs=false -ldflags "-s -w -X main.version=${VERSION}" \
    -o /out/countersign ./cmd/countersign && \
    mkdir -p /out/data

# Alpine for its wget, with which the health of the API is asked.
FROM alpine:3.22
COPY --from=build /out/countersign /usr/local/bin/countersign
COPY --from=build --chown=65532:65532 /out/data /var/lib/countersign
USER 65532:65532
ENV COUNTERSIGN_LISTEN=0.0.0.0:8080 \
    COUNTERSIGN_DATA_DIR=/var/lib/countersign
VOLUME /var/lib/countersign
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/countersign"]
CMD ["api"]
# Of the API, and without Temporal: signing goes on while it is down. A worker serves nothing here, and is run with --no-healthcheck.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=6 \
    CMD wget -q -O /dev/null "http://127.0.0.1:8080/readyz?for=requests"
