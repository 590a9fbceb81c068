#!/usr/bin/env bash
# Builds all that docs/gpu/measure.sh needs on a GPU server into one folder, which is then copied there: GPU servers tend to
# have neither Go nor OpenCL headers nor an OpenCL loader.
#
#     docs/gpu/kit.sh FOLDER
#
# Needs Go, gcc, the OpenCL headers and loader (Debian: ocl-icd-opencl-dev). What is built on Debian 12 runs on other
# systems of that age or younger.
set -euo pipefail
cd "$(dirname "$0")/../.."
[ $# = 1 ] || { sed -n '2,9s/^# \{0,1\}//p' "$0" >&2; exit 2; }
kit=$1
mkdir -p "$kit"
export CGO_CFLAGS="${CGO_CFLAGS:--O2 -g} -DCL_TARGET_OPENCL_VERSION=120"

go build -ldflags=-s -tags opencl -o "$kit/extsort" ./cmd/extsort
go test -c -ldflags=-s -tags opencl -o "$kit/algo.test" ./device/opencl/algo
go test -c -ldflags=-s -tags opencl -o "$kit/opencl.test" ./device/opencl
cp docs/gpu/measure.sh docs/gpu/cub.cu "$kit/"
loader=$(ldconfig -p | awk '/libOpenCL\.so\.1 .*=> /{print $NF; exit}')
cp -L "$loader" "$kit/libOpenCL.so.1"
echo "copy $kit to the server and run ./measure.sh there"
