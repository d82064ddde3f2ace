#!/usr/bin/env bash
# scripts/ on machines that this one is not: without the packages, without root, without sudo, of
# another distribution. dpkg-query, apt-get, meson and the rest are small fakes first in PATH.
# Prints TAP, one line a behaviour.
set -euo pipefail

root=$(cd -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/.." && pwd -P)
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
number=0 failures=0
unset CI CXX CXXFLAGS CPPFLAGS LDFLAGS HWPROF_SKIP_SETUP HWPROF_BUILD_DIR

# fake NAME: the script on standard input is the program NAME from now on.
fake() {
  { echo '#!/bin/bash'; cat; } >"$work/bin/$1"
  chmod +x "$work/bin/$1"
}

# A machine on which every package but $lacking is installed, seen by an ordinary user.
fresh_machine() {
  rm -rf -- "${work:?}"/*
  mkdir -p "$work/bin" "$work/a tree" "$work/elsewhere"
  cp -r "$root/scripts" "$root/.ci" "$work/a tree/"
  tree="$work/a tree"
  mkdir -p "$tree/tests/matrix"
  cat >"$tree/tests/matrix/libraries.py" <<'EOF'
import os, sys
open(os.environ["WORK"] + "/unpacked.log", "a").write(" ".join(["unpack"] + sys.argv[1:]) + "\n")
sys.exit("no network" if os.path.exists(os.environ["WORK"] + "/offline") else 0)
EOF
  lacking=""
  printf 'ID=debian\n' >"$work/os-release"
  fake dpkg-query <<'EOF'
echo asked >>"$WORK/dpkg-query.log"
for name in "${@:3}"; do
  case " $LACKING " in
    *" $name "*) [[ -e $WORK/installed ]] && echo "$name installed" || status=1 ;;
    *) echo "$name installed" ;;
  esac
done
exit ${status:-0}
EOF
  fake apt-get <<'EOF'
echo "apt-get $*" >>"$WORK/apt.log"
[[ $* != *install* ]] || touch "$WORK/installed"
EOF
  fake sudo <<'EOF'
echo "sudo" >>"$WORK/apt.log"
exec "$@"
EOF
  fake id <<<'echo 1000'
  fake meson <<'EOF'
echo "meson $*" >>"$WORK/meson.log"
echo "a message of meson"
case $1 in
  setup) mkdir -p "$2/meson-private" && touch "$2/build.ninja" ;;
  test) mkdir -p "$3/meson-logs" && cp "$WORK/testlog.json" "$3/meson-logs/" || true ;;
esac
exit "$(cat "$WORK/meson-$1.status" 2>/dev/null || echo 0)"
EOF
  fake ninja <<'EOF'
echo "ninja $*" >>"$WORK/ninja.log"
echo "a message of ninja"
[[ ! -e $WORK/ninja.status ]] || exit "$(cat "$WORK/ninja.status")"
mkdir -p "$2/src"
printf '#!/bin/bash\nprintf "<%%s>" "$@"\n' >"$2/src/hwprof"
chmod +x "$2/src/hwprof"
EOF
}

# Runs a script on that machine: standard output in $out, errors in $err, exit code in $code.
on_machine() {
  code=0
  (cd "$work/elsewhere" &&
    env PATH="$work/bin:$PATH" WORK="$work" LACKING="$lacking" \
      HWPROF_OS_RELEASE="$work/os-release" "$@") >"$work/out" 2>"$work/err" </dev/null || code=$?
  out=$(cat "$work/out") err=$(cat "$work/err")
}

# A path in which only the fakes and the basic tools are found, and neither of $@.
without() {
  mkdir -p "$work/basic"
  local tool
  for tool in bash cat env mktemp rm readlink dirname touch; do
    ln -sf "$(command -v "$tool")" "$work/basic/$tool"
  done
  for tool in "$@"; do rm -f "$work/bin/$tool"; done
}

expect() {
  if ! "$@"; then
    echo "# failed: $*" && echo "# code=${code-} out=${out-}" && echo "# err=${err-}"
    ok=false
  fi
}
contains() { [[ $1 == *"$2"* ]]; }
lacks() { [[ $1 != *"$2"* ]]; }
equal() { [[ $1 == "$2" ]]; }

setup_does_nothing_where_all_is_there() {
  on_machine "$tree/scripts/setup" build test lint
  expect equal "$code" 0
  expect equal "$out$err" ""
  expect test ! -e "$work/apt.log"
}

setup_unpacks_libraries_and_installs_none() {
  on_machine "$tree/scripts/setup" build
  expect equal "$code" 0
  expect equal "$(cat "$work/unpacked.log")" "unpack --own"
  on_machine "$tree/scripts/setup" test
  expect equal "$(tail -n 1 "$work/unpacked.log")" "unpack --for-tests"
  on_machine "$tree/scripts/setup" fleet
  expect equal "$(tail -n 1 "$work/unpacked.log")" "unpack --for-fleet"
  on_machine "$tree/scripts/setup" --matrix
  expect equal "$(tail -n 1 "$work/unpacked.log")" "unpack"
  expect test ! -e "$work/apt.log"
}

setup_goes_on_without_an_openblas_of_its_own() {
  touch "$work/offline"
  on_machine "$tree/scripts/setup" build
  expect equal "$code" 0
  expect contains "$err" "no network"
  expect contains "$err" "reports will compare with the installed BLAS alone"
}

setup_installs_only_what_is_missing_through_sudo() {
  lacking="libfmt-dev libhwy-dev shellcheck"
  on_machine "$tree/scripts/setup"
  expect equal "$code" 0
  expect contains "$(cat "$work/apt.log")" "install -y --no-install-recommends libfmt-dev libhwy-dev"
  expect contains "$(cat "$work/apt.log")" "sudo"
  expect lacks "$(cat "$work/apt.log")" "shellcheck"
  expect lacks "$(cat "$work/apt.log")" "meson"
}

setup_needs_no_sudo_as_root() {
  lacking="libfmt-dev"
  fake id <<<'echo 0'
  on_machine "$tree/scripts/setup"
  expect equal "$code" 0
  expect lacks "$(cat "$work/apt.log")" "sudo"
}

setup_says_the_command_without_root_and_sudo() {
  lacking="libfmt-dev"
  without sudo
  on_machine env PATH="$work/bin:$work/basic" bash "$tree/scripts/setup"
  expect equal "$code" 3
  expect contains "$err" "apt-get install -y --no-install-recommends libfmt-dev"
  expect test ! -e "$work/apt.log"
}

setup_shows_what_apt_said_when_it_fails() {
  lacking="libfmt-dev"
  fake apt-get <<<'echo "E: no network"; exit 100'
  on_machine "$tree/scripts/setup"
  expect equal "$code" 3
  expect contains "$err" "E: no network"
  expect contains "$err" "apt-get install"
}

setup_check_only_lists() {
  lacking="libfmt-dev libgtest-dev"
  on_machine "$tree/scripts/setup" --check build test
  expect equal "$code" 1
  expect equal "$out" "libfmt-dev"$'\n'"libgtest-dev"
  expect test ! -e "$work/apt.log"
}

setup_never_installs_a_blas() {
  # Nothing but comments may name one: it would become what the machine's programs get.
  expect equal "$(grep -v '^#' "$tree/scripts/packages" | grep -i -c blas)" 0
}

setup_names_the_packages_of_fedora_and_stops() {
  printf 'ID=fedora\n' >"$work/os-release"
  fake rpm <<'EOF'
[[ $3 != fmt-devel ]]
EOF
  on_machine "$tree/scripts/setup"
  expect equal "$code" 3
  expect contains "$err" "sudo dnf install fmt-devel"
  expect lacks "$err" "gcc-c++"
  expect test ! -e "$work/apt.log"
}

setup_is_content_on_fedora_when_all_is_there() {
  printf 'ID="rocky"\nID_LIKE="rhel centos fedora"\n' >"$work/os-release"
  fake rpm <<<'exit 0'
  on_machine "$tree/scripts/setup"
  expect equal "$code" 0
}

setup_gives_debians_names_where_a_name_is_unknown() {
  printf 'ID="opensuse-tumbleweed"\nID_LIKE="opensuse suse"\n' >"$work/os-release"
  fake rpm <<<'exit 1'
  on_machine "$tree/scripts/setup"
  expect equal "$code" 3
  expect contains "$err" "zypper install gcc-c++"
  expect contains "$err" "libexpected-dev"
}

setup_gives_debians_names_on_an_unknown_distribution() {
  printf 'ID=plan9\n' >"$work/os-release"
  on_machine "$tree/scripts/setup"
  expect equal "$code" 3
  expect contains "$err" "libpfm4-dev"
  on_machine env HWPROF_SKIP_SETUP=1 "$tree/scripts/setup"
  expect equal "$code" 0
}

setup_rejects_what_it_does_not_know() {
  on_machine "$tree/scripts/setup" bulid
  expect equal "$code" 2
  expect contains "$err" "'bulid'"
}

run_passes_arguments_through_and_keeps_stdout_clean() {
  on_machine "$tree/scripts/run" --pin 0 "two words" ""
  expect equal "$code" 0
  expect equal "$out" "<--pin><0><two words><>"
}

run_asks_for_packages_and_configures_only_once() {
  on_machine "$tree/scripts/run"
  on_machine "$tree/scripts/run"
  expect equal "$(wc -l <"$work/dpkg-query.log")" 1
  expect equal "$(wc -l <"$work/meson.log")" 1
  expect equal "$err" ""
}

run_asks_again_when_the_list_of_packages_changed() {
  on_machine "$tree/scripts/run"
  touch -d '+1 minute' "$tree/scripts/packages"
  on_machine "$tree/scripts/run"
  expect equal "$(wc -l <"$work/dpkg-query.log")" 2
}

run_configures_anew_for_another_compiler() {
  on_machine "$tree/scripts/run"
  on_machine env CXX=clang++ CXXFLAGS="-O1 -g" "$tree/scripts/run"
  on_machine env CXX=clang++ CXXFLAGS="-O1 -g" "$tree/scripts/run"
  expect equal "$(wc -l <"$work/meson.log")" 2
}

run_shows_the_build_when_it_fails_and_asks_for_packages_again() {
  echo 1 >"$work/ninja.status"
  on_machine "$tree/scripts/run"
  expect equal "$code" 3
  expect equal "$out" ""
  expect contains "$err" "a message of ninja"
  rm "$work/ninja.status"
  on_machine "$tree/scripts/run"
  expect equal "$code" 0
  expect equal "$(wc -l <"$work/dpkg-query.log")" 2
}

run_stops_where_setup_stops() {
  printf 'ID=plan9\n' >"$work/os-release"
  on_machine "$tree/scripts/run"
  expect equal "$code" 3
  expect test ! -e "$work/meson.log"
}

run_deletes_nothing_that_is_no_build_directory() {
  mkdir -p "$work/mine/run" && touch "$work/mine/run/thesis"
  on_machine env HWPROF_BUILD_DIR="$work/mine" "$tree/scripts/run"
  expect equal "$code" 3
  expect test -e "$work/mine/run/thesis"
}

run_works_through_a_link() {
  ln -s "$tree/scripts/run" "$work/bin/hwprof-here"
  on_machine hwprof-here x
  expect equal "$out" "<x>"
}

concurrent_runs_wait_for_one_build() {
  fake meson <<'EOF'
mkdir "$WORK/configuring" || exit 1
sleep 0.3
echo x >>"$WORK/meson.log"
mkdir -p "$2/meson-private" && touch "$2/build.ninja"
rmdir "$WORK/configuring"
EOF
  fake both <<'EOF'
"$1" a & "$1" b & wait -n && wait -n
EOF
  on_machine both "$tree/scripts/run"
  expect equal "$code" 0
  expect contains "$out" "<a>"
  expect contains "$out" "<b>"
  expect equal "$(wc -l <"$work/meson.log")" 1
}

# testlog RESULT...: what meson leaves behind.
testlog() {
  local result
  for result in "$@"; do printf '{"name": "x", "result": "%s"}\n' "$result"; done >"$work/testlog.json"
}

test_counts_what_meson_says() {
  testlog OK OK OK SKIP
  on_machine "$tree/scripts/test"
  expect equal "$code" 0
  expect equal "${out##*$'\n'}" "3 passed, 0 failed, 1 skipped"
}

test_counts_everything_else_as_failed() {
  testlog OK FAIL TIMEOUT EXPECTEDFAIL UNEXPECTEDPASS ERROR INTERRUPT
  on_machine "$tree/scripts/test"
  expect equal "$code" 1
  expect equal "${out##*$'\n'}" "1 passed, 6 failed, 0 skipped"
}

test_fails_with_meson_even_if_all_passed() {
  testlog OK
  echo 2 >"$work/meson-test.status"
  on_machine "$tree/scripts/test"
  expect equal "$code" 1
}

test_without_results_is_a_failure() {
  on_machine "$tree/scripts/test"
  expect equal "$code" 1
  expect equal "${out##*$'\n'}" "0 passed, 1 failed, 0 skipped"
}

test_says_that_the_build_failed() {
  testlog OK
  echo 1 >"$work/ninja.status"
  on_machine "$tree/scripts/test"
  expect equal "$code" 1
  expect contains "$err" "the build failed"
  expect equal "${out##*$'\n'}" "0 passed, 1 failed, 0 skipped"
}

test_makes_warnings_errors_only_in_ci() {
  testlog OK
  on_machine "$tree/scripts/test"
  expect lacks "$(cat "$work/meson.log")" "werror"
  on_machine env CI=true "$tree/scripts/test"
  expect contains "$(cat "$work/meson.log")" "-Dwerror=true"
}

test_gives_sanitizers_a_directory_of_their_own() {
  testlog OK
  on_machine "$tree/scripts/test" --sanitize address,undefined --suite unit
  expect equal "$code" 0
  expect contains "$(cat "$work/meson.log")" "build/test-address-undefined"
  expect contains "$(cat "$work/meson.log")" "-Db_sanitize=address,undefined"
  expect contains "$(cat "$work/meson.log")" "--suite unit"
  on_machine "$tree/scripts/test" --sanitize adress
  expect equal "$code" 2
}

# step NAME STATUS LINE: what .ci/run gets to call instead of the real script.
ci_step() {
  cat >"$tree/scripts/$1" <<EOF
#!/bin/bash
echo noise
echo "$3"
echo "\$CI" >>"\$WORK/ci.log"
exit $2
EOF
}

ci_adds_up_tests_linters_and_fuzz_targets() {
  ci_step test 0 "3 passed, 0 failed, 1 skipped"
  ci_step lint 0 "4 passed, 0 failed, 0 skipped"
  ci_step fuzz 0 "2 passed, 0 failed, 0 skipped"
  on_machine "$tree/.ci/run"
  expect equal "$code" 0
  expect equal "${out##*$'\n'}" "9 passed, 0 failed, 1 skipped"
  expect equal "$(sort -u "$work/ci.log")" "true"
}

ci_fails_when_one_of_them_fails() {
  ci_step test 1 "3 passed, 2 failed, 1 skipped"
  ci_step lint 0 "4 passed, 0 failed, 0 skipped"
  ci_step fuzz 0 "2 passed, 0 failed, 0 skipped"
  on_machine "$tree/.ci/run"
  expect equal "$code" 1
  expect equal "${out##*$'\n'}" "9 passed, 2 failed, 1 skipped"
}

ci_counts_a_step_without_a_result_as_failed() {
  ci_step test 137 "Killed"
  ci_step lint 1 "4 passed, 0 failed, 0 skipped"
  ci_step fuzz 0 "2 passed, 0 failed, 0 skipped"
  on_machine "$tree/.ci/run"
  expect equal "$code" 1
  expect equal "${out##*$'\n'}" "6 passed, 2 failed, 0 skipped"
}

# A kernels_bench that measures one case at once; its arguments go to bench.log.
fake_bench() {
  cp -r "$root/bench" "$tree/"
  fake apt-get <<<'exit 1'
  fake ninja <<'EOF'
mkdir -p "$2/bench"
cat >"$2/bench/kernels_bench" <<'INNER'
#!/bin/bash
printf '%s\n' "$*" >>"$WORK/bench.log"
[[ ! -e $WORK/bench.fails ]] || { echo "a message of the benchmark"; exit 3; }
for argument in "$@"; do
  case $argument in --benchmark_out=*) out=${argument#*=} ;; esac
done
echo '{"context": {"cpu": "a CPU"}, "benchmarks": [{"name": "resnet20/iterations:15/manual_time",
  "fused:gflops": 250, "fused:peak": 0.9, "onednn:ours": 1.25, "onednn:gflops": 200,
  "onednn:peak": 0.7}]}' >"$out"
INNER
chmod +x "$2/bench/kernels_bench"
EOF
}

bench_judges_the_median_of_its_runs() {
  fake_bench
  on_machine "$tree/scripts/bench" --runs 2 --cpu 0 --filter resnet -o "$work/a folder"
  expect equal "$code" 0
  expect contains "$out" "| ResNet20, one image, over oneDNN | >= 1.0 | 1.250 | 1.250 .. 1.250 | yes |"
  expect contains "$out" "| ResNet20, one image, over PyTorch eager | >= 3.0 | absent |"
  expect equal "$(wc -l <"$work/bench.log")" 2
  expect contains "$(cat "$work/bench.log")" "--cpu 0 --rounds 15 --benchmark_filter=resnet"
  expect equal "$(cat "$work/a folder/results.md")" "$out"
  expect test -s "$work/a folder/results.json"
}

bench_stops_when_a_run_fails() {
  fake_bench
  touch "$work/bench.fails"
  on_machine "$tree/scripts/bench" --runs 1 --cpu 0
  expect equal "$code" 3
  expect contains "$err" "a message of the benchmark"
  expect equal "$out" ""
}

bench_refuses_what_it_does_not_know() {
  for arguments in "--rums 3" "--runs" "--runs no"; do
    # shellcheck disable=SC2086  # words
    on_machine "$tree/scripts/bench" $arguments
    expect equal "$code" 2
    expect test ! -e "$work/meson.log"
  done
}

package_refuses_what_it_does_not_know() {
  on_machine "$tree/scripts/package" --twice
  expect equal "$code" 2
  expect contains "$err" "'--twice'"
  expect test ! -e "$tree/build"
}

package_stops_where_there_is_no_dpkg() {
  without dpkg
  on_machine env PATH="$work/bin:$work/basic" bash "$tree/scripts/package"
  expect equal "$code" 3
  expect contains "$err" "no dpkg"
  expect test ! -e "$work/apt.log"
}

package_stops_where_its_tools_cannot_be_installed() {
  printf 'ID=fedora\n' >"$work/os-release"
  on_machine "$tree/scripts/package"
  expect equal "$code" 3
  expect contains "$err" "cannot be built"
  expect test ! -e "$tree/build"
}

tests=$(declare -F | awk '$3 ~ /^(setup|run|test|concurrent|ci|bench|package)_/ && $3 != "ci_step" { print $3 }')
echo "1..$(wc -l <<<"$tests")"
for name in $tests; do
  number=$((number + 1)) ok=true
  fresh_machine
  "$name"
  if $ok; then echo "ok $number - ${name//_/ }"; else echo "not ok $number - ${name//_/ }"; failures=$((failures + 1)); fi
done
((failures == 0))
