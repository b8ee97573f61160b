#!/bin/sh
# Builds the Dockerfile where no engine of Docker is, and runs the image (Debian, as root): tools/image.sh [OPTION…]
#
# buildah carries out the steps of the Dockerfile as they are written, in a root of its own; it gets the OPTIONs, such as
# -v for folders with packages. The image that they begin with would come from a registry. In its place stands a Debian 13
# with its own Python 3.13. Then the command of the image tests the sample project, with its bug and without.
set -eu

here=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
apt-get install --yes --quiet=2 --no-install-recommends buildah debootstrap >/dev/null

base=$(sed -n 's/^FROM //p' "$here/Dockerfile")
echo "making what stands in the place of $base"
debootstrap --variant=minbase --include=ca-certificates,python3,python3-pip trixie "$folder/root" >"$folder/log"
rm "$folder/root/usr/lib/python3.13/EXTERNALLY-MANAGED" # a container of Python lets pip install for all
ln -s python3 "$folder/root/usr/bin/python"

echo '{"default": [{"type": "insecureAcceptAnything"}]}' >"$folder/policy.json"
echo 'unqualified-search-registries = ["localhost"]' >"$folder/registries.conf"
export CONTAINERS_REGISTRIES_CONF="$folder/registries.conf" BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
buildah_() {
    buildah --root "$folder/images" --runroot "$folder/running" "$@"
}
made=$(buildah_ from scratch)
buildah_ add --quiet "$made" "$folder/root" / >/dev/null
buildah_ commit --quiet "$made" "localhost/$base" >/dev/null
rm -rf "$folder/root"

buildah_ build --signature-policy "$folder/policy.json" --pull=never "$@" --tag palaver "$here"

container=$(buildah_ from --pull-never --signature-policy "$folder/policy.json" palaver)
entry=$(buildah_ inspect --type image --format '{{index .OCIv1.Config.Entrypoint 0}}' palaver)
work=$(buildah_ inspect --type image --format '{{.OCIv1.Config.WorkingDir}}' palaver)
cp -r "$here/examples/adder" "$folder/project"
expect() { # CODE ARGUMENT…: what the image prints and returns
    wanted=$1
    shift
    code=0
    buildah_ run --volume "$folder/project:$work" "$container" -- "$entry" "$@" >"$folder/said" 2>"$folder/errors" || code=$?
    tail -n 3 "$folder/said"
    echo "$entry $*: exit code $code"
    [ "$code" -eq "$wanted" ] || {
        cat "$folder/errors"
        exit 1
    }
}
expect 0 --help
expect 0 check --strict adder.fan
expect 1 talk
sed -i 's/ % 100//' "$folder/project/server.py"
expect 0 talk
expect 0 demo
