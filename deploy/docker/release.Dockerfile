# syntax=docker/dockerfile:1

# The image of a release. It contains the same program as the release archives. goreleaser builds it (.goreleaser.yaml) with
# the programs in directories named after their platforms. Renovate adds the digests of the base images and keeps them up
# to date.
FROM --platform=$BUILDPLATFORM busybox:1.37 AS data
RUN mkdir /data

FROM gcr.io/distroless/static-debian12:nonroot
ARG TARGETPLATFORM
COPY $TARGETPLATFORM/countersign /usr/local/bin/countersign
COPY LICENSE NOTICE /usr/share/doc/countersign/
COPY --from=data --chown=65532:65532 /data /var/lib/countersign
USER 65532:65532
ENV COUNTERSIGN_LISTEN=0.0.0.0:8080 \
    COUNTERSIGN_DATA_DIR=/var/lib/countersign
VOLUME /var/lib/countersign
EXPOSE 8080
ENTRYPOINT ["/usr/local/bin/countersign"]
CMD ["api"]
# The health check queries the API. It ignores Temporal, because signers can sign while it is down. A worker does not
# listen on this port, so run it with --no-healthcheck.
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s --retries=6 CMD ["/usr/local/bin/countersign", "healthcheck"]
