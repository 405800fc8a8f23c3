#!/bin/sh
# Installs what drift-audit is built and tested with on Debian 12 and Ubuntu 24.04, as far as it is missing.
# Works as root or with sudo, asks nothing, and touches nothing when all is there.
set -eu

packages="build-essential cmake ninja-build git ca-certificates python3 libcli11-dev libspdlog-dev nlohmann-json3-dev
          libopenmpi-dev openmpi-bin catch2 libxxhash-dev libvalijson-dev"

missing=
for package in $packages; do
  if [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null || true)" != installed ]; then
    missing="$missing $package"
  fi
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
  as_root=
elif command -v sudo > /dev/null; then
  as_root=sudo
else
  echo "install_packages.sh: needs root or sudo to install:$missing" >&2
  exit 1
fi

echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get -q update
# shellcheck disable=SC2086  # the names are words
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing
