#!/usr/bin/env bash
# Fails the first, second, third ... call of each system call in turn, under small sorts, a merge, a check and gen, and
# looks after each at what a user would: exit 2 with one line and the old output whole, or exit 0 and the right bytes;
# and nothing left in any folder. A sort with a checkpoint is also killed there; where it fails, or warns that its folder
# stays, the same command is run again, which has to come to the right bytes.
#
#   docs/reliability/inject.sh [EXTSORT]     the command to be tested; otherwise it is built from this checkout
#
# Needs Linux, strace 5.3 or later (fault injection, --seccomp-bpf), permission to trace (as in most containers), bash,
# GNU coreutils, 200 MB in TMPDIR, and Go if the command is to be built. A command that is named should be linked
# statically (CGO_ENABLED=0), else calls of the loader fail before it begins. Takes ten minutes or more.
#
#   FIRST=1 MOST=25   the calls that are failed, by their number; the loop ends before, where there are no more
#   JOBS="..."        only these of: in-core spill partition compressed merge check gen checkpoint
#   CALLS="..."       only these SYSCALL:ERROR; the error KILL, of a sort with a checkpoint only, is a signal at
#                     the first of these calls
#
# strace counts calls by thread, so that the n-th call of every thread fails. Each case is a row of the result:
#
#   ok         exit 0 and the right bytes: the call was not needed, or was done again
#   refused    exit 2, one line, the old output whole, nothing left behind
#   complete   exit 2, the new output whole under its name, and the one line says that it is complete
#   again      the same command, run again after a failure or a kill, came to the right bytes (checkpoint)
#   runtime    Go's runtime gave up, since a call of its own failed; an output whole, and nothing left behind
#   LATE       exit 2, the new output whole under its name, and the line does not say so
#   WRONG      anything else
#
# Exit status: 0 where no case is LATE or WRONG, else 1; 2 where the script cannot run.
set -uo pipefail
first=${FIRST:-1} most=${MOST:-25}
jobs=${JOBS:-in-core spill partition compressed merge check gen checkpoint}
calls=${CALLS:-read:EIO pread64:EIO write:ENOSPC write:EIO pwrite64:ENOSPC pwrite64:EIO fsync:EIO fdatasync:EIO \
	sync_file_range:EIO renameat:EIO linkat:EIO linkat:EEXIST unlinkat:EIO openat:EMFILE openat:EACCES mmap:ENOMEM \
	ftruncate:EIO fallocate:ENOSPC fallocate:EIO fallocate:EINTR close:EIO pwrite64:KILL fsync:KILL \
	fdatasync:KILL ftruncate:KILL openat:KILL renameat:KILL unlinkat:KILL}

command -v strace >/dev/null || { echo "inject: strace is not installed" >&2 && exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
extsort=$(realpath "${1:-$work/extsort}")
if [ $# = 0 ]; then
	(cd "$here/../.." && CGO_ENABLED=0 go build -o "$extsort" ./cmd/extsort) || exit 2
fi
cd "$work" && mkdir data result spill tmp || exit 2
export TMPDIR=$work/tmp

prepare() {
	"$extsort" gen -t u64 -n 100k --seed 1 -o data/small &&
		"$extsort" gen -t u64 -n 2500000 --seed 2 -o data/large &&
		"$extsort" gen -t u64 -n 800000 --seed 5 -o data/runs &&
		"$extsort" -t u64 -o data/sorted data/small &&
		"$extsort" gen -t u64 -n 50000 --dist sorted -o data/sorted2 &&
		"$extsort" gen -t u64 -n 100000 --seed 3 --compress zstd -o data/packed &&
		head -c 12345 /dev/urandom >old && find data | sort >inputs
}

# arguments JOB prints the command line of a job.
arguments() {
	local spilling="-t u64 -S 16M --parallel 2 -T spill -o result/out data/large"
	case $1 in
	in-core) echo -t u64 --parallel 2 -T spill -o result/out data/small ;;
	spill) echo --strategy merge $spilling ;;
	partition) echo --strategy partition $spilling ;;
	compressed) echo -t u64 --parallel 2 --compress gzip -T spill -o result/out data/packed ;;
	merge) echo -t u64 -m --parallel 2 -T spill -o result/out data/sorted data/sorted2 ;;
	check) echo -t u64 -c --parallel 2 data/sorted ;;
	checkpoint) echo -t u64 -S 16M --parallel 2 --strategy merge --checkpoint kept -o result/out data/runs ;;
	gen) echo gen -t u64 -n 100000 --seed 4 --parallel 2 -o result/out ;;
	esac
}

