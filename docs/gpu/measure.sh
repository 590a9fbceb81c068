#!/usr/bin/env bash
# Tests and measures extsort on a GPU server, ours and the peers in one go, from the folder that docs/gpu/kit.sh made:
#
#     ./measure.sh [quick] [PART ...] [NAME=VALUE ...]
#
# The parts, in this order; without any named, all of them:
#
# correctness  every algorithm with every kind of data, all ways that a sort may take, whole chunks; then 2^28 keys by every
#              algorithm, and more than 2^32 keys in one sort (quick leaves these two out)
# device       2^n keys in the device's memory, ours and CUB in turns: a table. CUB needs nvcc here and in the next part
# sweep        every algorithm, the seeds' included, and CUB by size, from 2^10 to 2^to keys: rates.txt and rates.svg
# files        from file to file in dir, beside cp, and CuPy where Python has it; the output is checked; 1 MiB by --device auto
# disk         twice the size on disk, with a device memory of half the size, beside two cp, both with fsync (not quick)
# plan         what --device auto takes, beside the CPU and the GPU, for several sizes and memory limits
# tune         extsort tune: what it gains, and that the planner and later sorts use it (not quick)
#
# n=28 to=30 device=0 (as OpenCL counts) size=8G dir=/dev/shm disk=/var/tmp runs=5 results=results, beside this script
#
# The last table holds the figures to the floors and aims of the project. Everything is kept under results, with the full
# log. Tuning that the user may have is left alone. Exit status 1: something was wrong.
set -uo pipefail
kit=$(cd "$(dirname "$0")" && pwd)
quick=no parts=() n=28 to=30 device=0 size=8G dir=/dev/shm disk=/var/tmp runs=5 results=$kit/results
for arg; do
	case $arg in
	quick) quick=yes ;;
	correctness | device | sweep | files | disk | plan | tune) parts+=("$arg") ;;
	n=* | to=* | device=* | size=* | dir=* | disk=* | runs=* | results=*) declare "$arg" ;;
	*) sed -n '2,24s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
	esac
