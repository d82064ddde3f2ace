# shellcheck shell=bash
# Shared by scripts/run, test and lint: a build directory that is ready, whoever calls at once.
#
# The packages are asked for once: a stamp beside the build directory is as good as scripts/packages
# is old. A failed build removes it, since a package may have gone. A lock keeps calls apart; it is
# given back before anything long runs.

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
build_base=${HWPROF_BUILD_DIR:-$root/build}

say() { printf 'hwprof: %s\n' "$*" >&2; }

die() {
  say "$@"
  exit 3
}

# Runs a step of the build; its output is only seen when it fails.
quietly() {
  if ! "$@" >"$build.log" 2>&1 </dev/null 9>&-; then
    cat -- "$build.log" >&2
    rm -f -- "$build.setup"
    return 1
  fi
}

# ninja under one of the names it goes by.
ninja_command() {
  local name
  for name in ninja ninja-build samu; do
    if command -v "$name"; then return; fi
  done
  echo ninja
}

# Ten units of src/ are compiled as one: what they include is read once, which halves the time of a
# first build. Who edits one file at a time is better served without (CONTRIBUTING.md).
first_build=(-Dunity=on -Dunity_size=10)

# Of the tests' build, which the linters read too. Without debug information, which is a third of the
# time; what a test looks up in it is built with it (tests/meson.build).
# shellcheck disable=SC2034  # used by the scripts that read this file
test_options=(-Dtests=true -Doptimization=2 -Ddebug=false "${first_build[@]}")
if [[ ${CI:-} == true ]]; then test_options+=(-Dwerror=true); fi

# prepare NAME "GROUP..." MESON-OPTION...: installs, configures and builds; sets `build`. Returns 1
# when the build failed, ends the script when there is nothing to build with.
prepare() {
  local name=$1 groups=$2
  shift 2
  build=$build_base/$name
  mkdir -p -- "$build_base" 2>/dev/null || die "cannot create $build_base (HWPROF_BUILD_DIR moves it)"
  { exec 9>"$build.lock"; } 2>/dev/null ||
    die "cannot write in $build_base (was it built as root? HWPROF_BUILD_DIR moves it)"
  flock 9

  if [[ ! $build.setup -nt $root/scripts/packages ]]; then
    # shellcheck disable=SC2086  # a list of words
    "$root/scripts/setup" $groups >&2 </dev/null 9>&- || exit
    touch -- "$build.setup"
  fi
  # meson reads these once; asked for another compiler, only a new directory obeys.
  local asked="$* CXX=${CXX-} CXXFLAGS=${CXXFLAGS-} CPPFLAGS=${CPPFLAGS-} LDFLAGS=${LDFLAGS-}"
  if [[ ! -f $build/build.ninja || $(cat -- "$build.asked" 2>/dev/null) != "$asked" ]]; then
    say "building in $build"
    [[ ! -e $build || -d $build/meson-private ]] || die "$build is there and is no build directory"
    rm -rf -- "$build"
    quietly meson setup "$build" "$root" "$@" || return 1
    printf '%s\n' "$asked" >"$build.asked"
  fi
  quietly "$(ninja_command)" -C "$build" || return 1
  exec 9>&-
}