# attempt JOB [STRACE ARGUMENTS] runs a job over an old output.
attempt() {
	local job=$1
	shift
	rm -rf kept result/* result/.[!.]*
	[ "$job" = check ] || cp old result/out
	start "$job" "$@"
}

# start JOB [STRACE ARGUMENTS] runs a job over what there is, and leaves its status in $status.
start() {
	local job=$1
	shift
	# shellcheck disable=SC2046 # the arguments are words
	timeout -k 5 300 "$@" "$extsort" $(arguments "$job") >stdout 2>stderr
	status=$?
}

# is FILE says whether the output is that; both may be missing.
is() { if [ -e "$1" ]; then cmp -s "$1" result/out; else [ ! -e result/out ]; fi; }

leftovers() {
	find spill tmp -mindepth 1
	find result -mindepth 1 ! -name out
	[ ! -e kept ] || find kept
	find data | sort | comm -3 - inputs
}

# again runs the command of a checkpoint once more, after it has failed or was killed.
again() {
	local first
	if ! is old && ! is expected-checkpoint; then
		echo "WRONG: the output is neither the old one nor the new one"
		return
	fi
	first=$(head -n 1 stderr)
	start checkpoint env
	if [ "$status" != 0 ] || ! is expected-checkpoint || [ -n "$(leftovers)" ]; then
		echo "WRONG: run again, exit $status, after: $first; left: $(leftovers)"
	else
		echo "again, after $first"
	fi
}

verdict() {
	local left before=old
	if [ "$1" = checkpoint ] && { [ "$status" != 0 ] || grep -q '^extsort: warning: .* is complete' stderr; }; then
		again
		return
	fi
	[ "$1" != check ] || before=none
	left=$(leftovers)
	if [ -n "$left" ]; then
		echo "WRONG: left behind: $left"
	elif [ "$status" = 0 ]; then
		if [ -s stdout ] || ! is "expected-$1"; then echo "WRONG: exit 0, and other bytes"; else echo ok; fi
	elif [ "$status" != 2 ]; then
		echo "WRONG: exit $status"
	elif ! is "$before" && ! is "expected-$1"; then
		echo "WRONG: the output is neither the old one nor the new one"
	elif grep -q '^runtime: \|^fatal error: \|^goroutine 0 ' stderr; then
		echo runtime
	elif [ "$(grep -vc '^extsort: warning: ' stderr)" != 1 ] || ! grep -q '^extsort: ' stderr; then
		echo "WRONG: exit 2, and not one line"
	elif is "$before"; then
		echo refused
	elif grep -q 'it is complete' stderr; then
		echo complete
	else
		echo LATE
	fi
}

prepare || exit 2
declare -A count
row() { printf '%-10s %-15s %-6s %3s  %s\n' "$@"; }
row job call error n "what happened"
for job in $jobs; do
	attempt "$job" env
	[ "$status" = 0 ] || { cat stderr >&2 && exit 2; }
	[ "$job" = check ] || cp result/out "expected-$job"
	for call in $calls; do
		fault=error=${call#*:}
		if [ "$fault" = error=KILL ]; then
			[ "$job" = checkpoint ] || continue
			fault=signal=KILL
		fi
		for ((n = first; n <= most; n++)); do
			attempt "$job" strace -f --seccomp-bpf -qq -o trace -e "trace=${call%:*}" \
				-e "inject=${call%:*}:$fault:when=$n"
			grep -q INJECTED trace || [ "$status" = 137 ] || break # of a kill, strace may say nothing
			case=$(verdict "$job")
			row "$job" "${call%:*}" "${call#*:}" "$n" "$case: $(grep -m 1 . stderr | cut -c 1-160)"
			word=${case%%[:,]*}
			count[$word]=$((${count[$word]:-0} + 1))
			case $case in WRONG*) grep -m 3 INJECTED trace && head -n 5 stderr ;; esac
		done
	done
done
echo
for word in ok again refused complete runtime LATE WRONG; do printf '%s %d  ' "$word" "${count[$word]:-0}"; done
echo
[ "${count[LATE]:-0}" = 0 ] && [ "${count[WRONG]:-0}" = 0 ]
