# syntax=docker/dockerfile:1

# Builds the image from the sources: "docker build ." the usual one, "docker build --target pkcs11 ." that for sealing keys in
# hardware modules. Releases of the usual one copy the program of the release instead (deploy/docker/release.Dockerfile).
# Base images are named by version here; Renovate adds their digests and keeps both up to date (.github/renovate.json).

# Debian, as the lock file names the bundler for glibc.
FROM --platform=$BUILDPLATFORM node:22-bookworm-slim AS web
WORKDIR /src/web
COPY web/package.json web/package-lock.json web/.npmrc ./
RUN --mount=type=cache,target=/root/.npm npm install --no-save --no-audit --no-fund
COPY web/ .
COPY locales ../locales
RUN npm run build

FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
COPY clients/go/go.mod clients/go/go.sum clients/go/
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
COPY --from=web /src/web/dist web/dist
ARG VERSION=local TARGETOS TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -tags nomsgpack,azure -trimpath -buildvcs=false \
    -ldflags "-s -w -X main.version=${VERSION}" -o /out/countersign ./cmd/countersign && \
    mkdir -p /out/data

# With cgo, and so on the platform of the image.
FROM golang:1.26-bookworm AS build-pkcs11
WORKDIR /src
COPY --from=build /src /src
ARG VERSION=local
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=1 go build -tags nomsgpack,azure,pkcs11 -trimpath -buildvcs=false \
    -ldflags "-s -w -X main.version=${VERSION}" -o /out/countersign ./cmd/countersign

# The worker of this image loads the library of your module: mount it, or copy it in an image of your own.
FROM gcr.io/distroless/cc-debian12:nonroot AS pkcs11
COPY --from=build-pkcs11 /out/countersign /usr/local/bin/countersign
COPY --from=build --chown=65532:65532 /out/data /var/lib/countersign
COPY LICENSE NOTICE /usr/share/doc/countersign/
USER 65532:65532
ENV COUNTERSIGN_LISTEN=0.0.0.0:8080 \
    COUNTERSIGN_DATA_DIR=/var/lib/countersign
VOLUME /var/lib/countersign
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/countersign"]
CMD ["api"]
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=6 CMD ["/usr/local/bin/countersign", "healthcheck"]

# No shell, no package manager, and no Temporal, which is a service of its own.
FROM gcr.io/distroless/static-debian12:nonroot AS service
COPY --from=build /out/countersign /usr/local/bin/countersign
COPY --from=build --chown=65532:65532 /out/data /var/lib/countersign
COPY LICENSE NOTICE /usr/share/doc/countersign/
USER 65532:65532
ENV COUNTERSIGN_LISTEN=0.0.0.0:8080 \
    COUNTERSIGN_DATA_DIR=/var/lib/countersign
VOLUME /var/lib/countersign
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/countersign"]
CMD ["api"]
# Of the API, and without Temporal: signing goes on while it is down. A worker serves nothing here, and is run with --no-healthcheck.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=6 CMD ["/usr/local/bin/countersign", "healthcheck"]
