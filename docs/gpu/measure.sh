#!/usr/bin/env bash
# Tests and measures extsort on a GPU server, all in one go, from the folder that docs/gpu/kit.sh made:
#
#     ./measure.sh [quick] [n=28] [device=0] [dir=/dev/shm] [size=8G]
#
# 1. Correctness: every algorithm with every kind of data, all ways that a sort may take, whole chunks; then 2^n keys by
#    every algorithm, and more than 2^32 keys in one sort. quick leaves the last two out.
# 2. Speed on the device: ours and CUB in turns, 2^n keys, median device time, as one table. CUB needs nvcc.
# 3. Speed from file to file: ours beside cp and, where Python has them, NumPy and CuPy. Every output is checked.
#
# The full log is measure.log, beside this script. Exit status 1: something was wrong.
set -uo pipefail
kit=$(cd "$(dirname "$0")" && pwd)
quick=no n=28 device=0 dir=/dev/shm size=8G
for arg; do
	case $arg in
	quick) quick=yes ;;
	n=* | device=* | dir=* | size=*) declare "$arg" ;;
	*) sed -n '2,12s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
log=$kit/measure.log
: >"$log"
failed=0

say() { printf '\n== %s\n' "$*" | tee -a "$log"; }

# step NAME COMMAND... runs a command into the log and says in one line how it went.
step() {
	local name=$1 begin=$SECONDS verdict=ok
	shift
	printf '\n$ %s\n' "$*" >>"$log"
	"$@" >"$work/out" 2>&1 || { verdict=FAILED; failed=1; }
	cat "$work/out" >>"$log"
	printf '%-60s %s, %d s\n' "$name" "$verdict" $((SECONDS - begin))
	[ $verdict = ok ] || grep -E -- '--- FAIL|_test.go|panic|[Ee]rror' "$work/out" | head -20
}

# The loader finds a vendor's driver by a file that names it, which is often missing where the driver is there.
loader() {
	export LD_LIBRARY_PATH=$kit${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	if [ -z "${OCL_ICD_VENDORS:-}" ] && command -v nvidia-smi >/dev/null && ! grep -qs nvidia /etc/OpenCL/vendors/*.icd; then
		mkdir vendors
		echo libnvidia-opencl.so.1 >vendors/nvidia.icd
		export OCL_ICD_VENDORS=$work/vendors
	fi
	"$kit/extsort" devices | tee -a "$log"
}

correctness() {
	step "every algorithm, every way" "$kit/algo.test" -test.v -device "$device" -full
	step "whole chunks" "$kit/opencl.test" -test.skip '^TestFaults$' # it needs a compiler and the sources
	[ $quick = no ] || return
	step "2^28 keys by every algorithm" "$kit/algo.test" -test.v -device "$device" -large -test.run Large
	step "more than 2^32 keys" "$kit/algo.test" -test.v -device "$device" -huge -test.run Huge
}

# ours KINDS DISTRIBUTIONS appends "algorithm kind distribution Gkeys/s" to the results.
ours() {
	"$kit/algo.test" -device "$device" -test.run '^$' -test.bench 'BenchmarkSort/algorithm=(hybrid|onesweep|count-scan-reorder)/' \
		-n "$n" -kinds "$1" -dists "$2" -test.benchtime 7x 2>&1 | tee -a "$log" |
		awk '/Gkeys/ { split($1, part, "[/=]"); sub(/-[0-9]+$/, "", part[9])
			for (i = 2; i <= NF; i++) if ($i == "Gkeys/s") print part[3], part[5], part[9], $(i - 1) }' >>results
}

deviceSpeed() {
	: >results
	if command -v nvcc >/dev/null && nvcc -O3 -std=c++17 -arch=native "$kit/cub.cu" -o cub 2>>"$log"; then
		./cub "$n" | tee -a "$log" | awk '{print $1, $2, $3, $5}' >>results
	else
		echo "no CUB to compare with: nvcc is missing or failed, see the log"
	fi
	ours u32,u64,u32+u32,u64+u32 uniform
	ours u64 few,equal,shifted,zipf9
	table
}

# table prints a line for each kind and distribution, the algorithms side by side, and the best of ours against CUB.
table() {
	awk '{ rate[$2 " " $3, $1] = $4; if (!(($2 " " $3) in seen)) { seen[$2 " " $3]; order[++rows] = $2 " " $3 } }
		END {
			printf "%-18s %8s %8s %8s %8s %8s   (G keys/s)\n", "keys", "hybrid", "onesweep", "portable", "CUB", "ratio"
			for (i = 1; i <= rows; i++) {
				row = order[i]; best = rate[row, "hybrid"] + 0; cub = rate[row, "cub"] + 0
				if (best > 0)
					printf "%-18s %8.1f %8.1f %8.1f %8.1f %8.2f\n", row, best, rate[row, "onesweep"],
						rate[row, "count-scan-reorder"], cub, cub ? best / cub : 0
			}
		}' results | tee -a "$log"
}

fileToFile() {
	local peers=none
	python3 -c 'import numpy' 2>/dev/null && peers=numpy
	python3 -c 'import cupy' 2>/dev/null && peers=numpy,cupy
	"$kit/compare" --extsort "$kit/extsort" --device gpu --dir "$dir" --size "$size" --memory 1G --runs 3 \
		--workloads u64,gensort --peers "$peers" 2>>"$log" | tee -a "$log" || failed=1
}

say devices
loader
say correctness
correctness
say "on the device, 2^$n keys"
deviceSpeed
say "file to file, $size in $dir"
fileToFile
exit $failed
