# Usage: bash build-images.sh DIRECTORY STORAGE NODE GUARD PAUSE
# Writes guard.tar, the image GUARD from the project's Containerfile, and pause.tar, the image PAUSE of a pod's sandbox, in
# which a process only waits, into DIRECTORY. The base image has the program NODE, and the libraries and the shell of this
# machine. Unchanged layers come from STORAGE. DIRECTORY/work is left over.
set -euo pipefail
cd "$(dirname "$0")/../../.."
directory=$1 storage=$2 node=$3 guard=$4 pause=$5
work=$directory/work
base=$work/base/files
base_image=localhost/machineconfig-guard-base
ca_bundle=/etc/ssl/certs/ca-certificates.crt

# copy_file ROOT FROM TO
copy_file() {
  mkdir -p "$1$(dirname "$3")"
  cp --dereference "$2" "$1$3"
}

# copy_program ROOT FROM TO: with its libraries
copy_program() {
  local library
  copy_file "$@"
  for library in $(ldd "$2" | grep -oP '/\S+(?= \(0x)'); do copy_file "$1" "$library" "$library"; done
}

run_buildah() {
  buildah --root="$storage" --runroot="$work/buildah-run" --storage-driver=overlay "$@"
}

# build NAME ARGUMENT...
build() {
  run_buildah build --layers --isolation=chroot --tag="$@"
}

mkdir -p "$base/tmp" "$base/usr/lib"
copy_program "$base" "$node" /usr/bin/node
copy_program "$base" /bin/sh /bin/sh
copy_program "$base" /usr/bin/env /usr/bin/env
copy_file "$base" "$ca_bundle" "$ca_bundle"
# Only the build uses npm. It has the registry and the authorities of this machine.
cp --recursive "$(dirname "$(dirname "$(realpath "$(command -v npm)")")")" "$base/usr/lib/npm"
printf 'registry=%s\ncafile=%s\n' "$(npm config get registry)" "$ca_bundle" >"$base/usr/lib/npm/npmrc"
ln -s ../lib/npm/bin/npm-cli.js "$base/usr/bin/npm"
printf 'FROM scratch\nCOPY files /\nENV PATH=/usr/local/bin:/usr/bin:/bin\n' >"$work/base/Containerfile"
build "$base_image" "$work/base"

copy_program "$work/pause/files" /bin/sleep /sleep
printf 'FROM scratch\nCOPY files /\nENTRYPOINT ["/sleep", "infinity"]\n' >"$work/pause/Containerfile"
build "$pause" "$work/pause"
build "$guard" --build-arg=BASE_IMAGE="$base_image" --file=Containerfile --network=host .
run_buildah push "$guard" "docker-archive:$directory/guard.tar:$guard"
run_buildah push "$pause" "docker-archive:$directory/pause.tar:$pause"
