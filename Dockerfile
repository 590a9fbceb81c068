# The command alone, statically linked:
#
#   docker build -t extsort .
#   docker run --rm -v "$PWD:/data" -m 1g extsort -t u64 -o sorted.bin keys.bin
#
# Spill goes to /data, beside what is sorted: the image itself has no folder for it.
FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unreleased
ARG COMMIT=unknown
RUN CGO_ENABLED=0 go build -trimpath -o /extsort \
	-ldflags "-s -w -X main.releaseVersion=$VERSION -X main.releaseCommit=$COMMIT" ./cmd/extsort

FROM scratch
COPY --from=build /extsort /extsort
COPY LICENSE docs/licences.md /
ENV TMPDIR=/data
WORKDIR /data
ENTRYPOINT ["/extsort"]
