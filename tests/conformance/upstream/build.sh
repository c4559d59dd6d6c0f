#!/bin/sh
# Builds programs of upstream from Git directories into the folder of upstream's programs, and prints that folder:
# $CATALOGQL_UPSTREAM where it is set, else one in the user's cache. README.md says which repositories have which programs.
# Each repository has its modules in a vendor folder, so that nothing is downloaded.
#
# usage: build.sh [GIT_DIRECTORY...]
# GIT_DIRECTORY   Git directory of a clone, also a bare one, of operator-framework-operator-controller or
#                 operator-framework-olm; its HEAD is built
set -eu

folder="${CATALOGQL_UPSTREAM:-${XDG_CACHE_HOME:-$HOME/.cache}/catalogql/upstream}"
mkdir -p "$folder"
[ $# = 0 ] || command -v go >/dev/null || {
  echo 'go is missing: install Go 1.21 or newer (https://go.dev/dl)' >&2
  exit 1
}

# A Go that is older than go.mod asks for downloads one that is not. The tags leave out what needs libraries in C, as does
# the lack of cgo, with which SQLite's source is not needed either.
export GOTOOLCHAIN=auto CGO_ENABLED=0 GOWORK=off
tags=json1,containers_image_openpgp,exclude_graphdriver_btrfs,exclude_graphdriver_devicemapper

# Builds one program: its name, its package.
program() {
  echo "building $1 of $commit into $folder" >&2
  (cd "$new" && nice go build -mod=vendor -trimpath -buildvcs=false -ldflags '-s -w' -tags "$tags" -o "$new/$1.built" "$2")
  echo "$commit" >"$folder/$1.commit"
  mv "$new/$1.built" "$folder/$1"
}

# Writes files of a repository, which the runs apply to a cluster: the folder, then the paths.
files() {
  rm -rf "${folder:?}/$1"
  mkdir "$folder/$1"
  name=$1
  shift
  for path; do cp -R "$new/$path" "$folder/$name/"; done
}

for git; do
  commit=$(git --git-dir "$git" rev-parse HEAD)
  new=$(mktemp -d "$folder/build.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  # Folders with modules of their own are left out, and a file of 9 MB of C, which some copies lack: `git archive` would
  # fail for it although it is excluded.
  (
    export GIT_INDEX_FILE="$new.index"
    git --git-dir "$git" read-tree HEAD
    git --git-dir "$git" --work-tree "$new" -C "$new" ls-files -z -- . ':(exclude)tests-extension' ':(exclude)openshift' \
      ':(exclude,glob)**/sqlite3-binding.c' | git --git-dir "$git" checkout-index -z --stdin --prefix="$new/"
    rm "$GIT_INDEX_FILE"
  )
  case $(sed -n 's/^module //p' "$new/go.mod") in
    github.com/operator-framework/operator-controller)
      files operator-controller-manifests helm/olmv1/base
      program catalogd ./cmd/catalogd
      program operator-controller ./cmd/operator-controller
      ;;
    github.com/openshift/operator-framework-olm)
      olm=github.com/operator-framework
      files olm-manifests staging/api/crds
      program catalog-operator "$olm/operator-lifecycle-manager/cmd/catalog"
      program packageserver "$olm/operator-lifecycle-manager/cmd/package-server"
      program opm "$olm/operator-registry/cmd/opm"
      ;;
    *)
      echo "error: $git has a module that this does not know" >&2
      exit 1
      ;;
  esac
  rm -rf "$new"
done
echo "$folder"
