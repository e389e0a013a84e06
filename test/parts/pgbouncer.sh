#!/bin/sh
# PgBouncer is in no npm package. On Debian and its like this takes the package and the libraries that it lacks into
# node_modules/.debian here, and installs nothing: no service starts, and no root is needed. Elsewhere, or where another
# version is wanted, `pgbouncer` is put on the PATH. Whoever finds none says so in tests, not here.
set -eu
cd "$(dirname "$0")"
PATH="$PATH:/usr/sbin:/usr/local/sbin"
folder="$PWD/node_modules/.debian"
if command -v pgbouncer > /dev/null || [ -e "$folder/usr/sbin/pgbouncer" ] || ! command -v apt-get > /dev/null; then exit 0; fi

fetch() {
  rm -rf "$folder" && mkdir -p "$folder/archives/partial" &&
    apt-get install -qq --yes --download-only --no-install-recommends \
      -o Dir::Cache::archives="$folder/archives" -o Debug::NoLocking=1 -o APT::Sandbox::User= pgbouncer > /dev/null &&
    for package in "$folder"/archives/*.deb; do dpkg -x "$package" "$folder" || return 1; done
}

# A machine that is new has no lists of packages yet; only root may fetch them.
fetch 2> /dev/null || { apt-get update -qq > /dev/null 2>&1; fetch; } ||
  echo 'pgbouncer cannot be had from apt. The tests that go through it say what to install.' >&2
