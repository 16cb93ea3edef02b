# syntax=docker/dockerfile:1

# Builds an image from source. "docker build ." builds the default image, and "docker build --target pkcs11 ." builds the
# image for sealing keys in hardware modules. The default image of a release instead contains the program from the release
# archives (deploy/docker/release.Dockerfile). The versions of base images are specified here. Renovate adds their digests
# and keeps both up to date (.github/renovate.json).

# Use Debian, because the lock file contains the glibc version of the bundler.
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

# PKCS#11 requires cgo, so this stage runs on the platform of the image.
FROM golang:1.26-bookworm AS build-pkcs11
WORKDIR /src
COPY --from=build /src /src
ARG VERSION=local
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=1 go build -tags nomsgpack,azure,pkcs11 -trimpath -buildvcs=false \
    -ldflags "-s -w -X main.version=${VERSION}" -o /out/countersign ./cmd/countersign

# The worker in this image loads the library of your hardware module. Mount the library, or copy it to a derived image.
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

# This image contains no shell, no package manager, and no Temporal server, which is a separate service.
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
# This checks the API. It ignores Temporal, because signers can sign while it is down. A worker does not listen on this
# port, so run it with --no-healthcheck.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=6 CMD ["/usr/local/bin/countersign", "healthcheck"]
