#!/bin/sh
# Prints the path of MinIO, a server of S3, in the user's cache, into which it is built once from the Go module proxy (10 minutes
# on two busy cores). MinIO has the AGPL: it is only run.
set -eu

version=v0.0.0-20260212201848-7aac2a2c5b7c
folder="${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/minio/$version"
if [ -x "$folder/minio" ]; then
  echo "$folder/minio"
  exit
fi
command -v go >/dev/null || {
  echo 'go is missing: install Go 1.21 or newer (https://go.dev/dl)' >&2
  exit 1
}

echo "building MinIO into $folder" >&2
# A Go that is older than its go.mod asks for downloads one that is not.
GOTOOLCHAIN=auto CGO_ENABLED=0 GOBIN="$folder" nice go install -trimpath -ldflags '-s -w' "github.com/minio/minio@$version"
echo "$folder/minio"