done
[ ${#parts[@]} -gt 0 ] || parts=(correctness device sweep files disk plan tune)
mkdir -p "$results"
results=$(cd "$results" && pwd)
work=$(mktemp -d) data=$(mktemp -d -p "$dir") far=$(mktemp -d -p "$disk")
trap 'rm -rf "$work" "$data" "$far"' EXIT
cd "$work" || exit
log=$results/measure.log
: >"$log"
failed=0
extsort=$kit/extsort
gpu=$((device + 1)) # extsort counts the processor as well, first
bytes=$(numfmt --from=iec "$size")
export XDG_CACHE_HOME=$work/cache # no tuning, no kernels of before

say() { printf '\n== %s\n' "$*" | tee -a "$log"; }

fail() { failed=1; printf 'FAILED: %s\n' "$*" | tee -a "$log"; }

# loader: the loader finds a vendor's driver by a file that names it, which is often missing where the driver is there.
loader() {
	export LD_LIBRARY_PATH=$kit${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	if [ -z "${OCL_ICD_VENDORS:-}" ] && command -v nvidia-smi >/dev/null && ! grep -qs nvidia /etc/OpenCL/vendors/*.icd; then
		mkdir vendors
		echo libnvidia-opencl.so.1 >vendors/nvidia.icd
		export OCL_ICD_VENDORS=$work/vendors
	fi
	"$extsort" devices | tee -a "$log"
}

# hold WHAT MEASURED FLOOR AIM keeps a row of the last table. Figures in which less is better have floors with <.
hold() { printf '%s\t%s\t%s\t%s\n' "$@" >>"$results/rows"; }

# step NAME COMMAND... runs a command into the log and says in one line how it went.
step() {
	local name=$1 begin=$SECONDS verdict=ok
	shift
	printf '\n$ %s\n' "$*" >>"$log"
	"$@" >said 2>&1 || { verdict=FAILED; failed=1; }
	cat said >>"$log"
	printf '%-60s %s, %d s\n' "$name" "$verdict" $((SECONDS - begin))
	[ $verdict = ok ] || grep -E -- '--- FAIL|_test.go|panic|[Ee]rror' said | head -20
}

# timed NAME COMMAND... keeps how long a command took; what it said is in the file said.
timed() {
	local name=$1 begin
	shift
	begin=$(date +%s%N)
	if "$@" >said 2>&1; then
		echo "$name $((($(date +%s%N) - begin) / 1000))" >>taken
	else
		fail "$name: $*"
	fi
	{ tail -1 taken; head -c 4000 said; } >>"$log"
}

# median NAME is the middle of its times in seconds.
median() {
	awk -v name="$1" '$1 == name { print $2 }' taken | sort -n |
		awk '{ v[NR] = $1 } END { printf "%.4f", NR ? v[int((NR + 1) / 2)] / 1e6 : 0 }'
}

ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", (b > 0 ? a / b : 0) }'; }

correctness() {
	step "every algorithm, every way" "$kit/algo.test" -test.v -device "$device" -full
	step "whole chunks" "$kit/opencl.test" -test.skip '^Test(Faults|FailingDriver)$' # which need a compiler
	[ $quick = no ] || return
	step "2^28 keys by every algorithm" "$kit/algo.test" -test.v -device "$device" -large -test.run Large
	step "more than 2^32 keys" "$kit/algo.test" -test.v -device "$device" -huge -test.run Huge
}

# cub builds the peer, once.
cub() {
	[ -x cub ] || { command -v nvcc >/dev/null && nvcc -O3 -std=c++17 -arch=native "$kit/cub.cu" -o cub >>"$log" 2>&1; } ||
		{ echo "no CUB to compare with: nvcc is missing or failed, see the log"; return 1; }
}

# ours KINDS DISTRIBUTIONS appends "algorithm kind distribution Gkeys/s" to the rates.
ours() {
	"$kit/algo.test" -device "$device" -test.run '^$' -test.bench 'BenchmarkSort/algorithm=(hybrid|onesweep|count-scan-reorder)/' \
		-n "$n" -kinds "$1" -dists "$2" -test.benchtime 7x 2>&1 | tee -a "$log" |
		awk '/Gkeys/ { split($1, part, "[/=]"); sub(/-[0-9]+$/, "", part[9])
			for (i = 2; i <= NF; i++) if ($i == "Gkeys/s") print part[3], part[5], part[9], $(i - 1) }' >>rates
}

deviceSpeed() {
	: >rates
	cub && ./cub "$n" | tee -a "$log" | awk '{print $1, $2, $3, $5}' >>rates
	ours u32,u64,u32+u32,u64+u32 uniform
	ours u64 few,equal,shifted,zipf9
	ours u32+u32 zipf9,shifted
	[ $quick = yes ] || ours u32,u64+u32 zipf9,shifted
	[ $quick = yes ] || ours u32,u32+u32,u64+u32 few,equal
	table | tee -a "$log" "$results/device.txt"
	while read -r keys floor aim; do
		hold "device: $keys, hybrid / CUB" "$(rateOf hybrid "$keys")" "$floor" "$aim"
	done <<-FLOORS
		u32,uniform 0.95 1.15
		u64,uniform 1.5 2
		u32+u32,uniform 0.95 1.1
		u64+u32,uniform 1.4 1.8
		u64,few 2 4
		u64,equal 2 4
		u64,zipf9 1 2
		u64,shifted 1 2
		u32+u32,zipf9 1.05 2
		u32+u32,shifted 1.05 2
	FLOORS
	hold "device: u32,uniform, portable / CUB" "$(rateOf count-scan-reorder u32,uniform)" 0.35 0.6
}

# rateOf ALGORITHM KIND,DISTRIBUTION is its rate over CUB's.
rateOf() {
	awk -v name="$1" -v keys="$2" '$2 "," $3 == keys { rate[$1] = $4 } END { printf "%.2f", rate["cub"] ? rate[name] / rate["cub"] : 0 }' rates
}

# table prints a line for each kind and distribution, the algorithms side by side.
table() {
	awk -v n="$n" '{ rate[$2 " " $3, $1] = $4; if (!(($2 " " $3) in seen)) { seen[$2 " " $3]; order[++rows] = $2 " " $3 } }
		END {
			printf "%-18s %8s %8s %8s %8s %8s   (G keys/s, 2^%s keys)\n", "keys", "hybrid", "onesweep", "portable", "CUB", "ratio", n
			for (i = 1; i <= rows; i++) {
				row = order[i]; best = rate[row, "hybrid"] + 0; cub = rate[row, "cub"] + 0
				if (best > 0)
					printf "%-18s %8.1f %8.1f %8.1f %8.1f %8.2f\n", row, best, rate[row, "onesweep"],
						rate[row, "count-scan-reorder"], cub, cub ? best / cub : 0
			}
		}' rates
}

# sweep times all algorithms by size. Pairs of more than 2^28 take minutes to check, which all results are.
sweep() {
	local reports=$results/keys.json,$results/pairs.json pairsTo=$((to < 28 ? to : 28))
	echo "(bench begins after $SECONDS s)" >>"$log"
	"$extsort" bench -d "$gpu" -t u32,u64 --min 2^10 --max "2^$to" --format json >"$results/keys.json" 2>>"$log" || fail "bench of keys"
	"$extsort" bench -d "$gpu" -t u32+u32,u64+u32 --min 2^10 --max "2^$pairsTo" --format json >"$results/pairs.json" 2>>"$log" || fail "bench of pairs"
	cub && ./cub 10 "$to" "$pairsTo" >"$results/cub.json" && reports+=,"$results/cub.json"
	"$extsort" bench --from "$reports" --svg "$results/rates.svg" | tee -a "$log" "$results/rates.txt" || fail "no table"
}

# input KIND BYTES makes a file of random records, once.
input() {
	[ -e "$data/$1.$2" ] && return
	case $1 in
	u64) "$extsort" gen -t u64 -n $(($2 / 8)) -o "$data/$1.$2" ;;
	gensort) "$extsort" gen -f gensort -n $(($2 / 100)) -o "$data/$1.$2" ;;
	esac || fail "make $1"
}

# sameRecords IN OUT FLAGS...: OUT is in order and has the records of IN.
sameRecords() {
	local in=$1 out=$2 sum
	shift 2
	sum=$("$extsort" "$@" -c --stats "$in" 2>/dev/null | grep checksum)
	if ! "$extsort" "$@" -c --stats "$out" >said 2>&1 || ! grep -qF "$sum" said; then
		fail "the output of $in is wrong"
	fi
}

deviceTaken() { sed -n 's/.*"device":"\([^"]*\)".*/\1/p' said; }

peak() { sed -n 's/.*"peak_memory":\([0-9]*\).*/\1/p' said | awk '{ printf "%.0f", $1 / 1048576 }'; }

# race KIND FLAGS... is cp and ours in turns, the output new each time.
race() {
	local kind=$1 in=$data/$1.$bytes out=$data/out memory took
	shift
	input "$kind" "$bytes"
	"$extsort" "$@" -d auto -S 512M -T "$dir" -o "$out" --explain "$in" >>"$log" 2>&1
	for ((turn = 0; turn < runs; turn++)); do
		rm -f "$out"
		timed "cp-$kind" cp "$in" "$out"
		rm -f "$out"
		timed "ours-$kind" "$extsort" "$@" -d auto -S 512M -T "$dir" --stats=json -o "$out" "$in"
	done
	memory=$(peak) took=$(deviceTaken)
	sameRecords "$in" "$out" "$@"
	rm -f "$out"
	echo "$size of $kind: ours $(median "ours-$kind") s, cp $(median "cp-$kind") s, $memory MiB of host memory, on $took" | tee -a "$log"
	hold "$size of $kind, file to file: MiB of host memory (-S 512M)" "$memory" "<512" ""
}

files() {
	race u64 -t u64
	hold "$size of u64, file to file / cp" "$(ratio "$(median ours-u64)" "$(median cp-u64)")" "<1.25" "<1"
	[ $quick = yes ] || cupy
	race gensort -f gensort
	hold "$size of gensort records, file to file / cp" "$(ratio "$(median ours-gensort)" "$(median cp-gensort)")" "<1.35" "<1"
	tiny
}

cupy() {
	local line="import numpy as np, cupy; a = cupy.asarray(np.fromfile('$data/u64.$bytes', '<u8')); a.sort(); a.get().tofile('$data/out')"
	python3 -c 'import cupy' 2>/dev/null || { echo "no CuPy to compare with"; return; }
	for ((turn = 0; turn < 3; turn++)); do
		timed cupy python3 -c "$line"
		rm -f "$data/out"
	done
	echo "$size of u64: CuPy $(median cupy) s" | tee -a "$log"
	hold "$size of u64: CuPy / ours" "$(ratio "$(median cupy)" "$(median ours-u64)")" 3 ""
}

tiny() {
	input u64 1048576
	for ((turn = 0; turn < 21; turn++)); do
		timed ours-1M "$extsort" -t u64 -d auto -o "$data/out" "$data/u64.1048576"
	done
	hold "1 MiB, --device auto, whole process: ms" "$(awk -v s="$(median ours-1M)" 'BEGIN { printf "%.1f", s * 1e3 }')" "<30" ""
}

# disk sorts what neither the device's memory nor the host's may hold. Only the output is waited for, of both.
disk() {
	local in=$far/in out=$far/out large=$((2 * bytes)) half
	half=$((bytes / 2))b
	"$extsort" gen -t u64 -n $((large / 8)) -o "$in" || fail "make the input on the disk"
	for ((turn = 0; turn < (runs + 1) / 2; turn++)); do
		rm -f "$out"; sync
		timed cp-twice bash -c 'cp "$0" "$1.copy" && cp "$1.copy" "$1" && sync "$1"' "$in" "$out"
		rm -f "$out" "$out.copy"; sync
		timed ours-disk "$extsort" -t u64 -d "$gpu" --device-memory "$half" -S 1G -T "$far" --stats=json -o "$out" "$in"
	done
	hold "twice $size on disk: MiB of host memory (-S 1G)" "$(peak)" "<1024" ""
	sameRecords "$in" "$out" -t u64
	echo "twice $size on $disk: ours $(median ours-disk) s, two cp + fsync $(median cp-twice) s" | tee -a "$log"
	hold "twice $size on disk, --device-memory half / two cp" "$(ratio "$(median ours-disk)" "$(median cp-twice)")" "<1.3" "<1.1"
	rm -f "$far"/*
}

# plan sorts by the CPU, the GPU and the planner's choice, for sizes around the one from which a GPU pays.
plan() {
	local most part in
	printf '%10s %6s %8s %8s %8s  %s\n' bytes -S cpu gpu auto "(seconds) auto took" | tee -a "$log" "$results/plan.txt"
	for part in 128 64 32 16 8 4 1; do
		in=$data/u64.$((bytes / part))
		input u64 $((bytes / part))
		choices "$in" 512M "$part" | tee -a "$log" "$results/plan.txt"
		choices "$in" $((4 * bytes / 1048576))M "$part" | tee -a "$log" "$results/plan.txt"
		[ "$part" = 1 ] || rm -f "$in"
	done
}

# choices IN MEMORY PART times the three choices in turns and prints a line.
choices() {
	local in=$1 most=$2 name="plan-$3-$2" d took
	for ((turn = 0; turn < (runs + 1) / 2; turn++)); do
		for d in cpu "$gpu" auto; do
			rm -f "$data/out"
			timed "$name-$d" "$extsort" -t u64 -d "$d" -S "$most" -T "$dir" --stats=json -o "$data/out" "$in"
		done
		took=$(deviceTaken)
	done
	rm -f "$data/out"
	printf '%10d %6s %8s %8s %8s  %s\n' "$(stat -c %s "$in")" "$most" "$(median "$name-cpu")" "$(median "$name-$gpu")" "$(median "$name-auto")" "$took"
}

# tune searches once, and sorts before and after.
tune() {
	local begin
	input u64 "$bytes"
	explained untuned
	begin=$SECONDS
	"$extsort" tune -d "$gpu" >tuned 2>&1 || fail "extsort tune"
	cat tuned >>"$log"
	echo "extsort tune took $((SECONDS - begin)) s and tried $(grep -c 'n=' tuned) settings"
	sed -n '/^best/,$p' tuned
	cp "$XDG_CACHE_HOME"/extsort/tune/*.json "$results/" || fail "no tuning was kept"
	"$extsort" devices | tee -a "$log" | head -3
	explained tuned
}

# explained WHEN sorts by the planner's choice and tells device, algorithm and what was predicted.
explained() {
	"$extsort" -t u64 -d auto -S 512M -T "$dir" -o "$data/out" --stats --explain "$data/u64.$bytes" 2>&1 | tee -a "$log" |
		sed -n "/^\(device\|algorithm\|stage\|start\|read \|sort\|total\)/s/^/$1: /p"
	rm -f "$data/out"
}

# verdict prints the rows that were kept, each with whether it holds.
verdict() {
	[ -s "$results/rows" ] || return
	awk -F '\t' '
		function reached(value, bound) { return bound ~ /^</ ? value + 0 <= substr(bound, 2) + 0 : value + 0 >= bound + 0 }
		BEGIN { printf "%-64s %9s %7s %7s\n", "what", "measured", "floor", "aim" }
		{ printf "%-64s %9s %7s %7s  %s\n", $1, $2, $3, $4,
			$2 + 0 == 0 ? "not measured" : !reached($2, $3) ? "MISSED" : $4 == "" ? "holds" : reached($2, $4) ? "aim reached" : "holds" }
	' "$results/rows" | tee -a "$log"
}

: >taken
rm -f "$results"/{rows,rates.txt,device.txt,plan.txt}
say devices
loader
for part in "${parts[@]}"; do
	case $part in
	correctness) say correctness; correctness ;;
	device) say "on the device, 2^$n keys"; deviceSpeed ;;
	sweep) say "by size, 2^10 to 2^$to keys"; sweep ;;
	files) say "file to file, $size in $dir"; files ;;
	disk) [ $quick = yes ] || { say "on disk, out of core, in $disk"; disk; } ;;
	plan) say "what --device auto takes"; plan ;;
	tune) [ $quick = yes ] || { say tune; tune; } ;;
	esac
	echo "($part ended after $SECONDS s)" | tee -a "$log"
done
say "held to floors and aims"
verdict
exit $failed
